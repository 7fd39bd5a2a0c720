//! Collects what was read of a reply: the deltas to emit, and the parts of the message.

use alloquy_core::message::{ChannelText, Malformed, ToolCall};
use alloquy_core::processor::ToolCallDelta;
use alloquy_core::{Content, Delta, Message, Role};

/// The deltas and parts of one reply. Empty texts are ignored.
#[derive(Debug, Default)]
pub(super) struct Transcript {
    deltas: Vec<Delta>,
    parts: Vec<Content>,
}

impl Transcript {
    pub(super) fn text(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        match self.deltas.last_mut() {
            Some(Delta::Text(last)) => last.push_str(text),
            _ => self.deltas.push(Delta::Text(text.to_owned())),
        }
        match self.parts.last_mut() {
            Some(Content::Text(last)) => last.push_str(text),
            _ => self.parts.push(Content::Text(text.to_owned())),
        }
    }

    pub(super) fn thinking(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        match self.deltas.last_mut() {
            Some(Delta::Thinking(last)) => last.push_str(text),
            _ => self.deltas.push(Delta::Thinking(text.to_owned())),
        }
        match self.parts.last_mut() {
            Some(Content::Thinking(last)) => last.push_str(text),
            _ => self.parts.push(Content::Thinking(text.to_owned())),
        }
    }

    pub(super) fn channel(&mut self, name: &str, text: &str) {
        if text.is_empty() {
            return;
        }
        match self.deltas.last_mut() {
            Some(Delta::Channel(last)) if last.name == name => last.text.push_str(text),
            _ => self.deltas.push(Delta::Channel(ChannelText::new(name, text))),
        }
        match self.parts.last_mut() {
            Some(Content::Channel(last)) if last.name == name => last.text.push_str(text),
            _ => self.parts.push(Content::Channel(ChannelText::new(name, text))),
        }
    }

    pub(super) fn arguments(&mut self, piece: ToolCallDelta) {
        self.deltas.push(Delta::Arguments(piece));
    }

    pub(super) fn call(&mut self, call: ToolCall) {
        self.deltas.push(Delta::ToolCall(call.clone()));
        self.parts.push(Content::ToolCall(call));
    }

    pub(super) fn malformed(&mut self, malformed: Malformed) {
        self.deltas.push(Delta::Malformed(malformed.clone()));
        self.parts.push(Content::Malformed(malformed));
    }

    /// Returns whether the reply has text.
    pub(super) fn has_text(&self) -> bool {
        self.parts.iter().any(|part| matches!(part, Content::Text(_)))
    }

    /// Returns the deltas since the last call.
    pub(super) fn take_deltas(&mut self) -> Vec<Delta> {
        std::mem::take(&mut self.deltas)
    }

    pub(super) fn into_message(self) -> Message {
        Message::new(Role::Assistant, self.parts)
    }
}
