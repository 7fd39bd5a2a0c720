//! Which session serves a prompt. The only place that decides what is reused.

use crate::chat_model::{CacheReport, MissReason};
use crate::engine::{Engine, Session};
use crate::prompt::{Unit, common_prefix};
use crate::{Error, ErrorKind, Result};

/// Open sessions with what each of them holds.
#[derive(Debug)]
pub(crate) struct Slots {
    slots: Vec<Slot>,
    capacity: usize,
    clock: u64,
}

/// A session and the units it holds. Taken out to be used: one whose call fails is never put back.
pub(crate) struct Slot {
    pub(crate) session: Box<dyn Session>,
    pub(crate) resident: Vec<Unit>,
    used: u64,
}

impl Slot {
    fn fork(&self) -> Result<Self> {
        Ok(Self { session: self.session.fork()?, resident: self.resident.clone(), used: 0 })
    }
}

impl std::fmt::Debug for Slot {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Slot({} units)", self.resident.len())
    }
}

/// How a prompt is best begun.
enum Choice {
    /// Nothing fits: open a session.
    Open,
    /// Cut this slot back and go on in it.
    Cut(usize),
    /// This slot's tail is worth keeping: go on in a copy.
    Fork(usize),
    /// Most of it is held by a generation that runs: go on in a copy of that session.
    ForkHeld(usize),
}

impl Slots {
    /// Keeps at most `capacity` sessions, at least one; those that are taken out count.
    pub(crate) fn new(capacity: usize) -> Self {
        Self { slots: Vec::new(), capacity: capacity.max(1), clock: 0 }
    }

    pub(crate) fn capacity(&self) -> usize {
        self.capacity
    }

    /// Takes a session that holds the longest prefix of `prompt` that any does, cut back to it. `held` are the slots that
    /// are taken out: they are copied from, and stay as they are.
    ///
    /// At least one unit is left to forward, so that there are logits to sample from.
    pub(crate) fn take(
        &mut self,
        engine: &dyn Engine,
        prompt: &[Unit],
        held: &[&Slot],
    ) -> Result<(Slot, CacheReport)> {
        let Some(reusable) = prompt.len().checked_sub(1) else {
            return Err(Error::new(ErrorKind::Invalid, "the prompt is empty"));
        };
        let mut slot = self.chosen(engine, prompt, held)?;
        let shared = common_prefix(&slot.resident, prompt);
        let first_difference = (shared < slot.resident.len()).then_some(shared);
        let wanted = shared.min(reusable);
        let kept = slot.session.truncate(wanted)?;
        slot.resident.truncate(kept);
        self.clock += 1;
        slot.used = self.clock;
        let prompt = prompt.len();
        let miss = (kept < wanted).then_some(MissReason::Rewound);
        Ok((slot, CacheReport { prompt, reused: kept, forwarded: prompt - kept, first_difference, miss }))
    }

    /// Copies the session that shares the longest prefix with `prompt`, cut back to it; the slots stay as they are.
    ///
    /// At least one unit is left to forward, as in [`Slots::take`]. The copy is one session more than the capacity.
    pub(crate) fn copy(
        &self,
        engine: &dyn Engine,
        prompt: &[Unit],
        held: &[&Slot],
    ) -> Result<Box<dyn Session>> {
        let shared = |slot: &&Slot| common_prefix(&slot.resident, prompt);
        let all = self.slots.iter().chain(held.iter().copied());
        let Some(best) = all.max_by_key(shared).filter(|slot| shared(slot) > 0) else {
            return engine.open();
        };
        let mut session = best.session.fork()?;
        session.truncate(shared(&best).min(prompt.len().saturating_sub(1)))?;
        Ok(session)
    }

    /// Says whether one of the prompts that are being computed (`coming`) begins more like `prompt` than what any session
    /// holds: whoever waits for it goes on in a copy.
    pub(crate) fn is_worth_waiting<'a>(
        &self,
        prompt: &[Unit],
        held: &[&Slot],
        mut coming: impl Iterator<Item = &'a [Unit]>,
    ) -> bool {
        let all = self.slots.iter().chain(held.iter().copied());
        let now = all.map(|slot| common_prefix(&slot.resident, prompt)).max().unwrap_or(0);
        coming.any(|later| common_prefix(later, prompt) > now)
    }

    /// Puts a slot back after use, while `held` others are taken out; the least recently used one leaves when there are
    /// too many.
    pub(crate) fn put(&mut self, mut slot: Slot, held: usize) {
        slot.resident.truncate(slot.session.resident());
        self.slots.push(slot);
        while self.slots.len() + held > self.capacity {
            self.evict();
        }
    }

    fn chosen(&mut self, engine: &dyn Engine, prompt: &[Unit], held: &[&Slot]) -> Result<Slot> {
        match self.choose(prompt, held) {
            Choice::Cut(index) => Ok(self.slots.swap_remove(index)),
            Choice::Open => {
                self.make_room(held.len());
                Ok(Slot { session: engine.open()?, resident: Vec::new(), used: 0 })
            }
            Choice::Fork(index) => {
                let best = self.slots.swap_remove(index);
                let copy = best.fork()?;
                self.slots.push(best);
                self.make_room(held.len());
                Ok(copy)
            }
            Choice::ForkHeld(index) => {
                self.make_room(held.len());
                let gone = || Error::new(ErrorKind::Backend, "a running session is gone");
                held.get(index).ok_or_else(gone)?.fork()
            }
        }
    }

    /// Cutting is free, but throws a tail away. With room for another session the tail is kept; without, it is
    /// kept when more would be lost than reused, for then it is another conversation that merely begins alike.
    fn choose(&self, prompt: &[Unit], held: &[&Slot]) -> Choice {
        let shares = |slot: &Slot| common_prefix(&slot.resident, prompt);
        let running = held.iter().enumerate().map(|(index, slot)| (shares(slot), index)).max();
        let candidates = self.slots.iter().enumerate();
        let idle = candidates.map(|(index, slot)| (shares(slot), slot.used, index)).max();
        match (idle, running) {
            (idle, Some((shared, index))) if shared > idle.map_or(0, |(shared, ..)| shared) => {
                Choice::ForkHeld(index)
            }
            (Some((shared, _, index)), _) if shared > 0 => self.cut_or_fork(index, shared, held.len()),
            _ => Choice::Open,
        }
    }

    fn cut_or_fork(&self, index: usize, shared: usize, held: usize) -> Choice {
        let lost = self.slots.get(index).map_or(0, |slot| slot.resident.len()) - shared;
        let room = self.slots.len() + held < self.capacity;
        let foreign = lost > shared && self.slots.len() > 1;
        match lost > 0 && (room || foreign) {
            true => Choice::Fork(index),
            false => Choice::Cut(index),
        }
    }

    /// A slot is about to be added to those that are here, while `held` others are taken out.
    fn make_room(&mut self, held: usize) {
        while !self.slots.is_empty() && self.slots.len() + held >= self.capacity {
            self.evict();
        }
    }

    fn evict(&mut self) {
        let oldest = self.slots.iter().enumerate().min_by_key(|(_, slot)| slot.used);
        if let Some((index, _)) = oldest {
            self.slots.swap_remove(index);
        }
    }
}
