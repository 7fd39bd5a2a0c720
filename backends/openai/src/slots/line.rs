//! The order in which requests go to the slots of a server.

use std::cmp::Reverse;
use std::sync::Arc;

use alloquy_core::media::Digest;
use alloquy_core::tokenizer::TokenId;

use super::held::{Among, Held, Started, is_small};

/// How many later requests may go before a waiting one.
pub(super) const OVERTAKERS: usize = 16;

/// What a request wants.
#[derive(Clone, Debug)]
pub(crate) enum Wish {
    /// A slot for a prompt, whose reply has at most so many tokens.
    Reply { prompt: Arc<[TokenId]>, limit: usize },
    /// This slot, which must not change meanwhile.
    Only(usize),
}

/// Ids from this one on mean adapters. No vocabulary has so many tokens.
const ADAPTERS: TokenId = 1 << 31;

impl Wish {
    /// Wants a slot for a prompt. What is computed with an adapter serves prompts with the same adapter alone, so its sequences
    /// begin with an id of their own here.
    pub(crate) fn reply(adapter: Option<&str>, ids: &[TokenId], limit: usize) -> Self {
        let marker = adapter.map(|name| {
            let digest = *Digest::of(name.as_bytes()).as_bytes();
            ADAPTERS | digest.iter().take(4).fold(0, |id, byte| id << 8 | TokenId::from(*byte))
        });
        Self::Reply { prompt: marker.into_iter().chain(ids.iter().copied()).collect(), limit }
    }

    fn prompt(&self) -> &[TokenId] {
        match self {
            Self::Reply { prompt, .. } => prompt,
            Self::Only(_) => &[],
        }
    }

    fn limit(&self) -> usize {
        match self {
            Self::Reply { limit, .. } => *limit,
            Self::Only(_) => 1,
        }
    }

    fn only(&self) -> Option<usize> {
        match self {
            Self::Reply { .. } => None,
            Self::Only(slot) => Some(*slot),
        }
    }
}

/// A request that may start.
#[derive(Debug)]
pub(super) struct Next {
    pub(super) ticket: u64,
    pub(super) started: Started,
    /// What its slot holds in any case, even if nothing of the prompt is computed; `None` if it does not change.
    pub(super) kept: Option<Vec<TokenId>>,
    /// The id of its adapter, if it has one.
    pub(super) adapter: Option<TokenId>,
}

/// Requests that wait for a slot, in the order in which they came, and the slots.
///
/// The waiting request of whose prompt a slot holds most goes first, so that branches of one stem follow one another. At most
/// [`OVERTAKERS`] later requests go before an earlier one.
#[derive(Debug)]
pub(super) struct Line {
    pub(super) held: Held,
    waiting: Vec<Waiting>,
    arrivals: u64,
}

#[derive(Debug)]
struct Waiting {
    ticket: u64,
    wish: Wish,
    /// How many leading tokens of its prompt each slot holds.
    shared: Vec<usize>,
    /// How many later requests have gone before it.
    overtaken: usize,
}

impl Waiting {
    fn longest(&self) -> usize {
        self.shared.iter().copied().max().unwrap_or_default()
    }

    fn shared_with(&self, slot: usize) -> usize {
        self.shared.get(slot).copied().unwrap_or_default()
    }

    fn is_overdue(&self) -> bool {
        self.overtaken >= OVERTAKERS
    }

    /// Returns the order of this request among others: overdue ones as they came, then by what is held of the prompt.
    fn rank(&self) -> (bool, Reverse<usize>) {
        if self.is_overdue() { (false, Reverse(0)) } else { (true, Reverse(self.longest())) }
    }
}

impl Line {
    pub(super) fn new(slots: usize) -> Self {
        Self { held: Held::new(slots), waiting: Vec::new(), arrivals: 0 }
    }

    /// Adds a request, and returns its ticket.
    pub(super) fn arrive(&mut self, wish: Wish) -> u64 {
        self.arrivals += 1;
        let shared = self.held.shared(wish.prompt());
        let ticket = self.arrivals;
        self.waiting.push(Waiting { ticket, wish, shared, overtaken: 0 });
        ticket
    }

    /// Removes a request that waits no longer.
    pub(super) fn leave(&mut self, ticket: u64) {
        self.waiting.retain(|waiting| waiting.ticket != ticket);
    }

