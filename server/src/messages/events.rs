//! The events of a streamed message, in their order: the message without content, each block with its pieces, why it ended, the end.

use alloquy_core::message::ToolCall;
use alloquy_core::{Delta, TurnEvent, TurnReply};
use serde_json::{Value, json};

use super::response::{Heading, SIGNATURE, UsageObject, stop_reason};
use crate::call_arguments::object_of;
use crate::error::{ApiError, broken_reply};
use crate::error_form::anthropic_event;
use crate::streaming::{Frame, TurnWriter};

/// Writes the events of one message.
pub(super) struct EventWriter {
    heading: Heading,
    /// The block that is being written.
    open: Option<OpenBlock>,
    /// How many blocks have ended.
    index: usize,
}

/// A kind of block that comes in pieces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OpenBlock {
    Text,
    Thinking,
}

impl EventWriter {
    pub(super) fn new(heading: Heading) -> Self {
        Self { heading, open: None, index: 0 }
    }

    fn piece(&mut self, block: OpenBlock, text: &str) -> Vec<Frame> {
        let mut frames = Vec::new();
        if self.open != Some(block) {
            if text.is_empty() {
                return frames;
            }
            frames.extend(self.close());
            frames.push(self.start(&match block {
                OpenBlock::Text => json!({"type": "text", "text": ""}),
                OpenBlock::Thinking => json!({"type": "thinking", "thinking": "", "signature": ""}),
            }));
            self.open = Some(block);
        }
        match block {
            OpenBlock::Text => frames.push(self.delta(&json!({"type": "text_delta", "text": text}))),
            OpenBlock::Thinking if self.heading.hides_thinking => {}
            OpenBlock::Thinking => {
                frames.push(self.delta(&json!({"type": "thinking_delta", "thinking": text})));
            }
        }
        frames
    }

    fn call(&mut self, call: &ToolCall) -> Vec<Frame> {
        let mut frames = self.close();
        frames.push(self.start(&json!({"type": "tool_use", "id": call.id, "name": call.name, "input": {}})));
        // A call is written once it is whole, since a part of one may turn out to be none.
        let arguments = object_of(call).to_string();
        frames.push(self.delta(&json!({"type": "input_json_delta", "partial_json": arguments})));
        frames.push(self.stop());
        frames
    }

    /// Ends the block that is being written.
    fn close(&mut self) -> Vec<Frame> {
        let mut frames = Vec::new();
        let Some(block) = self.open.take() else { return frames };
        if block == OpenBlock::Thinking {
            frames.push(self.delta(&json!({"type": "signature_delta", "signature": SIGNATURE})));
        }
        frames.push(self.stop());
        frames
    }

    fn start(&self, block: &Value) -> Frame {
        event(&json!({"type": "content_block_start", "index": self.index, "content_block": block}))
    }

    fn delta(&self, delta: &Value) -> Frame {
        event(&json!({"type": "content_block_delta", "index": self.index, "delta": delta}))
    }

    fn stop(&mut self) -> Frame {
        let frame = event(&json!({"type": "content_block_stop", "index": self.index}));
        self.index += 1;
        frame
    }

    fn end(&mut self, reply: &TurnReply) -> Vec<Frame> {
        if let Some(error) = &reply.reply.error {
            return vec![event(&anthropic_event(&broken_reply(error)))];
        }
        let mut frames = self.close();
        for call in self.heading.tools.left_open(&reply.pending) {
            frames.extend(self.call(call));
        }
        let report = self.heading.report(reply);
        frames.push(event(&json!({
            "type": "message_delta",
            "delta": {"stop_reason": stop_reason(&report), "stop_sequence": report.stop_string},
            "usage": UsageObject::of(&report),
            "alloquy": report.json(),
        })));
        frames.push(event(&json!({"type": "message_stop"})));
        frames
    }
}

impl TurnWriter for EventWriter {
    fn begin(&mut self) -> Vec<Frame> {
        let start = json!({"type": "message_start", "message": self.heading.empty()});
        vec![event(&start), event(&json!({"type": "ping"}))]
    }

    fn event(&mut self, event: TurnEvent) -> Vec<Frame> {
        match event {
            TurnEvent::Delta(Delta::Text(text)) => self.piece(OpenBlock::Text, &text),
            TurnEvent::Delta(Delta::Malformed(malformed)) => self.piece(OpenBlock::Text, &malformed.raw),
            TurnEvent::Delta(Delta::Thinking(text)) => self.piece(OpenBlock::Thinking, &text),
            TurnEvent::Delta(Delta::ToolCall(call)) if self.heading.tools.offer(&call) => self.call(&call),
            TurnEvent::Finished(reply) => self.end(&reply),
            _ => Vec::new(),
        }
    }

    fn error(&mut self, error: &ApiError) -> Vec<Frame> {
        vec![event(&anthropic_event(error))]
    }
}

/// Returns an event under the name that its type is.
fn event(value: &Value) -> Frame {
    let name = value.get("type").and_then(Value::as_str).unwrap_or_default();
    Frame::named(name, value)
}
