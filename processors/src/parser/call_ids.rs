//! Ids for tool calls: counted along the conversation, so that the same reply gets the same ids again.

use std::collections::HashSet;

use alloquy_core::{Message, PromptSource};

/// Gives `call_0`, `call_1`, …, going on from the calls that the conversation has.
#[derive(Debug)]
pub(super) struct CallIds {
    next: usize,
    taken: HashSet<String>,
}

impl CallIds {
    /// Goes on from the calls of `source`.
    pub(super) fn after(source: PromptSource<'_>) -> Self {
        let messages = || source.preface.messages.iter().chain(source.path);
        let called = messages().flat_map(Message::tool_calls).map(|call| call.id.clone());
        let answered = messages().flat_map(Message::tool_results).map(|result| result.id.clone());
        Self {
            next: messages().flat_map(Message::tool_calls).count(),
            taken: called.chain(answered).collect(),
        }
    }

    /// Returns an id that no call of the conversation has.
    pub(super) fn next(&mut self) -> String {
        loop {
            let id = format!("call_{}", self.next);
            self.next += 1;
            if !self.taken.contains(&id) {
                return id;
            }
        }
    }
}
