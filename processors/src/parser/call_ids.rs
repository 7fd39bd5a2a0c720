//! Gives ids to tool calls. They are counted along the conversation, so that the same reply always gets the same ids.

use std::collections::HashSet;

use alloquy_core::processor::ProcessorInput;

use crate::family::CallIdForm;

/// Gives the ids `call_0`, `call_1` and so on, counting from the calls of the conversation.
#[derive(Debug)]
pub(super) struct CallIds {
    next: usize,
    taken: HashSet<String>,
    make: CallIdForm,
}

impl CallIds {
    /// Continues after the calls of `source`, with ids of the form `make`.
    pub(super) fn after(source: ProcessorInput<'_>, make: CallIdForm) -> Self {
        let mut ids = Self { next: 0, taken: HashSet::new(), make };
        for message in source.preface.messages.iter().chain(source.path) {
            for call in message.tool_calls() {
                ids.next += 1;
                ids.taken.insert(call.id.clone());
            }
            for result in message.tool_results() {
                ids.taken.insert(result.id.clone());
            }
        }
        ids
    }

    /// Returns an id that no call of the conversation has: the model's own, if it gave one that is free.
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
