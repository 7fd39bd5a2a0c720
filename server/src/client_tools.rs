//! The calls that a client gets to answer: those of its own tools, and those that the turn has left open. Others were answered by the
//! server, with a result or with an error, and the model has read that.

use std::sync::Arc;

use alloquy_core::message::ToolCall;
use alloquy_core::{Content, Message, Preface};

/// The names of the tools that a request offers.
#[derive(Clone, Debug, Default)]
pub(crate) struct ClientTools(Arc<[String]>);

impl ClientTools {
    /// The tools of a request.
    pub(crate) fn of(preface: &Preface) -> Self {
        Self(preface.tools.iter().map(|tool| tool.name.clone()).collect())
    }

    /// Returns whether a call is of one of the client's tools.
    pub(crate) fn offer(&self, call: &ToolCall) -> bool {
        self.0.contains(&call.name)
    }

    /// Returns the calls that are open after the last reply of a turn and that its stream has not shown: it shows those of the client's
    /// tools as they come.
    pub(crate) fn left_open<'a>(&self, open: &'a [ToolCall]) -> Vec<&'a ToolCall> {
        open.iter().filter(|call| !self.offer(call)).collect()
    }

    /// Returns a reply without the calls that the server has answered; `open` are those without a result.
    pub(crate) fn shown(&self, message: &Message, open: &[ToolCall]) -> Message {
        let mut shown = message.clone();
        shown.parts.retain(|part| match &part.content {
            Content::ToolCall(call) => self.offer(call) || open.iter().any(|other| other.id == call.id),
            _ => true,
        });
        shown
    }
}
