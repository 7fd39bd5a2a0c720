//! Ids for tool calls: counted along the conversation, so that the same reply gets the same ids again.

use std::collections::HashSet;

use alloquy_core::Message;
use alloquy_core::processor::PromptSource;

use crate::family::CallIdForm;

/// Gives `call_0`, `call_1`, …, going on from the calls that the conversation has.
#[derive(Debug)]
pub(super) struct CallIds {
    next: usize,
    taken: HashSet<String>,
    make: CallIdForm,
}

impl CallIds {
    /// Goes on from the calls of `source`; `make` says what ids look like.
    pub(super) fn after(source: PromptSource<'_>, make: CallIdForm) -> Self {
        let messages = || source.preface.messages.iter().chain(source.path);
        let called = messages().flat_map(Message::tool_calls).map(|call| call.id.clone());
        let answered = messages().flat_map(Message::tool_results).map(|result| result.id.clone());
        Self {
            next: messages().flat_map(Message::tool_calls).count(),
            taken: called.chain(answered).collect(),
            make,
        }
    }

    /// Returns an id that no call of the conversation has: `own`, if the model gave one.
    pub(super) fn next(&mut self, own: Option<String>) -> String {
        let own = own.filter(|id| !id.is_empty() && self.taken.insert(id.clone()));
        own.unwrap_or_else(|| self.made())
    }

    fn made(&mut self) -> String {
        loop {
            let id = self.make.id(self.next);
            self.next += 1;
            if self.taken.insert(id.clone()) {
                return id;
            }
        }
    }
}
