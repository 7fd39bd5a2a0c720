//! Which session serves a prompt. The only place that decides what is reused.

use crate::chat_model::CacheReport;
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

impl std::fmt::Debug for Slot {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Slot({} units)", self.resident.len())
    }
}

/// How the best slot for a prompt is to be used.
enum Choice {
    /// Nothing fits: open a session.
    Open,
    /// Cut this slot back and go on in it.
    Cut(usize),
    /// This slot's tail is worth keeping: go on in a copy.
    Fork(usize),
}

impl Slots {
    /// Keeps at most `capacity` sessions, at least one.
    pub(crate) fn new(capacity: usize) -> Self {
        Self { slots: Vec::new(), capacity: capacity.max(1), clock: 0 }
    }

    /// Takes the session that shares the longest prefix with `prompt`, cut back to it.
    ///
    /// At least one unit is left to forward, so that there are logits to sample from.
    pub(crate) fn take(&mut self, engine: &dyn Engine, prompt: &[Unit]) -> Result<(Slot, CacheReport)> {
        let Some(reusable) = prompt.len().checked_sub(1) else {
            return Err(Error::new(ErrorKind::Invalid, "the prompt is empty"));
        };
        let mut slot = self.chosen(engine, prompt)?;
        let shared = common_prefix(&slot.resident, prompt);
        let first_difference = (shared < slot.resident.len()).then_some(shared);
        let kept = slot.session.truncate(shared.min(reusable))?;
        slot.resident.truncate(kept);
        self.clock += 1;
        slot.used = self.clock;
        let prompt = prompt.len();
        Ok((slot, CacheReport { prompt, reused: kept, forwarded: prompt - kept, first_difference }))
    }

    /// Copies the session that shares the longest prefix with `prompt`, cut back to it; the slots stay as they are.
    ///
    /// At least one unit is left to forward, as in [`Slots::take`]. The copy is one session more than the capacity.
    pub(crate) fn copy(&self, engine: &dyn Engine, prompt: &[Unit]) -> Result<Box<dyn Session>> {
        let shared = |slot: &&Slot| common_prefix(&slot.resident, prompt);
        let Some(best) = self.slots.iter().max_by_key(shared).filter(|slot| shared(slot) > 0) else {
            return engine.open();
        };
        let mut session = best.session.fork()?;
        session.truncate(shared(&best).min(prompt.len().saturating_sub(1)))?;
        Ok(session)
    }

    /// Puts a slot back after use; the least recently used one leaves when there are too many.
    pub(crate) fn put(&mut self, mut slot: Slot) {
        slot.resident.truncate(slot.session.resident());
        self.slots.push(slot);
        while self.slots.len() > self.capacity {
            self.evict();
        }
    }

    fn chosen(&mut self, engine: &dyn Engine, prompt: &[Unit]) -> Result<Slot> {
        match self.choose(prompt) {
            Choice::Cut(index) => Ok(self.slots.swap_remove(index)),
            Choice::Open => {
                self.make_room();
                Ok(Slot { session: engine.open()?, resident: Vec::new(), used: 0 })
            }
            Choice::Fork(index) => {
                let best = self.slots.swap_remove(index);
                let copy = Slot { session: best.session.fork()?, resident: best.resident.clone(), used: 0 };
                self.slots.push(best);
                self.make_room();
                Ok(copy)
            }
        }
    }

    /// Cutting is free, but throws a tail away. With room for another session the tail is kept; without, it is
    /// kept when more would be lost than reused, for then it is another conversation that merely begins alike.
    fn choose(&self, prompt: &[Unit]) -> Choice {
        let candidates = self.slots.iter().enumerate();
        let rated = candidates.map(|(index, slot)| (common_prefix(&slot.resident, prompt), slot.used, index));
        let Some((shared, _, index)) = rated.max().filter(|&(shared, ..)| shared > 0) else {
            return Choice::Open;
        };
        let lost = self.slots.get(index).map_or(0, |slot| slot.resident.len()) - shared;
        let room = self.slots.len() < self.capacity;
        let foreign = lost > shared && self.capacity > 1;
        match lost > 0 && (room || foreign) {
            true => Choice::Fork(index),
            false => Choice::Cut(index),
        }
    }

    /// A slot is about to be added to those that are here.
    fn make_room(&mut self) {
        while self.slots.len() >= self.capacity {
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
