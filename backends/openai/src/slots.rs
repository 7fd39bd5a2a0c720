//! The slots of a llama.cpp server: how many requests it is sent at once, in which order, and to which slot each goes.
//!
//! [`held`] knows what the slots hold, and [`line`] the order. Here requests wait, and free their slot when they end.

mod held;
mod line;
#[cfg(test)]
mod tests;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use alloquy_core::media::Digest;
use alloquy_core::tokenizer::TokenId;
use tokio::sync::oneshot;
use tokio::time::timeout;

use held::Started;
use line::Line;
pub(crate) use line::Wish;

/// How often it is decided again whether to wait for the slot with the stem.
const REVIEW: Duration = Duration::from_secs(1);

/// Where the requests of one server wait for a slot.
#[derive(Debug)]
pub(crate) struct SlotQueue {
    state: Mutex<State>,
    /// Which model the slots are of, and how it runs.
    identity: Digest,
}

#[derive(Debug)]
struct State {
    line: Line,
    calls: Vec<(u64, oneshot::Sender<Lease>)>,
}

impl SlotQueue {
    pub(crate) fn new(slots: usize, identity: Digest) -> Arc<Self> {
        let state = State { line: Line::new(slots.max(1)), calls: Vec::new() };
        Arc::new(Self { state: Mutex::new(state), identity })
    }

    pub(crate) fn identity(&self) -> Digest {
        self.identity
    }

    /// Waits for a slot. A dropped future leaves the queue.
    pub(crate) async fn take(self: &Arc<Self>, wish: Wish) -> Lease {
        loop {
            let (caller, mut called) = oneshot::channel();
            let ticket = self.arrive(wish.clone(), caller);
            let _waiting = Ticket { queue: self, ticket };
            self.call();
            let lease = loop {
                match timeout(REVIEW, &mut called).await {
                    Ok(lease) => break lease,
                    // A running reply may have become longer than expected.
                    Err(_) => self.call(),
                }
            };
            // The other side is dropped only when the ticket is.
            if let Ok(lease) = lease {
                return lease;
            }
        }
    }

    /// Returns the slot that holds the longest prefix of a prompt, with the length of that.
    pub(crate) fn longest(&self, prompt: &[TokenId]) -> Option<(usize, usize)> {
        self.lock().line.held.longest(prompt)
    }

    /// Returns how many leading tokens of a prompt a slot holds, and whether other ones follow there.
    pub(crate) fn shared_with(&self, slot: usize, prompt: &[TokenId]) -> (usize, bool) {
        let state = self.lock();
        let shared = state.line.held.shared_with(slot, prompt);
        (shared, shared < prompt.len() && shared < state.line.held.length(slot))
    }

    fn arrive(&self, wish: Wish, caller: oneshot::Sender<Lease>) -> u64 {
        let mut state = self.lock();
        let ticket = state.line.arrive(wish);
        state.calls.push((ticket, caller));
        ticket
    }

    /// Calls those who may start.
    fn call(self: &Arc<Self>) {
        while let Some((caller, lease)) = self.next() {
            // A lease that nobody receives frees its slot, which the next round of the loop gives to another one. Nothing is
            // locked here.
            drop(caller.send(lease));
        }
    }

    fn next(self: &Arc<Self>) -> Option<(oneshot::Sender<Lease>, Lease)> {
        let mut state = self.lock();
        let next = state.line.next()?;
        let Some(place) = state.calls.iter().position(|(ticket, _)| *ticket == next.ticket) else {
            state.line.unlock(next.started.slot);
            return None;
        };
        let (_, caller) = state.calls.swap_remove(place);
        let Started { slot, said, .. } = next.started;
        Some((
            caller,
            Lease { queue: Arc::clone(self), slot, said, kept: next.kept, adapter: next.adapter, at: None },
        ))
    }

    fn end(self: &Arc<Self>, slot: usize, at: Option<usize>, ids: Option<Vec<TokenId>>) {
        let mut state = self.lock();
        match (at, ids) {
            (_, None) => state.line.unlock(slot),
            // The server has fewer slots than it had, and has chosen another one.
            (Some(at), Some(ids)) if at != slot => {
                state.line.end(slot, Vec::new());
                state.line.set(at, ids);
            }
            (_, Some(ids)) => state.line.end(slot, ids),
        }
        drop(state);
        self.call();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A place in the queue.
struct Ticket<'q> {
    queue: &'q Arc<SlotQueue>,
    ticket: u64,
}

impl Drop for Ticket<'_> {
    fn drop(&mut self) {
        let mut state = self.queue.lock();
        state.line.leave(self.ticket);
        state.calls.retain(|(ticket, _)| *ticket != self.ticket);
        drop(state);
        // Another request may have waited for the slot that this one was about.
        self.queue.call();
    }
}

/// A slot that one request has. It is freed when this is dropped.
#[derive(Debug)]
pub(crate) struct Lease {
    queue: Arc<SlotQueue>,
    slot: usize,
    said: Arc<AtomicUsize>,
    /// What the slot holds at least.
    kept: Option<Vec<TokenId>>,
    adapter: Option<TokenId>,
    /// The slot that the server names.
    at: Option<usize>,
}

impl Lease {
    /// Returns the number of the slot.
    pub(crate) fn slot(&self) -> usize {
        self.slot
    }

    /// Counts a token of the reply.
    pub(crate) fn count_token(&self) {
        self.said.fetch_add(1, Ordering::Relaxed);
    }

    /// Notes which slot the server has used.
    pub(crate) fn note(&mut self, slot: usize) {
        self.at = Some(slot);
    }

    /// Frees the slot, which holds these tokens now.
    pub(crate) fn end(mut self, ids: Vec<TokenId>) {
        self.kept = Some(self.adapter.into_iter().chain(ids).collect());
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.queue.end(self.slot, self.at, self.kept.take());
    }
}
