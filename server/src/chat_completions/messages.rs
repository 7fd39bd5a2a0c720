//! The messages and tools of a request. Fields that would be ignored are refused by their place.

use alloquy_formats::messages::{self, Dialect, Transcript};
use serde_json::{Map, Value};

use crate::error::{ApiError, ApiResult};
use crate::media_policy::MediaPolicy;

/// The fields of an object, with those of the objects inside them.
struct Known {
    fields: &'static [&'static str],
    inside: &'static [(&'static str, &'static Known)],
}

const FUNCTION_CALL: Known = Known { fields: &["name", "arguments"], inside: &[] };
const TOOL_CALL: Known = Known { fields: &["id", "type", "index"], inside: &[("function", &FUNCTION_CALL)] };
const URL: Known = Known { fields: &["url"], inside: &[] };
const AUDIO: Known = Known { fields: &["data", "format"], inside: &[] };
const PART: Known = Known {
    fields: &["type", "text", "refusal"],
    inside: &[("image_url", &URL), ("video_url", &URL), ("audio_url", &URL), ("input_audio", &AUDIO)],
};
const MESSAGE: Known = Known {
    fields: &["role", "name", "refusal", "reasoning_content", "reasoning", "tool_call_id"],
    inside: &[("content", &PART), ("tool_calls", &TOOL_CALL), ("function_call", &FUNCTION_CALL)],
};
/// The schema may have any field.
const FUNCTION: Known = Known { fields: &["name", "description", "parameters", "strict"], inside: &[] };
const TOOL: Known = Known { fields: &["type"], inside: &[("function", &FUNCTION)] };

/// Reads the messages and tools of a request.
///
/// # Errors
/// 400 with the place of what is not valid, and of a field that would be ignored.
pub(crate) fn read(messages: Value, tools: Option<Value>, media: &MediaPolicy) -> ApiResult<Transcript> {
    check_each(&messages, "messages", &MESSAGE)?;
    let mut document = Map::from_iter([("messages".to_owned(), messages)]);
    if let Some(tools) = tools {
        check_each(&tools, "tools", &TOOL)?;
        document.insert("tools".to_owned(), tools);
    }
    Ok(messages::read(Dialect::OpenAi, &Value::Object(document), &media.rules())?)
}

/// Checks the objects of a list, or one object. Other values are refused where they are read.
fn check_each(value: &Value, place: &str, known: &Known) -> ApiResult<()> {
    match value {
        Value::Object(object) => check(object, place, known),
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                if let Value::Object(object) = item {
                    check(object, &format!("{place}[{index}]"), known)?;
                }
            }
            Ok(())
        }
        _ => Ok(()),
    }
}

fn check(object: &Map<String, Value>, place: &str, known: &Known) -> ApiResult<()> {
    for (name, value) in object {
        let place = format!("{place}.{name}");
        if let Some((_, inside)) = known.inside.iter().find(|(field, _)| field == name) {
            check_each(value, &place, inside)?;
        } else if !known.fields.contains(&name.as_str()) && !is_absent(name, value) {
            let mut names = known.fields.to_vec();
            names.extend(known.inside.iter().map(|(field, _)| *field));
            let message = format!("{place}: unknown field, expected one of {}", names.join(", "));
            return Err(ApiError::unsupported(place, message));
        }
    }
    Ok(())
}

/// Returns whether a value says nothing: clients send back what they received, with fields that are empty. The details `auto` and `high`
/// of an image leave its size to the model, as no detail does.
fn is_absent(name: &str, value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::String(detail) => name == "detail" && (detail == "auto" || detail == "high"),
        _ => false,
    }
}
