//! What a family makes of messages and tools for its templates.

use alloquy_core::template::PromptEnd;
use alloquy_core::{Preface, Result};
use serde_json::{Value, json};

use crate::families::{self, Family, source};
use crate::messages;
use crate::outcome::{Outcome, ok_or_error};
use crate::row::Row;

/// A message, alone in its conversation.
pub(crate) fn message(row: &Row) -> Outcome {
    let expected = match row.expected.get("ok") {
        Some(message) => json!({"ok": printed(std::slice::from_ref(message))}),
        None => row.expected.clone(),
    };
    match with_family(row, |family| {
        let path = messages::read(&row.input["message"])?;
        let input = family.template_input(source(&Preface::default(), &path, PromptEnd::Closed))?;
        Ok(printed(&input.messages))
    }) {
        Outcome::Compared { found, .. } => Outcome::compared(expected, found),
        skipped @ Outcome::Skipped(_) => skipped,
    }
}

/// What a template can print of messages: the role, the texts, the calls. A text is a list of one; a content that is
/// missing is empty; results that stand in messages of their own, with ids and names, are texts of one.
fn printed(messages: &[Value]) -> Value {
    let texts = |message: &Value| match &message["content"] {
        Value::String(text) if text.is_empty() => Vec::new(),
        Value::String(text) => vec![json!({"type": "text", "text": text})],
        Value::Array(items) => items.clone(),
        Value::Null => Vec::new(),
        other => vec![other.clone()],
    };
    let call =
        |call: &Value| json!({"name": call["function"]["name"], "arguments": call["function"]["arguments"]});
    let calls = messages.iter().filter_map(|message| message["tool_calls"].as_array()).flatten().map(call);
    json!({
        "role": messages.first().map(|message| &message["role"]),
        "texts": messages.iter().flat_map(texts).collect::<Vec<_>>(),
        "calls": calls.collect::<Vec<_>>(),
    })
}

/// The tools of a preface.
pub(crate) fn tools(row: &Row) -> Outcome {
    with_family(row, |family| {
        let preface = Preface { tools: messages::tools(&row.input["tools"])?, ..Preface::default() };
        let input = family.template_input(source(&preface, &[], PromptEnd::Closed))?;
        Ok(json!(input.tools.unwrap_or_default()))
    })
}

fn with_family(row: &Row, make: impl Fn(&Family) -> Result<Value>) -> Outcome {
    let processor = &row.input["processor"];
    let kind = processor["type"].as_str().unwrap_or_default();
    let family = if processor["config"]["use_template_for_fc_format"] == false {
        families::with_template(kind, families::TEXTS)
    } else {
        families::named(kind)
    };
    match family {
        Ok(family) => Outcome::compared(row.expected.clone(), ok_or_error(make(&family))),
        Err(reason) => Outcome::Skipped(reason),
    }
}
