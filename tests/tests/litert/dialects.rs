//! Messages of other dialects, read and written.

use alloquy_core::{Content, Message, Result};
use alloquy_formats::messages::{self, Dialect, MediaRules, Transcript};
use serde_json::{Map, Value, json};

use crate::outcome::{self, Outcome};
use crate::row::Row;

fn read(dialect: Dialect, document: &Value) -> Result<Vec<Message>> {
    Ok(messages::read(dialect, document, &MediaRules::default())?.messages)
}

/// Messages without ids: LiteRT-LM has none, and ours are made up where a document has none.
fn bare(messages: &[Message]) -> Value {
    let mut value = serde_json::to_value(messages).unwrap();
    forget_ids(&mut value);
    value
}

fn forget_ids(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for name in ["tool_call", "tool_result", "functionCall", "functionResponse"] {
                if let Some(Value::Object(inner)) = fields.get_mut(name) {
                    inner.shift_remove("id");
                }
            }
            fields.values_mut().for_each(forget_ids);
        }
        Value::Array(items) => items.iter_mut().for_each(forget_ids),
        _ => {}
    }
}

/// Compares what was read with what is read of LiteRT-LM's own form, which the row expects.
fn compare(expected: &Value, found: Result<Vec<Message>>) -> Outcome {
    match found {
        Err(error) => Outcome::compared(expected.clone(), outcome::error(&error)),
        Ok(found) if expected.get("error").is_some() => Outcome::compared(expected.clone(), bare(&found)),
        Ok(found) => match read(Dialect::LiteRt, &json!([expected])) {
            Ok(expected) => Outcome::compared(bare(&expected), bare(&found)),
            Err(error) => Outcome::compared(expected.clone(), outcome::error(&error)),
        },
    }
}

pub(crate) fn from_gemini(row: &Row) -> Outcome {
    let document = json!({"contents": [row.input["gemini_content"]]});
    compare(&row.expected, read(Dialect::Gemini, &document))
}

/// A response is the content; the rest of the candidate is a server's.
pub(crate) fn to_gemini(row: &Row) -> Outcome {
    let mut response = json!({"role": "assistant"});
    response.as_object_mut().unwrap().extend(row.input["litertlm_response"].as_object().unwrap().clone());
    let written = read(Dialect::LiteRt, &response)
        .and_then(|messages| messages::write(Dialect::Gemini, &Transcript::new(messages)));
    let mut found =
        written.map_or_else(|error| outcome::error(&error), |document| document["contents"][0].clone());
    forget_ids(&mut found);
    Outcome::compared(row.expected["candidates"][0]["content"].clone(), found)
}

/// A tool's message, behind the calls that the row's ids belong to.
pub(crate) fn from_openai(row: &Row) -> Outcome {
    let ids = row.input["ids"].as_object().cloned().unwrap_or_default();
    let call = |(id, name): (&String, &Value)| json!({"id": id, "type": "function", "function": {"name": name, "arguments": "{}"}});
    let calls: Vec<Value> = ids.iter().map(call).collect();
    let mut document = vec![json!({"role": "user", "content": "probe"})];
    if !calls.is_empty() {
        document.push(json!({"role": "assistant", "content": null, "tool_calls": calls}));
    }
    document.push(row.input["message"].clone());
    let found = read(Dialect::OpenAi, &document.into());
    compare(&row.expected, found.map(|messages| messages.into_iter().next_back().into_iter().collect()))
}

pub(crate) fn call_ids(row: &Row) -> Outcome {
    let found = read(Dialect::OpenAi, &row.input).map(|messages| {
        let calls = messages.iter().flat_map(Message::tool_calls);
        calls.map(|call| (call.id.clone(), Value::from(call.name.clone()))).collect::<Map<_, _>>()
    });
    Outcome::compared(row.expected.clone(), found.map_or_else(|error| outcome::error(&error), Value::from))
}

/// An item of a message, loaded.
pub(crate) fn load_item(row: &Row) -> Outcome {
    let call = match row.input["$call"].as_str() {
        Some("LoadItemData") => &row.input,
        Some("status") => &row.input["on"],
        // The words are each project's own; that it fails is not.
        Some("message") => &row.input["on"]["on"],
        _ => return Outcome::skipped("is a call of C++ that is not known"),
    };
    let expected = match row.input["$call"].as_str() {
        Some("message") => json!({"error": null, "message": row.expected}),
        _ => row.expected.clone(),
    };
    if row.expected.is_null() {
        return Outcome::skipped("holds no expectation");
    }
    let item = &call["args"][0];
    if item.get("path").is_some() {
        return Outcome::skipped("reads a file that LiteRT-LM's test writes, and that the row does not hold");
    }
    let found = match read(Dialect::LiteRt, &json!([{"role": "user", "content": [item]}])) {
        Err(error) => outcome::error(&error),
        Ok(messages) => loaded(&messages[0].parts[0].content),
    };
    Outcome::compared(expected, found)
}

fn loaded(part: &Content) -> Value {
    match part {
        Content::Text(text) => text.clone().into(),
        Content::Image(media) | Content::Audio(media) => {
            String::from_utf8_lossy(media.bytes().map(|bytes| &**bytes).unwrap_or_default()).into()
        }
        other => format!("{other:?}").into(),
    }
}
