//! What the slots of a server hold, as far as this client knows, and which one a prompt goes to.

use std::cmp::Reverse;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use alloquy_core::tokenizer::TokenId;

/// A slot that holds less than one token in so many of a prompt is not preferred for it. llama.cpp's own rule is the same.
const SMALL_SHARE: usize = 10;

/// A token of a reply takes as long as so many tokens of a prompt.
const REPLY_TOKEN: usize = 8;

/// How long replies are thought to be before one has ended.
const FIRST_GUESS: usize = 128;

/// The slots of one server.
///
/// A slot holds one sequence of tokens. A request keeps the prefix that its prompt shares with the slot, and replaces the rest:
///
/// ```text
/// slot 0:  stem  branch 1           prompt "stem, branch 2" goes here: the stem is kept, branch 1 is lost
/// slot 1:  another conversation
/// ```
#[derive(Debug)]
pub(super) struct Held {
    slots: Vec<Slot>,
    clock: u64,
    /// How long the latest replies were, on average.
    usual: usize,
}

#[derive(Debug, Default)]
struct Slot {
    /// What it holds. While a request runs, its whole prompt counts as held.
    ids: Vec<TokenId>,
    used: u64,
    /// Whether what it holds was used by a second request. It is replaced after what was not.
    is_reused: bool,
    running: Option<Running>,
}

/// Which slots are considered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Among {
    /// Those in use too.
    All,
    Free,
}

/// A slot for a prompt.
struct Candidate<'a> {
    index: usize,
    slot: &'a Slot,
    /// How many leading tokens of the prompt it holds.
    shared: usize,
    is_free: bool,
    is_wanted: bool,
}

impl Candidate<'_> {
    /// Returns whether it keeps at least half of what it holds, and more than a small share of the prompt.
    fn continues(&self, prompt: usize) -> bool {
        !is_small(self.shared, prompt) && self.shared * 2 >= self.slot.ids.len()
    }

    /// Returns how well its content can be replaced, compared with that of others.
    fn replaceable(&self) -> (bool, bool, bool, Reverse<u64>) {
        (self.is_free, !self.is_wanted, !self.slot.is_reused, Reverse(self.slot.used))
    }
}

/// A request in its slot.
#[derive(Debug)]
struct Running {
    limit: usize,
    said: Arc<AtomicUsize>,
}

/// A request that has its slot.
#[derive(Clone, Debug)]
pub(super) struct Started {
    pub(super) slot: usize,
    /// How many tokens of the prompt the slot held before.
    pub(super) shared: usize,
    /// How many tokens of the reply there are, which the request counts.
    pub(super) said: Arc<AtomicUsize>,
}

impl Held {
    pub(super) fn new(slots: usize) -> Self {
        let slots = (0..slots).map(|_| Slot::default()).collect();
        Self { slots, clock: 0, usual: FIRST_GUESS }
    }

    pub(super) fn count(&self) -> usize {
        self.slots.len()
    }

    pub(super) fn is_free(&self, slot: usize) -> bool {
        self.slots.get(slot).is_some_and(|slot| slot.running.is_none())
    }

    pub(super) fn has_free(&self) -> bool {
        self.slots.iter().any(|slot| slot.running.is_none())
    }

    /// Returns how many leading tokens of `prompt` each slot holds.
    pub(super) fn shared(&self, prompt: &[TokenId]) -> Vec<usize> {
        self.slots.iter().map(|slot| common(&slot.ids, prompt)).collect()
    }

    /// Returns how many leading tokens of `prompt` one slot holds.
    pub(super) fn shared_with(&self, slot: usize, prompt: &[TokenId]) -> usize {
        self.slots.get(slot).map_or(0, |slot| common(&slot.ids, prompt))
    }

    /// Returns how many tokens a slot holds.
    pub(super) fn length(&self, slot: usize) -> usize {
        self.slots.get(slot).map_or(0, |slot| slot.ids.len())
    }

    /// Returns the slot for a prompt of which the slots hold so much.
    ///
    /// 1. The slot with the longest prefix, of those that keep at least half of what they hold.
    /// 2. Otherwise an unused slot, since any other one would lose more than it keeps.
    /// 3. Otherwise, of the slots with about the longest prefix, the one that was not used twice, or least recently. If all
    ///    prefixes are short, of all slots.
    ///
    /// Those that are `wanted` by other requests are replaced last.
    pub(super) fn choose(
        &self,
        among: Among,
        shared: &[usize],
        prompt: usize,
        wanted: &[bool],
    ) -> Option<usize> {
        let mut candidates = Vec::with_capacity(self.slots.len());
        for (index, (slot, shared)) in self.slots.iter().zip(shared).enumerate() {
            let is_free = slot.running.is_none();
            if is_free || among == Among::All {
                let is_wanted = wanted.get(index).copied().unwrap_or_default();
                candidates.push(Candidate { index, slot, shared: *shared, is_free, is_wanted });
            }
        }
        let continued = candidates.iter().filter(|candidate| candidate.continues(prompt));
        if let Some(best) = continued.max_by_key(|candidate| (candidate.shared, candidate.replaceable())) {
            return Some(best.index);
        }
        if let Some(unused) = candidates.iter().find(|candidate| candidate.slot.ids.is_empty()) {
            return Some(unused.index);
        }
        let longest = candidates.iter().map(|candidate| candidate.shared).max().unwrap_or_default();
        if !is_small(longest, prompt) {
            // Conversations with the same instructions also begin with the same words by chance.
            candidates.retain(|candidate| candidate.shared + longest / 16 >= longest);
        }
        candidates.iter().max_by_key(|candidate| candidate.replaceable()).map(|candidate| candidate.index)
    }

