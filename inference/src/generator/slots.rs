//! Which session serves a prompt. The only place that decides what is reused.

use alloquy_core::prompt::{Unit, common_prefix};
use alloquy_core::report::{CacheReport, MissReason};
use alloquy_core::{Error, ErrorKind, Result};
use alloquy_engine::decoder::snapshot::{Beginning, Reading};
use alloquy_engine::decoder::{
    CacheStatistics, Snapshot, SnapshotOrigin, SnapshotRefusal, SnapshotSource, StateReader,
};
use alloquy_engine::{Engine, Session};

mod computed;
mod held;
mod shortened;
#[cfg(test)]
mod stand_in;

use computed::Computed;
use held::Held;

/// How much an engine keeps for prompts to come: every branch and conversation that it has room for.
///
/// ```
/// use alloquy_inference::CacheBudget;
///
/// let budget = CacheBudget { bytes: 8 << 30, ..CacheBudget::default() };
/// assert_eq!(budget.sessions, 32);
/// ```
///
/// ### Why two numbers?
/// Memory is what a KV cache costs, so that bytes are what is to be limited. A model that does not say how many it takes is
/// limited by the number alone, and whoever looks for a prompt compares it with what each session holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheBudget {
    /// How many KV caches there may be, at least one.
    pub sessions: usize,
    /// How many bytes they may take together, as far as sessions say so ([`Session::bytes`](alloquy_engine::Session::bytes)). One is
    /// kept however large it is, and those in use are never dropped.
    pub bytes: usize,
}

impl Default for CacheBudget {
    /// 32 sessions and 2 GiB.
    fn default() -> Self {
        Self { sessions: 32, bytes: 2 << 30 }
    }
}

impl From<usize> for CacheBudget {
    /// So many sessions, and the default for the rest.
    fn from(sessions: usize) -> Self {
        Self { sessions, ..Self::default() }
    }
}

/// Open sessions with what each of them holds.
#[derive(Debug)]
pub(crate) struct Slots {
    slots: Vec<Slot>,
    budget: CacheBudget,
    clock: u64,
    statistics: CacheStatistics,
    computed: Computed,
}

/// A session and the units it holds. Taken out to be used: one whose call fails is never put back.
pub(crate) struct Slot {
    pub(crate) session: Box<dyn Session>,
    pub(crate) resident: Held,
    used: u64,
    /// Whether the session that it was restored from held something else behind all this. Nothing was computed since.
    went_on: bool,
    /// How many of the bytes that its session has copied are counted.
    counted: usize,
}

impl Slot {
    fn new(session: Box<dyn Session>, resident: Held) -> Self {
        Self { session, resident, used: 0, counted: 0, went_on: false }
    }

    fn fork(&self) -> Result<Self> {
        Ok(Self { went_on: self.went_on, ..Self::new(self.session.fork()?, self.resident.clone()) })
    }

    /// Where a prompt that shares so many units differs from what is held, or was held before a restart.
    fn first_difference(&self, shared: usize) -> Option<usize> {
        (shared < self.resident.len() || self.went_on).then_some(shared)
    }

    /// How many bytes its session has copied that are not counted.
    fn uncounted(&self) -> usize {
        self.session.copied().saturating_sub(self.counted)
    }
}

impl std::fmt::Debug for Slot {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Slot({} units)", self.resident.len())
    }
}

/// A prompt, with a number for each beginning of it that is not empty.
struct Sought<'a> {
    units: &'a [Unit],
    beginnings: Vec<u64>,
}

/// How a prompt is best begun.
enum Choice {
    /// Nothing fits: open a session.
    Open,
    /// Cut this slot back and go on in it.
    Cut(usize),
    /// This slot's tail is worth keeping: go on in a copy.
    Fork(usize),
    /// So it is, and there is no room: the copy takes the place of a slot that holds less of its own.
    Replace { copied: usize, dropped: usize },
    /// Most of it is held by a generation that runs: go on in a copy of that session.
    ForkHeld(usize),
}

impl Slots {
    /// Keeps as much as the budget allows; what is taken out counts.
    pub(crate) fn new(budget: CacheBudget) -> Self {
        let budget = CacheBudget { sessions: budget.sessions.max(1), ..budget };
        Self {
            slots: Vec::new(),
            budget,
            clock: 0,
            statistics: CacheStatistics::default(),
            computed: Computed::default(),
        }
    }

    /// How many sessions there may be.
    pub(crate) fn capacity(&self) -> usize {
        self.budget.sessions
    }

