//! Values and tools as the texts that a family puts into its templates.

use alloquy_core::message::ToolCall;
use alloquy_core::template::PromptEnd;
use alloquy_core::{Content, Message, Preface, Result, Role};
use serde_json::{Value, json};

use crate::families::{self, Family, source};
use crate::messages;
use crate::outcome::{Outcome, ok_or_error};
use crate::row::Row;

/// A value: the argument of a call.
pub(crate) fn value(row: &Row, syntax: &str) -> Outcome {
    with_family(row, syntax, |family| {
        let call = ToolCall::new("call_0", "probe", json!({"value": row.input["value"]}));
        let message = Message::new(Role::Assistant, vec![Content::ToolCall(call)]);
        let input = family.template_input(source(&Preface::default(), &[message], PromptEnd::Closed))?;
        let written = input.messages[0].pointer("/tool_calls/0/function/arguments/value").cloned();
        Ok(written.unwrap_or_default())
    })
}

/// A tool: the only one of a preface.
pub(crate) fn tool(row: &Row, syntax: &str) -> Outcome {
    with_family(row, syntax, |family| {
        let tools = messages::tools(&json!([row.input["value"]]))?;
        let preface = Preface { tools, ..Preface::default() };
        let input = family.template_input(source(&preface, &[], PromptEnd::Closed))?;
        Ok(input.tools.unwrap_or_default().into_iter().next().unwrap_or_default())
    })
}

fn with_family(row: &Row, syntax: &str, write: impl Fn(&Family) -> Result<Value>) -> Outcome {
    match families::with_syntax(syntax, "") {
        Ok((family, ..)) => Outcome::compared(row.expected.clone(), ok_or_error(write(&family))),
        Err(reason) => Outcome::Skipped(reason),
    }
}