    /// Starts the request that is next, if one may start.
    pub(super) fn next(&mut self) -> Option<Next> {
        let (place, slot) = self.chosen()?;
        for earlier in self.waiting.iter_mut().take(place) {
            earlier.overtaken += 1;
        }
        let chosen = self.waiting.remove(place);
        let Waiting { ticket, wish, .. } = chosen;
        let Wish::Reply { prompt, limit } = wish else {
            return Some(Next { ticket, started: self.held.lock(slot), kept: None, adapter: None });
        };
        let started = self.held.start(slot, &prompt, limit);
        self.refresh(slot);
        let kept = prompt.iter().copied().take(started.shared).collect();
        let adapter = prompt.first().copied().filter(|id| *id >= ADAPTERS);
        Some(Next { ticket, started, kept: Some(kept), adapter })
    }

    /// Frees a slot that did not change.
    pub(super) fn unlock(&mut self, slot: usize) {
        self.held.unlock(slot);
    }

    /// Frees a slot, which holds these tokens now.
    pub(super) fn end(&mut self, slot: usize, ids: Vec<TokenId>) {
        self.held.end(slot, ids);
        self.refresh(slot);
    }

    /// Notes what another slot holds.
    pub(super) fn set(&mut self, slot: usize, ids: Vec<TokenId>) {
        self.held.set(slot, ids);
        self.refresh(slot);
    }

    fn refresh(&mut self, slot: usize) {
        for waiting in &mut self.waiting {
            let shared = self.held.shared_with(slot, waiting.wish.prompt());
            if let Some(known) = waiting.shared.get_mut(slot) {
                *known = shared;
            }
        }
    }

    /// Returns the place of the request that goes next, and its slot.
    fn chosen(&self) -> Option<(usize, usize)> {
        if !self.held.has_free() {
            return None;
        }
        // What is about one slot is short, and nothing else may change the slot before it.
        for (place, waiting) in self.waiting.iter().enumerate() {
            if let Some(only) = waiting.wish.only().filter(|only| self.held.is_free(*only)) {
                return Some((place, only));
            }
        }
        let replies = self.waiting.iter().enumerate().filter(|(_, waiting)| waiting.wish.only().is_none());
        let mut order: Vec<(usize, &Waiting)> = replies.collect();
        // Equal ones stay in the order in which they came.
        order.sort_by_key(|(_, waiting)| waiting.rank());
        let wanted = self.wanted();
        // How long those who wait for each slot will take there.
        let mut queued = vec![0_usize; wanted.len()];
        for (place, waiting) in order {
            match self.slot_for(waiting, &wanted, &queued) {
                Choice::Start(slot) => return Some((place, slot)),
                Choice::WaitFor(slot) => {
                    if let Some(queued) = queued.get_mut(slot) {
                        *queued = queued.saturating_add(self.held.reply(waiting.wish.limit()));
                    }
                }
            }
        }
        None
    }

    /// Returns how many waiting requests want each slot: because it holds their stem, or because it is about it.
    fn wanted(&self) -> Vec<usize> {
        let mut wanted = vec![0; self.held.count()];
        for waiting in &self.waiting {
            let nearest = self.nearest(waiting);
            if let Some(wanted) = waiting.wish.only().or(nearest).and_then(|slot| wanted.get_mut(slot)) {
                *wanted += 1;
            }
        }
        wanted
    }

    /// Returns the slot that holds most of a prompt, in use or not, if that is more than a small share.
    fn nearest(&self, waiting: &Waiting) -> Option<usize> {
        let length = waiting.wish.prompt().len();
        let nearest = self.held.choose(Among::All, &waiting.shared, length, &[])?;
        (!is_small(waiting.shared_with(nearest), length)).then_some(nearest)
    }

    /// Decides between the slot that holds most of a prompt and a free one.
    ///
    /// It waits for the former where the tokens that the latter would compute again take longer than the replies before it.
    fn slot_for(&self, waiting: &Waiting, wanted: &[usize], queued: &[usize]) -> Choice {
        let nearest = self.nearest(waiting);
        let mut by_others: Vec<bool> = wanted.iter().map(|count| *count > 0).collect();
        if let Some(slot) = nearest.and_then(|nearest| by_others.get_mut(nearest)) {
            *slot = nearest.and_then(|nearest| wanted.get(nearest)).is_some_and(|count| *count > 1);
        }
        let length = waiting.wish.prompt().len();
        let Some(free) = self.held.choose(Among::Free, &waiting.shared, length, &by_others) else {
            return Choice::WaitFor(usize::MAX);
        };
        let Some(nearest) = nearest else { return Choice::Start(free) };
        let again = waiting.shared_with(nearest).saturating_sub(waiting.shared_with(free));
        let ahead = queued.get(nearest).copied().unwrap_or_default();
        let wait = self.held.rest(nearest).saturating_add(ahead);
        if nearest == free || again <= wait || waiting.is_overdue() {
            Choice::Start(free)
        } else {
            Choice::WaitFor(nearest)
        }
    }
}

enum Choice {
    Start(usize),
    WaitFor(usize),
}
