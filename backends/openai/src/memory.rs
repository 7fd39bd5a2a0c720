//! What was sent to a server, so that a miss of its cache has a reason.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use alloquy_core::report::{CacheReport, MissReason};
use alloquy_core::tokenizer::TokenId;

use crate::slots::Lease;

/// How many conversations are remembered.
const SEQUENCES: usize = 256;

/// How many token ids are remembered, of all conversations together.
const IDS: usize = 1 << 20;

/// The latest prompts with their replies, and how much of all prompts was cached.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    sequences: VecDeque<Sequence>,
    ids: usize,
    pub(crate) cached: usize,
    pub(crate) computed: usize,
}

#[derive(Debug)]
struct Sequence {
    salt: Option<Arc<str>>,
    ids: Vec<TokenId>,
}

impl Memory {
    /// Reports on a prompt of which the server had `cached` tokens. It keeps blocks of `block` tokens.
    pub(crate) fn report(
        &self,
        salt: Option<&Arc<str>>,
        prompt: &[TokenId],
        cached: Option<usize>,
        block: usize,
    ) -> CacheReport {
        let cached = cached.map(|cached| cached.min(prompt.len()));
        let mut report = CacheReport::new(prompt.len(), cached.unwrap_or(0));
        let Some((shared, is_longer)) = self.longest(salt, prompt) else { return report };
        if is_longer {
            report.first_difference = Some(shared);
        }
        // The last token of a prompt is always computed: it says what comes next.
        let expected = shared.min(prompt.len().saturating_sub(1));
        if cached.is_some_and(|cached| cached + block < expected + 1) {
            report.miss = Some(MissReason::Evicted);
        }
        report
    }

    /// Returns how many leading tokens some sequence has in common with a prompt, and whether it continues in another way.
    fn longest(&self, salt: Option<&Arc<str>>, prompt: &[TokenId]) -> Option<(usize, bool)> {
        let mut longest = None;
        for sequence in self.sequences.iter().filter(|sequence| sequence.salt.as_ref() == salt) {
            let shared = common(&sequence.ids, prompt);
            if longest.is_none_or(|(known, _)| shared > known) {
                longest = Some((shared, sequence.ids.len() > shared));
            }
        }
        longest
    }

    /// Adds what was restored. What had `followed` it is not known.
    pub(crate) fn restored(&mut self, mut ids: Vec<TokenId>, has_followed: bool) {
        // No token has this id, so every prompt continues in another way.
        ids.extend(has_followed.then_some(TokenId::MAX));
        self.add(None, ids);
    }

    /// Adds a prompt with its reply. A sequence that it continues is replaced.
    fn add(&mut self, salt: Option<Arc<str>>, ids: Vec<TokenId>) {
        let begins =
            self.sequences.iter().position(|known| known.salt == salt && ids.starts_with(&known.ids));
        if let Some(known) = begins.and_then(|place| self.sequences.remove(place)) {
            self.ids -= known.ids.len();
        }
        self.ids += ids.len();
        self.sequences.push_back(Sequence { salt, ids });
        while self.sequences.len() > SEQUENCES || self.ids > IDS {
            let Some(oldest) = self.sequences.pop_front() else { return };
            self.ids -= oldest.ids.len();
        }
    }
}

fn common(left: &[TokenId], right: &[TokenId]) -> usize {
    left.iter().zip(right).take_while(|(left, right)| left == right).count()
}

/// The ids of one request, which are remembered when it ends in any way.
#[derive(Debug)]
pub(crate) struct Recorder {
    memory: Arc<Mutex<Memory>>,
    salt: Option<Arc<str>>,
    prompt: usize,
    ids: Vec<TokenId>,
    /// Whether the server has computed the prompt.
    is_computed: bool,
    block: usize,
    /// The slot of the server, where it has slots.
    lease: Option<Lease>,
}

impl Recorder {
    pub(crate) fn new(
        memory: Arc<Mutex<Memory>>,
        salt: Option<Arc<str>>,
        prompt: Vec<TokenId>,
        block: usize,
    ) -> Self {
        Self { memory, salt, prompt: prompt.len(), ids: prompt, is_computed: false, block, lease: None }
    }

    /// Notes the slot to which the request is sent.
    pub(crate) fn placed(&mut self, lease: Lease) {
        self.lease = Some(lease);
    }

    /// Notes the slot that the server names.
    pub(crate) fn served_by(&mut self, slot: usize) {
        if let Some(lease) = &mut self.lease {
            lease.note(slot);
        }
    }

    /// Frees the slot, which the server needs no longer.
    pub(crate) fn free(&mut self) {
        let Some(lease) = self.lease.take() else { return };
        if self.is_computed {
            lease.end(self.held());
        }
    }

    /// Returns what the server has computed.
    fn held(&self) -> Vec<TokenId> {
        let mut ids = self.ids.clone();
        // The last token of a reply was sampled and not computed.
        if ids.len() > self.prompt {
            ids.pop();
        }
        ids
    }

    /// Notes that the prompt is computed, and reports on it.
    pub(crate) fn computed(&mut self, cached: Option<usize>) -> CacheReport {
        self.is_computed = true;
        let memory = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
        memory.report(self.salt.as_ref(), &self.ids, cached, self.block)
    }

    /// Counts what was cached, once that is known.
    pub(crate) fn count(&self, cached: usize) {
        let mut memory = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
        let cached = cached.min(self.prompt);
        memory.cached += cached;
        memory.computed += self.prompt - cached;
    }

    /// Takes a token of the reply.
    pub(crate) fn push(&mut self, id: TokenId) {
        self.ids.push(id);
        if let Some(lease) = &self.lease {
            lease.count_token();
        }
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        self.free();
        if !self.is_computed {
            return;
        }
        let ids = self.held();
        let mut memory = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
        memory.add(self.salt.take(), ids);
    }
}
