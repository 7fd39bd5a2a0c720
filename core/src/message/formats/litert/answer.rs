//! The answers of tools in LiteRT-LM's messages, in every spelling that its model families take.

use serde_json::{Value, json};

use crate::message::formats::calls::Calls;
use crate::message::formats::fields::{Fields, string};
use crate::message::formats::place::Place;
use crate::{Part, Result, ToolResult};

/// The fields beside a payload that has a name of its own.
const BESIDE: [&str; 5] = ["type", "id", "name", "tool_name", "is_error"];

/// An answer that is only text.
pub(super) fn of_text(text: &str, calls: &mut Calls) -> Part {
    result(None, None, text.into(), calls)
}

/// Reads an answer: the item itself, or what it holds under `tool_response`.
pub(super) fn read(item: &Value, place: &Place<'_>, calls: &mut Calls) -> Result<Part> {
    let mut fields = Fields::of(item, place)?;
    fields.take("type");
    let Some(inner) = fields.take("tool_response") else {
        return read_fields(item, fields, place, calls);
    };
    fields.finish()?;
    let place = place.field("tool_response");
    match inner {
        Value::Object(_) => read_fields(inner, Fields::of(inner, &place)?, &place, calls),
        plain => Ok(result(None, None, plain.clone(), calls)),
    }
}

fn read_fields(item: &Value, mut fields: Fields<'_>, place: &Place<'_>, calls: &mut Calls) -> Result<Part> {
    let name = match fields.take_any(&["name", "tool_name"])? {
        Some((field, name)) => Some(string(name, &place.field(field))?),
        None => None,
    };
    let Some(payload) = payload(item) else {
        return Ok(result(None, name, Value::Object(fields.rest()), calls));
    };
    let content = fields.take(payload).cloned().unwrap_or_default();
    let (id, is_error) = (fields.take_str("id")?, fields.take_flag("is_error")?);
    fields.finish()?;
    Ok(with_error(result(id, name, content, calls), is_error))
}

/// Names the field that holds the payload: an object, or a value that nothing else stands beside.
///
/// Without one the payload is every field but the name, as in `{name: "weather", celsius: 20}`.
fn payload(item: &Value) -> Option<&'static str> {
    let object = item.as_object()?;
    let name = ["response", "value"].into_iter().find(|name| object.contains_key(*name))?;
    let alone = object.keys().all(|key| key == name || BESIDE.contains(&key.as_str()));
    let is_object = object.get(name).is_some_and(Value::is_object);
    (is_object || alone).then_some(name)
}

fn result(id: Option<&str>, name: Option<&str>, content: Value, calls: &mut Calls) -> Part {
    let (id, name) = calls.answer(id, name);
    Part::ToolResult(ToolResult { id, name: name.unwrap_or_default(), content, is_error: false })
}

fn with_error(part: Part, is_error: bool) -> Part {
    match part {
        Part::ToolResult(result) => Part::ToolResult(ToolResult { is_error, ..result }),
        other => other,
    }
}

/// Writes an answer. LiteRT-LM knows no ids and no failures; both are fields that it passes over.
pub(super) fn write(result: &ToolResult) -> Value {
    let mut item = json!({
        "type": "tool_response", "id": result.id, "name": result.name, "response": result.content
    });
    if let Value::Object(fields) = &mut item
        && result.is_error
    {
        fields.insert("is_error".into(), true.into());
    }
    item
}
