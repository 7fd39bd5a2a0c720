//! The lines of a streamed reply: its pieces, then how it ended.

use alloquy_core::message::ToolCall;
use alloquy_core::{Delta, TurnEvent, TurnReply};
use serde_json::json;

use super::reply::{CallObject, Heading, Said};
use crate::error::{ApiError, broken_reply};
use crate::error_form::ollama;
use crate::streaming::{Frame, Framing, TurnWriter};

/// Writes the lines of one reply.
pub(super) struct LineWriter {
    heading: Heading,
    /// How many calls were written.
    calls: usize,
}

impl LineWriter {
    pub(super) fn new(heading: Heading) -> Self {
        Self { heading, calls: 0 }
    }

    fn said(&mut self, delta: Delta) -> Option<Said> {
        match delta {
            Delta::Text(text) => Some(Said { text, ..Said::default() }),
            Delta::Malformed(malformed) => Some(Said { text: malformed.raw, ..Said::default() }),
            Delta::Thinking(text) => Some(Said { thinking: Some(text), ..Said::default() }),
            Delta::ToolCall(call) if self.heading.tools.offer(&call) => Some(self.call(&call)),
            // A call is written once it is whole, since a part of one may turn out to be none.
            _ => None,
        }
    }

    fn call(&mut self, call: &ToolCall) -> Said {
        let calls = vec![CallObject::of(call, self.calls)];
        self.calls += 1;
        Said { calls, ..Said::default() }
    }

    fn end(&mut self, reply: &TurnReply) -> Vec<Frame> {
        if let Some(error) = &reply.reply.error {
            return vec![Frame::line(&ollama(&broken_reply(error)))];
        }
        let mut frames = Vec::new();
        for call in self.heading.tools.left_open(&reply.pending) {
            let said = self.call(call);
            frames.push(Frame::line(&json!(self.heading.piece(said))));
        }
        frames.push(Frame::line(&json!(self.heading.last(reply))));
        frames
    }
}

impl TurnWriter for LineWriter {
    fn framing(&self) -> Framing {
        Framing::Lines
    }

    fn begin(&mut self) -> Vec<Frame> {
        Vec::new()
    }

    fn event(&mut self, event: TurnEvent) -> Vec<Frame> {
        match event {
            TurnEvent::Delta(delta) => match self.said(delta) {
                Some(said) => vec![Frame::line(&json!(self.heading.piece(said)))],
                None => Vec::new(),
            },
            TurnEvent::Finished(reply) => self.end(&reply),
            _ => Vec::new(),
        }
    }

    fn error(&mut self, error: &ApiError) -> Vec<Frame> {
        vec![Frame::line(&ollama(error))]
    }
}