    /// Returns how long the request in a slot will still take, as a number of tokens of a prompt. A reply that is longer than
    /// usual is expected to double.
    pub(super) fn rest(&self, slot: usize) -> usize {
        let Some(running) = self.slots.get(slot).and_then(|slot| slot.running.as_ref()) else { return 0 };
        let said = running.said.load(Ordering::Relaxed);
        let expected = running.limit.min(self.usual.max(said.saturating_mul(2)));
        expected.saturating_sub(said).max(1).saturating_mul(REPLY_TOKEN)
    }

    /// Returns how long a reply of at most `limit` tokens will take, as a number of tokens of a prompt.
    pub(super) fn reply(&self, limit: usize) -> usize {
        limit.clamp(1, self.usual.max(1)).saturating_mul(REPLY_TOKEN)
    }

    /// Starts a request in a free slot.
    pub(super) fn start(&mut self, slot: usize, prompt: &[TokenId], limit: usize) -> Started {
        self.clock += 1;
        let said = Arc::new(AtomicUsize::new(0));
        let mut started = Started { slot, shared: 0, said: Arc::clone(&said) };
        if let Some(slot) = self.slots.get_mut(slot) {
            started.shared = common(&slot.ids, prompt);
            slot.used = self.clock;
            slot.is_reused = !is_small(started.shared, prompt.len()) && started.shared * 2 >= slot.ids.len();
            slot.ids = prompt.to_vec();
            slot.running = Some(Running { limit, said });
        }
        self.keep_one_replaceable(slot);
        started
    }

    /// Keeps a free slot from changing.
    pub(super) fn lock(&mut self, slot: usize) -> Started {
        let said = Arc::new(AtomicUsize::new(0));
        if let Some(slot) = self.slots.get_mut(slot) {
            slot.running = Some(Running { limit: 1, said: Arc::clone(&said) });
        }
        Started { slot, shared: 0, said }
    }

    /// Frees a slot that holds what it held.
    pub(super) fn unlock(&mut self, slot: usize) {
        if let Some(slot) = self.slots.get_mut(slot) {
            slot.running = None;
        }
    }

    /// Frees a slot, which holds these tokens now.
    pub(super) fn end(&mut self, slot: usize, ids: Vec<TokenId>) {
        let Some(slot) = self.slots.get_mut(slot) else { return };
        if let Some(running) = slot.running.take() {
            let said = running.said.load(Ordering::Relaxed);
            if said > 0 {
                // Seven parts of what was usual, and one part of this.
                self.usual = (self.usual.saturating_mul(7).saturating_add(said) / 8).max(1);
            }
        }
        slot.ids = ids;
    }

    /// Notes what a slot holds that the server has chosen by itself.
    pub(super) fn set(&mut self, slot: usize, ids: Vec<TokenId>) {
        self.clock += 1;
        if let Some(slot) = self.slots.get_mut(slot).filter(|slot| slot.running.is_none()) {
            slot.used = self.clock;
            slot.ids = ids;
        }
    }

    /// Once everything was used again, the least recently used slot counts as replaceable.
    fn keep_one_replaceable(&mut self, newest: usize) {
        if !self.slots.iter().all(|slot| slot.is_reused) {
            return;
        }
        let others = self.slots.iter_mut().enumerate().filter(|(index, _)| *index != newest);
        if let Some((_, oldest)) = others.min_by_key(|(_, slot)| slot.used) {
            oldest.is_reused = false;
        }
    }

    /// Returns the slot that holds the longest prefix of a prompt, and the length of that.
    pub(super) fn longest(&self, prompt: &[TokenId]) -> Option<(usize, usize)> {
        let shared = self.shared(prompt).into_iter().enumerate();
        shared.max_by_key(|(index, shared)| (*shared, Reverse(*index))).filter(|(_, shared)| *shared > 0)
    }
}

/// Returns whether so many tokens are too few of a prompt to decide anything.
pub(super) fn is_small(shared: usize, prompt: usize) -> bool {
    shared == 0 || shared.saturating_mul(SMALL_SHARE) < prompt
}

fn common(left: &[TokenId], right: &[TokenId]) -> usize {
    left.iter().zip(right).take_while(|(left, right)| left == right).count()
}
