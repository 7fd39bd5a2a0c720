//! Tool calls that come in pieces.

use std::collections::{HashMap, HashSet};

use alloquy_core::message::ToolCall;
use alloquy_formats::messages::{self, Dialect, MediaRules};
use serde_json::json;

/// A call while it comes.
#[derive(Debug)]
pub(crate) struct OpenCall {
    /// No other call of the conversation has it.
    pub(crate) id: String,
    /// The id that the server sent.
    sent_id: String,
    pub(crate) name: String,
    arguments: String,
}

/// The calls of a reply. A server may send very many of them, so that each is found by its place.
#[derive(Debug)]
pub(crate) struct OpenCalls {
    calls: Vec<OpenCall>,
    /// The latest call at each place of the server.
    places: HashMap<u64, usize>,
    /// The ids of calls in the conversation.
    known_ids: HashSet<String>,
    /// The number in the id of the last call for which the server sent none.
    number: usize,
}

impl OpenCalls {
    pub(crate) fn new(known_ids: HashSet<String>) -> Self {
        Self { calls: Vec::new(), places: HashMap::new(), known_ids, number: 0 }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// Begins the call at a place, unless it has begun. Some servers have one place for all calls, and an id for each.
    pub(crate) fn begin(&mut self, place: u64, id: String, name: String) {
        if let Some(call) = self.at(place)
            && (id.is_empty() || id == call.sent_id)
        {
            if call.name.is_empty() {
                call.name = name;
            }
            return;
        }
        let own = if id.is_empty() || self.known_ids.contains(&id) { self.fresh_id() } else { id.clone() };
        self.known_ids.insert(own.clone());
        self.places.insert(place, self.calls.len());
        self.calls.push(OpenCall { id: own, sent_id: id, name, arguments: String::new() });
    }

    /// Adds to the arguments of the call at a place. Returns the call.
    pub(crate) fn grow(&mut self, place: u64, text: &str) -> Option<&OpenCall> {
        let call = self.at(place)?;
        call.arguments.push_str(text);
        Some(call)
    }

    /// Returns the calls, of which none are left.
    pub(crate) fn take(&mut self) -> Vec<OpenCall> {
        self.places.clear();
        std::mem::take(&mut self.calls)
    }

    fn at(&mut self, place: u64) -> Option<&mut OpenCall> {
        let index = self.places.get(&place)?;
        self.calls.get_mut(*index)
    }

    /// Returns an id that no call has, for servers that send none.
    fn fresh_id(&mut self) -> String {
        self.number = self.number.max(self.known_ids.len());
        loop {
            self.number += 1;
            let id = format!("call_{}", self.number);
            if !self.known_ids.contains(&id) {
                return id;
            }
        }
    }
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
