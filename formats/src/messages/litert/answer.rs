//! The answers of tools in LiteRT-LM's messages, in every spelling that its model families take.

use alloquy_core::message::ToolResult;
use alloquy_core::{Content, Part, Result};
use serde_json::{Map, Value, json};

use crate::messages::calls::Calls;
use crate::messages::fields::{Fields, string};
use crate::messages::further::{self, Shape};
use crate::messages::place::Place;

/// The object around an answer that has further fields, so that these are not read as fields of the answer.
const INNER: &str = "tool_response";
/// An answer inside an object of its own.
const WRAPPED: Shape =
    Shape::nested(&["type", INNER], INNER, &["id", "name", "tool_name", "response", "is_error"]);

/// The fields beside a payload that has a name of its own.
const BESIDE: [&str; 5] = ["type", "id", "name", "tool_name", "is_error"];

/// An answer that is only text.
pub(super) fn of_text(text: &str, calls: &mut Calls) -> Content {
    result(None, None, text.into(), calls)
}

/// Reads an answer: the item itself, or what it holds under `tool_response`.
pub(super) fn read(item: &Value, place: &Place<'_>, calls: &mut Calls) -> Result<Part> {
    let mut fields = Fields::of(item, place)?;
    fields.take("type");
    let Some(inner) = fields.take(INNER) else {
        let (part, rest) = read_fields(item, fields, place, calls)?;
        return Ok(further::beside(part.into(), rest));
    };
    let place = place.field(INNER);
    let (part, inside) = match inner {
        Value::Object(_) => read_fields(inner, Fields::of(inner, &place)?, &place, calls)?,
        plain => (result(None, None, plain.clone(), calls), Map::new()),
    };
    Ok(further::beside(further::inside(part, INNER, inside), fields.rest()))
}

/// Reads the answer, and returns the unknown fields beside it.
fn read_fields(
    item: &Value,
    mut fields: Fields<'_>,
    place: &Place<'_>,
    calls: &mut Calls,
) -> Result<(Content, Map<String, Value>)> {
    let name = match fields.take_any(&["name", "tool_name"])? {
        Some((field, name)) => Some(string(name, &place.field(field))?),
        None => None,
    };
    let Some(payload) = payload(item) else {
        return Ok((result(None, name, Value::Object(fields.rest()), calls), Map::new()));
    };
    let content = fields.take(payload).cloned().unwrap_or_default();
    let id = fields.take_str("id")?;
    let is_error = fields.take_flag("is_error")?;
    Ok((with_error(result(id, name, content, calls), is_error), fields.rest()))
}

/// Returns the name of the field that holds the payload: an object, or a value without unknown fields beside it.
///
/// Without such a field the payload is every field except the name, as in `{name: "weather", celsius: 20}`.
fn payload(item: &Value) -> Option<&'static str> {
    let object = item.as_object()?;
    let name = ["response", "value"].into_iter().find(|name| object.contains_key(*name))?;
    let alone = object.keys().all(|key| key == name || BESIDE.contains(&key.as_str()));
    let is_object = object.get(name).is_some_and(Value::is_object);
    (is_object || alone).then_some(name)
}

fn result(id: Option<&str>, name: Option<&str>, content: Value, calls: &mut Calls) -> Content {
    let (id, name) = calls.answer(id, name);
    Content::ToolResult(ToolResult::new(id, name.unwrap_or_default(), content))
}

fn with_error(mut part: Content, is_error: bool) -> Content {
    if let Content::ToolResult(result) = &mut part {
        result.is_error = is_error;
    }
    part
}

/// Writes an answer. LiteRT-LM has no ids and no failures; it ignores these two fields.
///
/// An answer with further fields is inside an object: beside a response that is no object they would be the response.
pub(super) fn write(result: &ToolResult, extra: &Map<String, Value>, place: &Place<'_>) -> Result<Value> {
    let mut answer = Map::new();
    answer.insert("id".into(), result.id.clone().into());
    answer.insert("name".into(), result.name.clone().into());
    answer.insert("response".into(), result.content.clone());
    if result.is_error {
        answer.insert("is_error".into(), true.into());
    }
    if extra.is_empty() {
        let kind = ("type".to_owned(), INNER.into());
        return Ok(Value::Object([kind].into_iter().chain(answer).collect()));
    }
    if extra.contains_key(INNER) && !result.content.is_object() {
        let sentence = "beside a response that is no object, further fields would be the response";
        return Err(place.field("extra").field(INNER).unsupported(sentence));
    }
    WRAPPED.add(json!({"type": INNER, INNER: answer}), extra, place)
}
