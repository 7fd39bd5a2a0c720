//! Which session serves a prompt. The only place that decides what is reused.
//!
//! A slot is a session with the units that it has computed. For each prompt, the slot with the longest common prefix is cut
//! back to that prefix, or copied where its tail is worth keeping:
//!
//! ```text
//! slot A:  system  question 1  answer 1  question 2  answer 2
//! prompt:  system  question 1  answer 1  question 3           another branch of the same conversation
//! slot B:  system  question 1  answer 1                       a copy of A, cut back; A keeps its tail
//! ```
//!
//! Prefixes are compared by hashes, one for each length, so that a prompt is hashed once and each slot is compared in a few
//! steps. What is kept of the chosen session is compared unit by unit.
//!
//! A session belongs to the owner of its first prompt. Prompts of others share nothing with it, neither in fact nor in reports: how much
//! of a prompt is cached would say what others have asked.

use alloquy_core::media::Digest;
use alloquy_core::report::{CacheReport, MissReason};
use alloquy_core::{Error, ErrorKind, Result};
use alloquy_engine::decoder::snapshot::{Beginning, Reading};
use alloquy_engine::decoder::{
    CacheStatistics, Snapshot, SnapshotError, SnapshotIdentity, SnapshotSource, StateReader,
};
use alloquy_engine::{Engine, Session};

mod cached_units;
mod computed;
mod shortened;
mod slot;
#[cfg(test)]
mod stand_in;

use super::cache_budget::CacheBudget;
pub(crate) use cached_units::{CachedUnits, OwnedPrompt};
use computed::Computed;
pub(crate) use slot::Slot;

/// The open sessions that no generation uses, with what each of them holds.
#[derive(Debug)]
pub(crate) struct Slots {
    slots: Vec<Slot>,
    budget: CacheBudget,
    clock: u64,
    statistics: CacheStatistics,
    computed: Computed,
}

/// A prompt with the hash of each of its prefixes, the shortest first.
struct HashedPrompt<'a> {
    asked: OwnedPrompt<'a>,
    prefix_hashes: Vec<u64>,
}

impl HashedPrompt<'_> {
    /// Returns whether it is the conversation of a slot with a part left out after their common prefix.
    fn shortens(&self, slot: &Slot, shared: usize) -> bool {
        slot.cached.owned().owner == self.asked.owner
            && shortened::is_of(&slot.cached, self.asked.units, shared)
    }
}

/// Where a prompt is computed.
enum Choice {
    /// No session shares a prefix: open one.
    Open,
    /// Cut this slot back and continue in it.
    Cut(usize),
    /// This slot's tail is worth keeping: continue in a copy.
    Fork(usize),
    /// The tail is worth keeping and there is no room: the copy replaces a slot that would lose less.
    Replace { copied: usize, dropped: usize },
    /// A running generation has the longest prefix: continue in a copy of its session.
    ForkInUse(usize),
}

impl Slots {
    /// Keeps as much as the budget allows; slots that are in use count.
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

    /// Returns how many sessions there may be.
    pub(crate) fn capacity(&self) -> usize {
        self.budget.sessions
    }

    /// Returns the statistics of all slots, those `in_use` included.
    pub(crate) fn statistics(&self, in_use: &[&Slot]) -> CacheStatistics {
        let mut statistics = self.statistics;
        statistics.sessions = self.slots.len() + in_use.len();
        statistics.bytes = self.bytes(in_use);
        statistics.copied += in_use.iter().map(|slot| slot.uncounted()).sum::<usize>();
        statistics
    }

    fn bytes(&self, in_use: &[&Slot]) -> usize {
        let all = self.slots.iter().chain(in_use.iter().copied());
        all.map(|slot| slot.session.bytes()).sum()
    }