    /// Returns what there is, with `held` slots taken out.
    pub(crate) fn statistics(&self, held: &[&Slot]) -> CacheStatistics {
        let mut statistics = self.statistics;
        statistics.sessions = self.slots.len() + held.len();
        statistics.bytes = self.bytes(held);
        statistics.copied += held.iter().map(|slot| slot.uncounted()).sum::<usize>();
        statistics
    }

    fn bytes(&self, held: &[&Slot]) -> usize {
        let all = self.slots.iter().chain(held.iter().copied());
        all.map(|slot| slot.session.bytes()).sum()
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
        held.iter().for_each(|slot| self.computed.note(&slot.resident, engine.tokenizer()));
        let prompt = self.sought(prompt, held);
        let respelled = self.computed.is_respelled(prompt.units, &prompt.beginnings, engine.tokenizer());
        self.drop_shortened(&prompt);
        let mut slot = self.chosen(engine, &prompt, held)?;
        // Numbers chose the session; what is kept of it is compared.
        let shared = common_prefix(&slot.resident, prompt.units);
        // What was computed differs there, even where it was cut off since.
        let went_on = || self.computed.went_on(&prompt.beginnings, shared).then_some(shared);
        let first_difference = slot.first_difference(shared).or_else(went_on);
        slot.went_on = false;
        let wanted = shared.min(reusable);
        let kept = slot.session.truncate(wanted)?;
        slot.resident.truncate(kept);
        self.clock += 1;
        slot.used = self.clock;
        let miss = self.miss(&prompt.beginnings, wanted, kept).or(respelled.then_some(MissReason::Respelled));
        let prompt = prompt.units.len();
        self.statistics.reused += kept;
        self.statistics.forwarded += prompt - kept;
        let mut report = CacheReport::new(prompt, kept);
        report.first_difference = first_difference;
        report.miss = miss;
        Ok((slot, report))
    }

    /// Returns the session that shares the longest prefix with `prompt`, and how long that is; `None` when none shares any.
    fn nearest<'a>(&'a self, prompt: &[Unit], held: &[&'a Slot]) -> Option<(&'a Slot, usize)> {
        let all = self.slots.iter().chain(held.iter().copied());
        let shared = all.map(|slot| (slot, common_prefix(&slot.resident, prompt)));
        shared.max_by_key(|(_, shared)| *shared).filter(|(_, shared)| *shared > 0)
    }

    /// Writes down what is computed of `prompt`: no unit behind the first that differs, which is another conversation's.
    pub(crate) fn snapshot(
        &self,
        origin: SnapshotOrigin,
        prompt: &[Unit],
        held: &[&Slot],
    ) -> Result<Snapshot> {
        let none = || Error::new(ErrorKind::NotFound, "no session holds anything of this conversation");
        let (slot, shared) = self.nearest(prompt, held).ok_or_else(none)?;
        let units = slot.resident.get(..shared.min(slot.session.resident())).unwrap_or_default();
        // What stands behind the prompt's end is the answer to it, and no difference.
        let went_on = slot.first_difference(shared).is_some_and(|place| place < prompt.len());
        Snapshot::of(origin, Beginning { units: units.to_vec(), went_on }, &*slot.session)
    }

    /// Adds a session that goes on from a snapshot, unless one holds all of it already. Those in use stay, so that there may
    /// be no room for it.
    pub(crate) fn restore(
        &mut self,
        engine: &dyn Engine,
        mut snapshot: Reading<SnapshotSource>,
        held: &[&Slot],
    ) -> Result<usize, SnapshotRefusal> {
        let Beginning { units, went_on } = snapshot.beginning().clone();
        let count = units.len();
        if self.nearest(&units, held).is_none_or(|(_, shared)| shared < count) {
            if held.len() >= self.budget.sessions {
                return Err(Error::new(ErrorKind::Busy, "every session is in use").into());
            }
            let mut session = engine.open()?;
            let restored = session.restore(&units, &mut StateReader::new(&mut snapshot));
            // What a session says of damaged bytes is not the reason.
            snapshot.finish()?;
            restored?;
            self.clock += 1;
            self.put(engine, Slot { used: self.clock, went_on, ..Slot::new(session, units.into()) }, held);
        }
        Ok(count)
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
        let Some((best, shared)) = self.nearest(prompt, held) else {
            return engine.open();
        };
        let mut session = best.session.fork()?;
        session.truncate(shared.min(prompt.len().saturating_sub(1)))?;
        Ok(session)
    }

