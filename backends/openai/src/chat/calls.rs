//! Tool calls that come in pieces.

use std::collections::HashSet;

use alloquy_core::message::ToolCall;
use alloquy_formats::messages::{self, Dialect, MediaRules};
use serde_json::json;

/// A call while it comes.
#[derive(Debug)]
pub(crate) struct OpenCall {
    /// Where the server has it.
    pub(crate) place: u64,
    /// No other call of the conversation has it.
    pub(crate) id: String,
    /// The id that the server sent.
    pub(crate) sent_id: String,
    pub(crate) name: String,
    pub(crate) arguments: String,
}

impl OpenCall {
    /// Returns the call; `None` if its arguments are not a JSON object.
    pub(crate) fn finished(&self) -> Option<ToolCall> {
        let arguments = if self.arguments.trim().is_empty() { "{}" } else { &self.arguments };
        let function = json!({"name": self.name, "arguments": arguments});
        let calls = json!([{"id": self.id, "type": "function", "function": function}]);
        let document = json!([{"role": "assistant", "content": null, "tool_calls": calls}]);
        let transcript = messages::read(Dialect::OpenAi, &document, &MediaRules::default()).ok()?;
        let call = transcript.messages.first()?.tool_calls().next()?.clone();
        (call.arguments.is_object() && !call.name.is_empty()).then_some(call)
    }

    /// Returns the call as text.
    pub(crate) fn raw(&self) -> String {
        format!("{}({})", self.name, self.arguments)
    }
}

/// Returns an id that no call has, for servers that send none.
pub(crate) fn fresh_id(known: &HashSet<String>) -> String {
    let mut number = known.len() + 1;
    loop {
        let id = format!("call_{number}");
        if !known.contains(&id) {
            return id;
        }
        number += 1;
    }
}