    /// Takes out a session that holds the longest prefix of `prompt`, cut back to it. Slots `in_use` may be copied, and do
    /// not change.
    ///
    /// At least one unit is left to forward, so that there are logits to sample from.
    pub(crate) fn take(
        &mut self,
        engine: &dyn Engine,
        prompt: OwnedPrompt<'_>,
        in_use: &[&Slot],
    ) -> Result<(Slot, CacheReport)> {
        let Some(reusable) = prompt.units.len().checked_sub(1) else {
            return Err(Error::new(ErrorKind::Invalid, "the prompt is empty"));
        };
        for slot in in_use {
            self.computed.note(&slot.cached, engine.tokenizer());
        }
        let prompt = self.hashed(prompt, in_use);
        let retokenized =
            self.computed.is_retokenized(prompt.asked, &prompt.prefix_hashes, engine.tokenizer());
        self.drop_shortened(&prompt);
        let mut slot = self.chosen(engine, &prompt, in_use)?;

        // Hashes chose the session, and two prefixes may have the same hash: what is kept is compared.
        let shared = slot.cached.owned().shared(prompt.asked);
        let mut first_difference = slot.first_difference(shared);
        // The units that differ may have been computed and cut off since.
        if first_difference.is_none() && self.computed.is_followed(&prompt.prefix_hashes, shared) {
            first_difference = Some(shared);
        }
        slot.was_longer = false;

        // A session may keep less than asked: some models can only go back to certain places.
        let wanted = shared.min(reusable);
        let kept = slot.session.truncate(wanted)?;
        slot.cached.truncate(kept);
        self.clock += 1;
        slot.used = self.clock;

        let miss = self.miss(&prompt.prefix_hashes, wanted, kept);
        let prompt = prompt.asked.units.len();
        self.statistics.cached += kept;
        self.statistics.computed += prompt - kept;
        let mut report = CacheReport::new(prompt, kept);
        report.first_difference = first_difference;
        report.miss = miss.or(retokenized.then_some(MissReason::Retokenized));
        Ok((slot, report))
    }

