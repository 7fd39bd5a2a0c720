//! What was sent to a server, so that a miss of its cache has a reason.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use alloquy_core::report::{CacheReport, MissReason};
use alloquy_core::tokenizer::TokenId;

use crate::choice::{common_prefix, common_suffix};
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
    space: CacheSpace,
    ids: Vec<TokenId>,
    /// How many of the ids are the stem of the conversation: its first prompt.
    stem: usize,
}

/// What is remembered of the beginning of a prompt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Held {
    /// How many leading tokens were sent for the same conversation.
    pub(crate) own: usize,
    /// The length of the stem of that conversation.
    pub(crate) stem: Option<usize>,
    /// How many leading tokens were sent for any other conversation, such as those of a common system prompt.
    pub(crate) others: usize,
}

/// Which prompts share a cache: those of one owner, with one adapter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct CacheSpace {
    pub(crate) salt: Option<Arc<str>>,
    pub(crate) adapter: Option<Arc<str>>,
}

/// How much of a prompt should be cached, as it is known when the prompt is sent.
#[derive(Clone, Copy, Debug, Default)]
struct Expectation {
    /// How many leading tokens a remembered sequence has in common with the prompt, and whether it continues in another way.
    longest: Option<(usize, bool)>,
    /// How many leading tokens another server has of the conversation.
    elsewhere: usize,
}

impl Expectation {
    /// Reports on a prompt of which the server had `cached` tokens. It keeps blocks of `block` tokens.
    fn report(self, prompt: usize, cached: Option<usize>, block: usize) -> CacheReport {
        let cached = cached.map(|cached| cached.min(prompt));
        let mut report = CacheReport::new(prompt, cached.unwrap_or(0));
        if cached.is_none() {
            report.miss = Some(MissReason::Unreported);
        }
        // The last token of a prompt is always computed: it says what comes next.
        let most = prompt.saturating_sub(1);
        if let Some((shared, is_longer)) = self.longest {
            report.first_difference = is_longer.then_some(shared);
            if cached.is_some_and(|cached| cached + block < shared.min(most) + 1) {
                report.miss = Some(MissReason::Evicted);
            }
        }
        if report.cached + block < self.elsewhere.min(most) + 1 {
            report.miss = Some(MissReason::ServedElsewhere);
        }
        report
    }
}

impl Memory {
    /// Returns what is remembered of a prompt. A sequence is of the same conversation if the prompt contains its stem. The last
    /// ids of the stem begin a reply, and some templates print a part of them only before the last reply, such as empty
    /// thinking. Both prompts end with these ids, so a half of what both end with may be missing.
    pub(crate) fn held(&self, space: &CacheSpace, prompt: &[TokenId]) -> Held {
        let mut held = Held::default();
        for sequence in self.sequences.iter().filter(|sequence| sequence.space == *space) {
            let shared = common_prefix(&sequence.ids, prompt);
            let stem = sequence.ids.get(..sequence.stem).unwrap_or(&sequence.ids);
            let needed = stem.len() - common_suffix(stem, prompt) / 2;
            if shared < needed.max(1) {
                held.others = held.others.max(shared);
            } else if held.stem.is_none() || shared > held.own {
                held.own = shared;
                held.stem = Some(stem.len());
            }
        }
        held
    }

    fn expectation(&self, space: &CacheSpace, prompt: &[TokenId], elsewhere: usize) -> Expectation {
        let mut longest = None;
        for sequence in self.sequences.iter().filter(|sequence| sequence.space == *space) {
            let shared = common_prefix(&sequence.ids, prompt);
            if longest.is_none_or(|(known, _)| shared > known) {
                longest = Some((shared, sequence.ids.len() > shared));
            }
        }
        Expectation { longest, elsewhere }
    }

    fn count(&mut self, report: CacheReport) {
        self.cached += report.cached;
        self.computed += report.computed;
    }

    /// Adds what was restored. What had `followed` it is not known.
    pub(crate) fn restored(&mut self, mut ids: Vec<TokenId>, has_followed: bool) {
        // No token has this id, so every prompt continues in another way.
        ids.extend(has_followed.then_some(TokenId::MAX));
        let stem = ids.len();
        self.add(CacheSpace::default(), ids, stem);
    }

    /// Adds a prompt with its reply. A sequence that it continues is replaced.
    fn add(&mut self, space: CacheSpace, ids: Vec<TokenId>, stem: usize) {
        let begins =
            self.sequences.iter().position(|known| known.space == space && ids.starts_with(&known.ids));
        if let Some(known) = begins.and_then(|place| self.sequences.remove(place)) {
            self.ids -= known.ids.len();
        }
        self.ids += ids.len();
        self.sequences.push_back(Sequence { space, ids, stem });
        while self.sequences.len() > SEQUENCES || self.ids > IDS {
            let Some(oldest) = self.sequences.pop_front() else { return };
            self.ids -= oldest.ids.len();
        }
    }
}

/// The ids of one request, which are remembered when it ends in any way.
#[derive(Debug)]
pub(crate) struct Recorder {
    memory: Arc<Mutex<Memory>>,
    space: CacheSpace,
    prompt: usize,
    ids: Vec<TokenId>,
    /// Set once the server has computed the prompt.
    expectation: Option<Expectation>,
    block: usize,
    stem: usize,
    /// How many leading tokens of the prompt another server has of the conversation.
    elsewhere: usize,
    /// The slot of the server, where it has slots.
    lease: Option<Lease>,
}

impl Recorder {
    /// Takes the ids of a prompt. [`Recorder::at`] says where they are sent.
    pub(crate) fn new(space: CacheSpace, prompt: Vec<TokenId>) -> Self {
        let length = prompt.len();
        Self {
            memory: Arc::default(),
            space,
            prompt: length,
            ids: prompt,
            expectation: None,
            block: 1,
            stem: length,
            elsewhere: 0,
            lease: None,
        }
    }

    /// Sets the memory of the server that the prompt is sent to, before it is computed.
    pub(crate) fn at(&mut self, memory: Arc<Mutex<Memory>>, block: usize, stem: usize, elsewhere: usize) {
        self.memory = memory;
        self.block = block;
        self.stem = stem;
        self.elsewhere = elsewhere;
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
        if self.expectation.is_some() {
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
        let mut memory = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
        let expectation = memory.expectation(&self.space, &self.ids, self.elsewhere);
        self.expectation = Some(expectation);
        let report = expectation.report(self.prompt, cached, self.block);
        // What is known now is counted now: a reply that is not read to its end counts too.
        if cached.is_some() {
            memory.count(report);
        }
        report
    }

    /// Counts what was cached where that is known at the end alone, and reports on it.
    pub(crate) fn count(&self, cached: usize) -> CacheReport {
        let report = self.expectation.unwrap_or_default().report(self.prompt, Some(cached), self.block);
        self.memory.lock().unwrap_or_else(PoisonError::into_inner).count(report);
        report
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
        if self.expectation.is_none() {
            return;
        }
        let ids = self.held();
        let mut memory = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
        memory.add(std::mem::take(&mut self.space), ids, self.stem);
    }
}