    /// Numbers the beginnings of a prompt: those that a session holds have numbers already.
    fn sought<'a>(&self, units: &'a [Unit], held: &[&Slot]) -> Sought<'a> {
        let mut slots: Vec<&Slot> = self.slots.iter().chain(held.iter().copied()).collect();
        slots.sort_by_key(|slot| std::cmp::Reverse(slot.used));
        let mut beginnings = Vec::new();
        for slot in slots {
            // Of many that hold most of it, such as branches of one conversation, one is compared unit by unit.
            if beginnings.len() * 2 >= units.len() && !beginnings.is_empty() {
                break;
            }
            let shared = common_prefix(&slot.resident, units);
            if shared > beginnings.len() {
                beginnings = slot.resident.beginnings().get(..shared).unwrap_or_default().to_vec();
            }
        }
        Sought { units, beginnings: held::beginnings_of(beginnings, units) }
    }

    /// Why less is kept than was once computed, where it is.
    fn miss(&self, beginnings: &[u64], wanted: usize, kept: usize) -> Option<MissReason> {
        if kept < wanted {
            return Some(MissReason::Rewound);
        }
        let reusable = beginnings.len().saturating_sub(1);
        let computed = self.computed.longest(beginnings).min(reusable);
        (kept < computed).then_some(MissReason::NotHeld)
    }

    /// Says whether one of the prompts that are being computed (`coming`) begins more like `prompt` than what any session
    /// holds: whoever waits for it goes on in a copy.
    pub(crate) fn is_worth_waiting<'a>(
        &self,
        prompt: &[Unit],
        held: &[&Slot],
        coming: impl Iterator<Item = &'a [Unit]>,
    ) -> bool {
        let later = coming.map(|later| common_prefix(later, prompt)).max().unwrap_or(0);
        later > 0 && self.nearest(prompt, held).is_none_or(|(_, now)| later > now)
    }

    /// Puts a slot back after use, while `held` others are taken out; the least recently used ones leave when there are too
    /// many, or they are too large.
    pub(crate) fn put(&mut self, engine: &dyn Engine, mut slot: Slot, held: &[&Slot]) {
        slot.resident.truncate(slot.session.resident());
        self.statistics.copied += slot.uncounted();
        slot.counted = slot.session.copied();
        self.computed.note(&slot.resident, engine.tokenizer());
        self.slots.push(slot);
        while self.slots.len() + held.len() > self.budget.sessions {
            self.evict();
        }
        while self.slots.len() > 1 && self.bytes(held) > self.budget.bytes {
            self.evict();
        }
    }

    /// Drops what holds the conversation of a prompt with more of its beginning than is shown now: it is not asked again. One
    /// that shares the longest beginning with the prompt stays, to be cut back.
    fn drop_shortened(&mut self, prompt: &Sought<'_>) {
        let shares = |slot: &Slot| slot.resident.shared(&prompt.beginnings);
        let longest = self.slots.iter().map(shares).max().unwrap_or(0);
        let before = self.slots.len();
        self.slots.retain(|slot| {
            let shared = shares(slot);
            shared == longest && shared > 0 || !shortened::is_of(&slot.resident, prompt.units, shared)
        });
        self.statistics.evicted += before - self.slots.len();
    }

    fn chosen(&mut self, engine: &dyn Engine, prompt: &Sought<'_>, held: &[&Slot]) -> Result<Slot> {
        let gone = || Error::new(ErrorKind::Backend, "a session is gone");
        match self.choose(prompt, held) {
            Choice::Cut(index) => {
                self.statistics.continued += 1;
                Ok(self.slots.swap_remove(index))
            }
            Choice::Open => {
                self.statistics.opened += 1;
                self.make_room(held.len());
                Ok(Slot::new(engine.open()?, Held::default()))
            }
            Choice::Fork(index) => {
                let copy = self.slots.get(index).ok_or_else(gone)?.fork()?;
                self.statistics.forked += 1;
                self.make_room(held.len());
                Ok(copy)
            }
            Choice::Replace { copied, dropped } => {
                let copy = self.slots.get(copied).ok_or_else(gone)?.fork()?;
                self.slots.swap_remove(dropped);
                self.statistics.forked += 1;
                self.statistics.evicted += 1;
                Ok(copy)
            }
            Choice::ForkHeld(index) => {
                let copy = held.get(index).ok_or_else(gone)?.fork()?;
                self.statistics.forked += 1;
                self.make_room(held.len());
                Ok(copy)
            }
        }
    }

    /// Cutting is free, but throws a tail away. With room for another session the tail is kept; without, it is
    /// kept when more would be lost than reused, for then it is another conversation that merely begins alike, and when
    /// another session can go of which less would be lost, because others hold most of it too.
    fn choose(&self, prompt: &Sought<'_>, held: &[&Slot]) -> Choice {
        let shares = |slot: &Slot| slot.resident.shared(&prompt.beginnings);
        let running = held.iter().enumerate().map(|(index, slot)| (shares(slot), index)).max();
        let candidates = self.slots.iter().enumerate();
        let idle = candidates.map(|(index, slot)| (shares(slot), slot.used, index)).max();
        match (idle, running) {
            (idle, Some((shared, index))) if shared > idle.map_or(0, |(shared, ..)| shared) => {
                Choice::ForkHeld(index)
            }
            (Some((shared, _, index)), _) if shared > 0 => self.cut_or_fork(prompt, index, shared, held),
            _ => Choice::Open,
        }
    }

    fn cut_or_fork(&self, prompt: &Sought<'_>, index: usize, shared: usize, held: &[&Slot]) -> Choice {
        let Some(slot) = self.slots.get(index) else { return Choice::Open };
        let lost = slot.resident.len() - shared;
        let room = self.slots.len() + held.len() < self.budget.sessions
            && self.bytes(held) + slot.session.bytes() <= self.budget.bytes;
        let foreign = lost > shared && self.slots.len() > 1;
        match lost > 0 {
            false => Choice::Cut(index),
            true if shortened::is_of(&slot.resident, prompt.units, shared) => Choice::Cut(index),
            true if room || foreign => Choice::Fork(index),
            true => self.cut_or_replace(index, lost, held),
        }
    }

    fn cut_or_replace(&self, index: usize, lost: usize, held: &[&Slot]) -> Choice {
        let others = (0..self.slots.len()).filter(|other| *other != index);
        let least = others.map(|other| (self.own(other), other)).min();
        let too_large = |dropped: usize| {
            let bytes = |index: usize| self.slots.get(index).map_or(0, |slot| slot.session.bytes());
            self.bytes(held) + bytes(index) > self.budget.bytes + bytes(dropped)
        };
        match least {
            Some((own, dropped)) if own < lost && !too_large(dropped) => {
                Choice::Replace { copied: index, dropped }
            }
            _ => Choice::Cut(index),
        }
    }

    /// How many units of a slot no other slot holds.
    fn own(&self, index: usize) -> usize {
        let Some(slot) = self.slots.get(index) else { return 0 };
        let others = self.slots.iter().enumerate().filter(|(other, _)| *other != index);
        let shared = others.map(|(_, other)| other.resident.shared(slot.resident.beginnings())).max();
        slot.resident.len() - shared.unwrap_or(0)
    }

    /// Says whether another slot holds all that this one does.
    fn is_held_elsewhere(&self, index: usize) -> bool {
        let Some(Slot { resident, .. }) = self.slots.get(index) else { return false };
        let holds = |other: &Slot| other.resident.shared(resident.beginnings()) == resident.len();
        let mut others = self.slots.iter().enumerate().filter(|(other, _)| *other != index);
        resident.is_empty() || others.any(|(_, other)| holds(other))
    }

    /// A slot is about to be added to those that are here, while `held` others are taken out.
    fn make_room(&mut self, held: usize) {
        while !self.slots.is_empty() && self.slots.len() + held >= self.budget.sessions {
            self.evict();
        }
    }

    /// Drops a slot: one of which others hold everything, or else the least recently used.
    fn evict(&mut self) {
        let slots = self.slots.iter().enumerate();
        let first = slots.map(|(index, slot)| (!self.is_held_elsewhere(index), slot.used, index)).min();
        if let Some((.., index)) = first {
            self.slots.swap_remove(index);
            self.statistics.evicted += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::stand_in::Idle;
    use super::*;
    use alloquy_core::media::Digest;
    use alloquy_engine::Cancel;

    #[test]
    fn while_every_session_is_in_use_nothing_is_restored() -> Result<()> {
        let engine = Idle::new();
        let mut slots = Slots::new(CacheBudget::from(1));
        let (slot, _) = slots.take(&engine, &[Unit::Token(1), Unit::Token(2)], &[])?;
        let (mut session, units) = (engine.open()?, [Unit::Token(3)]);
        session.forward(&units, &Cancel::default())?;
        let origin = SnapshotOrigin::new(Digest::of(b"model"), Digest::of(b"template"));
        let snapshot = Snapshot::take(origin, &units, &*session)?;
        let kept = || Reading::of(snapshot.bytes().to_vec().into());
        let refused = kept().and_then(|kept| slots.restore(&engine, kept, &[&slot]));
        assert_eq!(refused, Err(SnapshotRefusal::Engine { message: "every session is in use".to_owned() }));
        slots.put(&engine, slot, &[]);
        assert_eq!(kept().and_then(|kept| slots.restore(&engine, kept, &[])), Ok(1));
        assert_eq!(slots.statistics(&[]).sessions, 1);
        Ok(())
    }
}