    /// Returns the session with the longest common prefix with `prompt`, and its length; `None` when no session shares any.
    fn nearest<'a>(&'a self, prompt: OwnedPrompt<'_>, in_use: &[&'a Slot]) -> Option<(&'a Slot, usize)> {
        let all = self.slots.iter().chain(in_use.iter().copied());
        let shared = all.map(|slot| (slot, slot.cached.owned().shared(prompt)));
        shared.max_by_key(|(_, shared)| *shared).filter(|(_, shared)| *shared > 0)
    }

    /// Returns how many of the first units of `prompt` a session holds, as far as it could continue from them.
    pub(crate) fn held(&self, prompt: OwnedPrompt<'_>, in_use: &[&Slot]) -> usize {
        match self.nearest(prompt, in_use) {
            Some((slot, shared)) => slot.session.reaches(shared),
            None => 0,
        }
    }

    /// Saves what is computed of `prompt`, up to the first unit that differs: the rest belongs to another conversation.
    pub(crate) fn snapshot(
        &self,
        origin: SnapshotIdentity,
        prompt: OwnedPrompt<'_>,
        in_use: &[&Slot],
    ) -> Result<Snapshot> {
        let Some((slot, shared)) = self.nearest(prompt, in_use) else {
            let message = "no session holds anything of this conversation";
            return Err(Error::new(ErrorKind::NotFound, message));
        };
        // Some models can only be saved where they could go back to.
        let length = slot.session.reaches(shared);
        if length == 0 {
            let message = "the model keeps no state of this conversation";
            return Err(Error::new(ErrorKind::NotFound, message));
        }
        let units = slot.cached.get(..length).unwrap_or_default();
        // Units after the prompt's end are the reply to it, and no difference.
        let was_longer = slot.first_difference(shared).is_some_and(|place| place < prompt.units.len());
        Snapshot::of(origin, Beginning { units: units.to_vec(), was_longer }, &*slot.session)
    }

    /// Adds a session of an owner that continues from a snapshot, unless a session holds all of it already. Sessions in use stay, so
    /// there may be no room for it.
    pub(crate) fn restore(
        &mut self,
        engine: &dyn Engine,
        mut snapshot: Reading<SnapshotSource>,
        owner: Option<Digest>,
        in_use: &[&Slot],
    ) -> Result<usize, SnapshotError> {
        let Beginning { units, was_longer } = snapshot.beginning().clone();
        let count = units.len();
        let held = OwnedPrompt { units: &units, owner };
        if self.nearest(held, in_use).is_some_and(|(_, shared)| shared == count) {
            return Ok(count);
        }
        if in_use.len() >= self.budget.sessions {
            return Err(Error::new(ErrorKind::Busy, "every session is in use").into());
        }
        let mut session = engine.open()?;
        let restored = session.restore(&units, &mut StateReader::new(&mut snapshot));
        // Damaged bytes are the reason, whatever the session reports of them.
        snapshot.finish()?;
        restored?;
        self.clock += 1;
        let slot =
            Slot { used: self.clock, was_longer, ..Slot::new(session, CachedUnits::of_owner(owner, units)) };
        self.put(engine, slot, in_use);
        Ok(count)
    }

    /// Copies the session with the longest common prefix with `prompt`, cut back to it. The slots do not change.
    ///
    /// At least one unit is left to forward, as in [`Slots::take`]. The copy is one session more than the capacity.
    pub(crate) fn copy(
        &self,
        engine: &dyn Engine,
        prompt: OwnedPrompt<'_>,
        in_use: &[&Slot],
    ) -> Result<Box<dyn Session>> {
        let Some((best, shared)) = self.nearest(prompt, in_use) else {
            return engine.open();
        };
        let mut session = best.session.fork()?;
        session.truncate(shared.min(prompt.units.len().saturating_sub(1)))?;
        Ok(session)
    }

    /// Hashes the prefixes of a prompt. Sessions have the hashes of those that they hold.
    fn hashed<'a>(&self, asked: OwnedPrompt<'a>, in_use: &[&Slot]) -> HashedPrompt<'a> {
        let mut slots: Vec<&Slot> = self.slots.iter().chain(in_use.iter().copied()).collect();
        slots.sort_by_key(|slot| std::cmp::Reverse(slot.used));
        let mut known: &[u64] = &[];
        for slot in slots {
            // Many slots may hold most of it, such as branches of one conversation: one of them is compared unit by unit.
            if !known.is_empty() && known.len() * 2 >= asked.units.len() {
                break;
            }
            let shared = slot.cached.owned().shared(asked);
            if shared > known.len() {
                known = slot.cached.prefix_hashes().get(..shared).unwrap_or_default();
            }
        }
        HashedPrompt { asked, prefix_hashes: asked.prefix_hashes(known.to_vec()) }
    }

    /// Returns why less is kept than was once computed, where it is.
    fn miss(&self, prefix_hashes: &[u64], wanted: usize, kept: usize) -> Option<MissReason> {
        if kept < wanted {
            return Some(MissReason::NotRewindable);
        }
        let reusable = prefix_hashes.len().saturating_sub(1);
        let computed = self.computed.longest(prefix_hashes).min(reusable);
        (kept < computed).then_some(MissReason::Evicted)
    }

    /// Returns whether a prompt that is being computed (`coming`) shares a longer prefix with `prompt` than any session does
    /// now. A generation that waits for it continues in a copy of that session.
    pub(crate) fn is_worth_waiting<'a>(
        &self,
        prompt: OwnedPrompt<'_>,
        in_use: &[&Slot],
        coming: impl Iterator<Item = OwnedPrompt<'a>>,
    ) -> bool {
        let later = coming.map(|later| later.shared(prompt)).max().unwrap_or(0);
        later > 0 && self.nearest(prompt, in_use).is_none_or(|(_, now)| later > now)
    }

    /// Puts a slot back after use. The least recently used slots are dropped when there are too many, or they are too large;
    /// those `in_use` count.
    pub(crate) fn put(&mut self, engine: &dyn Engine, mut slot: Slot, in_use: &[&Slot]) {
        slot.cached.truncate(slot.session.length());
        self.statistics.copied += slot.uncounted();
        slot.counted = slot.session.copied();
        self.computed.note(&slot.cached, engine.tokenizer());
        self.slots.push(slot);
        while self.slots.len() + in_use.len() > self.budget.sessions {
            self.evict();
        }
        while self.slots.len() > 1 && self.bytes(in_use) > self.budget.bytes {
            self.evict();
        }
    }

    /// Drops the slots of the prompt's conversation from before its oldest messages were left out: no later prompt has
    /// those again. The slot with the longest common prefix stays, to be cut back.
    fn drop_shortened(&mut self, prompt: &HashedPrompt<'_>) {
        let hashes = &prompt.prefix_hashes;
        let longest = self.slots.iter().map(|slot| slot.cached.shared(hashes)).max().unwrap_or(0);
        let before = self.slots.len();
        self.slots.retain(|slot| {
            let shared = slot.cached.shared(hashes);
            shared > 0 && shared == longest || !prompt.shortens(slot, shared)
        });
        self.statistics.evicted += before - self.slots.len();
    }

    fn chosen(&mut self, engine: &dyn Engine, prompt: &HashedPrompt<'_>, in_use: &[&Slot]) -> Result<Slot> {
        match self.choose(prompt, in_use) {
            Choice::Cut(index) => {
                self.statistics.continued += 1;
                Ok(self.slots.swap_remove(index))
            }
            Choice::Open => {
                self.statistics.opened += 1;
                self.make_room(in_use.len());
                Ok(Slot::new(engine.open()?, CachedUnits::of_owner(prompt.asked.owner, Vec::new())))
            }
            Choice::Fork(index) => {
                let copy = self.slots.get(index).ok_or_else(gone)?.fork()?;
                self.statistics.forked += 1;
                self.make_room(in_use.len());
                Ok(copy)
            }
            Choice::Replace { copied, dropped } => {
                let copy = self.slots.get(copied).ok_or_else(gone)?.fork()?;
                self.slots.swap_remove(dropped);
                self.statistics.forked += 1;
                self.statistics.evicted += 1;
                Ok(copy)
            }
            Choice::ForkInUse(index) => {
                let copy = in_use.get(index).ok_or_else(gone)?.fork()?;
                self.statistics.forked += 1;
                self.make_room(in_use.len());
                Ok(copy)
            }
        }
    }

    /// Chooses the slot with the longest common prefix, and of several the one that was used last.
    fn choose(&self, prompt: &HashedPrompt<'_>, in_use: &[&Slot]) -> Choice {
        let mut best = None;
        for (index, slot) in self.slots.iter().enumerate() {
            let shared = slot.cached.shared(&prompt.prefix_hashes);
            best = best.max(Some((shared, slot.used, index)));
        }
        let (idle, _, index) = best.unwrap_or_default();

        // A generation that runs with the same system prompt may share more with it than any idle slot does.
        let running = in_use.iter().enumerate();
        let running = running.map(|(index, slot)| (slot.cached.shared(&prompt.prefix_hashes), index)).max();
        if let Some((shared, index)) = running
            && shared > idle
        {
            return Choice::ForkInUse(index);
        }
        if idle == 0 {
            return Choice::Open;
        }
        self.cut_or_fork(prompt, index, idle, in_use)
    }

    /// Chooses between a slot and a copy of it. To cut a slot is free, but its tail is lost:
    ///
    /// ```text
    /// slot:    system  question 1  answer 1  question 2  answer 2
    /// prompt:  system  question 1  answer 1  question 3
    ///          └────────── shared ────────┘  └────── lost ─────┘
    /// ```
    fn cut_or_fork(
        &self,
        prompt: &HashedPrompt<'_>,
        index: usize,
        shared: usize,
        in_use: &[&Slot],
    ) -> Choice {
        let Some(slot) = self.slots.get(index) else { return Choice::Open };
        let lost = slot.cached.len() - shared;
        // The prompt continues the slot, or its conversation has left out its oldest messages and needs the tail no more.
        if lost == 0 || prompt.shortens(slot, shared) {
            return Choice::Cut(index);
        }
        let has_room = self.slots.len() + in_use.len() < self.budget.sessions
            && self.bytes(in_use) + slot.session.bytes() <= self.budget.bytes;
        // More would be lost than reused: the slot is another conversation with the same system prompt.
        let is_foreign = lost > shared && self.slots.len() > 1;
        if has_room || is_foreign {
            return Choice::Fork(index);
        }
        self.cut_or_replace(index, lost, in_use)
    }

    /// Without room for a copy, the copy replaces the slot that would lose the least, if that is less than the tail.
    fn cut_or_replace(&self, index: usize, lost: usize, in_use: &[&Slot]) -> Choice {
        let others = (0..self.slots.len()).filter(|other| *other != index);
        let Some((own, dropped)) = others.map(|other| (self.own(other), other)).min() else {
            return Choice::Cut(index);
        };
        let needed = self.bytes(in_use) + self.slot_bytes(index);
        if own < lost && needed <= self.budget.bytes + self.slot_bytes(dropped) {
            return Choice::Replace { copied: index, dropped };
        }
        Choice::Cut(index)
    }

    fn slot_bytes(&self, index: usize) -> usize {
        self.slots.get(index).map_or(0, |slot| slot.session.bytes())
    }

    /// Returns how many units a slot holds that no other slot holds.
    fn own(&self, index: usize) -> usize {
        let Some(slot) = self.slots.get(index) else { return 0 };
        let others = self.slots.iter().enumerate().filter(|(other, _)| *other != index);
        let shared = others.map(|(_, other)| other.cached.shared(slot.cached.prefix_hashes())).max();
        slot.cached.len() - shared.unwrap_or(0)
    }

    /// Returns whether another slot holds all that this one holds.
    fn is_held_elsewhere(&self, index: usize) -> bool {
        self.own(index) == 0
    }

    /// Makes room for one more slot.
    fn make_room(&mut self, in_use: usize) {
        while !self.slots.is_empty() && self.slots.len() + in_use >= self.budget.sessions {
            self.evict();
        }
    }

    /// Drops a slot: one whose units another slot holds too, else the least recently used.
    fn evict(&mut self) {
        let slots = self.slots.iter().enumerate();
        let first = slots.map(|(index, slot)| (!self.is_held_elsewhere(index), slot.used, index)).min();
        if let Some((.., index)) = first {
            self.slots.swap_remove(index);
            self.statistics.evicted += 1;
        }
    }
}

