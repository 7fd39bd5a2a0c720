//! Texts of tool calls, read between the fences of a family that writes them so.

use serde_json::{Value, json};

use crate::families::{self, read, with_tool};
use crate::messages::unreadable;
use crate::outcome::Outcome;
use crate::row::Row;

pub(crate) fn parse(row: &Row, syntax: &str) -> Outcome {
    let Some(text) = row.input.as_str() else { return Outcome::skipped("the input is not a text") };
    let (family, start, end) = match families::with_syntax(syntax, text) {
        Ok(found) => found,
        Err(reason) => return Outcome::Skipped(reason),
    };
    let reply = format!("{start}{text}{end}");
    let message = read(&family, "", &with_tool(), [reply.as_str()]);
    let found = match unreadable(&message) {
        Some(reason) => json!({"error": reason}),
        None if message.text().is_empty() => {
            let call = |call: &alloquy_core::message::ToolCall| json!({"name": call.name, "arguments": call.arguments});
            json!({"ok": message.tool_calls().map(call).collect::<Vec<Value>>()})
        }
        None => json!({"text": message.text(), "calls": message.tool_calls().count()}),
    };
    Outcome::compared(row.expected.clone(), found)
}

/// A name of a syntax: known when a family writes it.
pub(crate) fn syntax(row: &Row) -> Outcome {
    let Some(name) = row.input.as_str() else { return Outcome::skipped("the input is not a text") };
    let known = families::with_syntax(name, "").is_ok();
    Outcome::compared(row.expected.clone(), if known { name } else { "unknown" })
}