fn gone() -> Error {
    Error::new(ErrorKind::Backend, "a session is gone")
}

#[cfg(test)]
mod tests {
    use super::stand_in::Idle;
    use super::*;
    use alloquy_core::prompt::PromptUnit;
    use alloquy_engine::CancelToken;

    fn reading(snapshot: &Snapshot) -> Reading<SnapshotSource> {
        Reading::of(snapshot.bytes().to_vec().into()).unwrap()
    }

    #[test]
    fn while_every_session_is_in_use_nothing_is_restored() -> Result<()> {
        let engine = Idle::new();
        let mut slots = Slots::new(CacheBudget::from(1));
        let prompt = [PromptUnit::Token(1), PromptUnit::Token(2)];
        let (slot, _) = slots.take(&engine, OwnedPrompt { units: &prompt, owner: None }, &[])?;
        let mut session = engine.open()?;
        let units = [PromptUnit::Token(3)];
        session.forward(&units, &CancelToken::default())?;
        let origin = SnapshotIdentity::new(Digest::of(b"model"), Digest::of(b"template"));
        let snapshot = Snapshot::take(origin, &units, &*session)?;
        let refused = slots.restore(&engine, reading(&snapshot), None, &[&slot]);
        assert_eq!(refused, Err(SnapshotError::Engine { message: "every session is in use".to_owned() }));
        slots.put(&engine, slot, &[]);
        assert_eq!(slots.restore(&engine, reading(&snapshot), None, &[]), Ok(1));
        assert_eq!(slots.statistics(&[]).sessions, 1);
        Ok(())
    }
}
