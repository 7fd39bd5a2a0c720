//! The sources of drafts on one thread: the lookup, the draft model with its sessions, and what was measured of them.

use std::time::{Duration, Instant};

use alloquy_core::prompt::PromptUnit;
use alloquy_core::report::{DraftSource, DraftStop};
use alloquy_core::tokenizer::TokenId;
use alloquy_core::{ErrorKind, Result};
use alloquy_engine::{CancelToken, Engine};

use super::cache_budget::CacheBudget;
use super::costs::Costs;
use super::draft_model::DraftModel;
use super::drafting::Drafting;
use super::drafts::{Draft, Drafts};
use super::follower::Follower;
use super::guard::guarded;
use super::lookup::{PromptLookup, is_media};
use super::options::GeneratorOptions;
use super::pace::{Pace, Step};
use super::slots::{CachedUnits, Slot, Slots};

/// How many units are computed with the next draft, without being counted apart: a draft that was accepted lacks two.
const REGULAR: usize = 16;

/// The least units before a reply that are of use to a draft model that is not given all of them.
const WINDOW: usize = 32;

/// The share of the budget of bytes that the sessions of a draft model may take, beside the model's own.
const BYTES: usize = 4;

/// The sources of drafts of all replies on a thread.
#[derive(Debug)]
pub(super) struct Drafter {
    lookup: Option<PromptLookup>,
    model: Option<DraftModel>,
    drafting: Drafting,
    /// The ids that end replies, and the number of ids of the model that replies come from.
    stop_tokens: Vec<TokenId>,
    vocabulary: usize,
    /// The sessions of the draft model that no reply uses.
    slots: Slots,
    /// The times of the model that replies come from.
    costs: Costs,
    /// Seconds in which the draft model computes a unit of a prompt.
    feeding: Option<f64>,
    /// The accounts of the last reply.
    lookups: Option<Pace>,
    guesses: Option<Pace>,
}

impl Drafter {
    pub(super) fn new(engine: &dyn Engine, options: GeneratorOptions, model: Option<DraftModel>) -> Self {
        let lookup = options.lookup.filter(|lookup| lookup.matched > 0 && lookup.guessed > 0);
        let model = model.filter(|model| model.guessed > 0);
        let sources = usize::from(lookup.is_some()) + usize::from(model.is_some());
        let bytes = options.cache.bytes / BYTES;
        Self {
            lookups: lookup.map(|lookup| Pace::new(lookup.guessed, sources)),
            guesses: model.as_ref().map(|model| Pace::new(model.guessed, sources)),
            lookup,
            model,
            drafting: options.drafting,
            stop_tokens: engine.model().stop_tokens.clone(),
            vocabulary: engine.model().vocabulary,
            slots: Slots::new(CacheBudget { bytes, ..options.cache }),
            costs: Costs::default(),
            feeding: None,
        }
    }

    /// Returns whether there is a source of drafts.
    pub(super) fn is_some(&self) -> bool {
        self.lookup.is_some() || self.model.is_some()
    }

    /// Begins a reply.
    pub(super) fn begin(&self) -> Drafts {
        Drafts::new(self.lookups.as_ref().map(Pace::next_reply), self.guesses.as_ref().map(Pace::next_reply))
    }

    /// Ends a reply: keeps what was measured, and the session for the next one.
    pub(super) fn end(&mut self, drafts: Drafts) {
        if let Some(source) = drafts.lookup.filter(|source| source.pace.has_begun()) {
            self.lookups = Some(source.pace);
        }
        if let Some(source) = drafts.model.filter(|source| source.pace.has_begun()) {
            self.guesses = Some(source.pace);
        }
        if let Some(follower) = drafts.follower {
            self.put(follower);
        }
    }

    /// Keeps a session for later replies, unless it lacks the beginning of a prompt.
    fn put(&mut self, follower: Follower) {
        if let Some(model) = &self.model
            && follower.start == 0
        {
            // If the tokenizer panics, the session is lost, and no caller waits for it.
            let _: Result<()> = guarded(|| {
                self.slots.put(&*model.engine, follower.slot, &[]);
                Ok(())
            });
        }
    }

    /// Guesses the next tokens of a reply, at most `room`; `None` where nothing is guessed. `rewinds` is whether the reply's
    /// session can be cut anywhere.
    pub(super) fn draft(
        &mut self,
        drafts: &mut Drafts,
        units: &CachedUnits,
        room: usize,
        rewinds: bool,
        cancel: &CancelToken,
    ) -> Option<Draft> {
        if self.drafting == Drafting::Measured {
            if !rewinds {
                drafts.stop_all(&DraftStop::NotRewindable);
            }
            self.stop_spent(drafts);
            if drafts.is_reference_due() {
                return None;
            }
        }
        let found = self.look_up(drafts, units, room);
        if found.is_some() {
            return found;
        }
        let length = self.length(drafts.pace(DraftSource::Model)?, room);
        if length == 0 {
            return None;
        }
        match guarded(|| self.guess(drafts, units, length, cancel)) {
            Ok(draft) => draft,
            Err(error) if error.kind() == ErrorKind::Cancelled => None,
            Err(error) => {
                // The state of its session is unknown.
                drafts.follower = None;
                drafts.stop(DraftSource::Model, DraftStop::Failed { error: format!("{error:#}") });
                None
            }
        }
    }

    /// Stops the sources that are not worth their time.
    fn stop_spent(&self, drafts: &mut Drafts) {
        for source in [DraftSource::Lookup, DraftSource::Model] {
            if let Some(pace) = drafts.pace(source)
                && pace.is_spent(&self.costs)
            {
                let (guessed, kept) = pace.counted;
                let lost = pace.lost_milliseconds();
                drafts.stop(source, DraftStop::TooSlow { guessed, kept, lost });
            }
        }
    }

    fn length(&self, pace: &Pace, room: usize) -> usize {
        match self.drafting {
            Drafting::Measured => pace.length(&self.costs, room),
            Drafting::Always => pace.most().min(room),
        }
    }

    fn look_up(&self, drafts: &mut Drafts, units: &[PromptUnit], room: usize) -> Option<Draft> {
        let source = DraftSource::Lookup;
        let pace = drafts.pace(source)?;
        let length = self.length(pace, room);
        if length == 0 {
            return None;
        }
        let start = Instant::now();
        let units = self.lookup?.draft(units, length);
        let took = start.elapsed().as_secs_f64();
        if units.is_empty() {
            pace.note_search(took);
            return None;
        }
        Some(Draft { units, source, took })
    }

    /// Guesses tokens by the draft model, whose session follows the reply first.
    fn guess(
        &mut self,
        drafts: &mut Drafts,
        units: &CachedUnits,
        length: usize,
        cancel: &CancelToken,
    ) -> Result<Option<Draft>> {
        let source = DraftSource::Model;
        if drafts.follower.is_none() && !self.open(drafts, units)? {
            return Ok(None);
        }
        if !self.is_prepared(drafts, units, length, cancel)? {
            return Ok(None);
        }
        let Some(follower) = &mut drafts.follower else { return Ok(None) };
        let start = Instant::now();
        follower.follow(units, usize::MAX, cancel)?;
        let units = follower.guess(length, &self.stop_tokens, self.vocabulary)?;
        let took = start.elapsed().as_secs_f64();
        if units.is_empty() {
            if let Some(pace) = drafts.pace(source) {
                pace.note_search(took);
            }
            return Ok(None);
        }
        Ok(Some(Draft { units, source, took }))
    }

    /// Opens the draft model's session of a reply, which continues one that shares a prefix. Returns whether there is one.
    fn open(&mut self, drafts: &mut Drafts, units: &CachedUnits) -> Result<bool> {
        let Some(model) = &self.model else { return Ok(false) };
        if units.iter().any(is_media) {
            drafts.stop(DraftSource::Model, DraftStop::Media);
            return Ok(false);
        }
        let (slot, _) = self.slots.take(&*model.engine, units.owned(), &[])?;
        drafts.follower = Some(Follower { slot, start: 0 });
        Ok(true)
    }

    /// Computes what the draft model's session lacks but for the last units, as far as the time for it allows. Returns whether the
    /// rest is short enough to guess.
    fn is_prepared(
        &mut self,
        drafts: &mut Drafts,
        units: &[PromptUnit],
        length: usize,
        cancel: &CancelToken,
    ) -> Result<bool> {
        let Some(model) = self.model.clone() else { return Ok(false) };
        let chunk = model.engine.prefill_chunk().max(1);
        loop {
            let Some(follower) = &mut drafts.follower else { return Ok(false) };
            let lacking = follower.cut(units)?;
            let context = model.engine.model().context_length;
            if units.len() - follower.start + length > context {
                drafts.stop(DraftSource::Model, DraftStop::ContextFull { context });
                return Ok(false);
            }
            if lacking <= REGULAR {
                return Ok(true);
            }
            let allowed = self.allowed(drafts);
            let is_whole = drafts.follower.as_ref().is_some_and(|follower| follower.start == 0);
            if is_whole && self.feeding.is_some() && allowed < lacking / 2 && allowed >= WINDOW {
                self.narrow(drafts, units.len() - allowed)?;
                continue;
            }
            let count = allowed.min(chunk).min(lacking - 1);
            let Some(follower) = &mut drafts.follower else { return Ok(false) };
            if count < REGULAR || is_whole && self.feeding.is_some() && allowed < lacking / 2 {
                return Ok(false);
            }
            let start = Instant::now();
            follower.follow(units, count, cancel)?;
            self.note_feeding(drafts, count, start.elapsed());
        }
    }

    /// Returns how many units may be computed to prepare for drafts. While their cost is unknown, these are few.
    fn allowed(&self, drafts: &mut Drafts) -> usize {
        if self.drafting == Drafting::Always {
            return usize::MAX;
        }
        let prompt = drafts.prompt;
        let Some(pace) = drafts.pace(DraftSource::Model) else { return 0 };
        let time = pace.preparation(prompt);
        match self.feeding {
            Some(each) => (time / each.max(f64::MIN_POSITIVE)) as usize,
            None if time > 0.0 => REGULAR,
            None => 0,
        }
    }

    /// Replaces the session by one that has the units from `start` on alone. A draft is a guess, for which the last units matter
    /// most.
    fn narrow(&mut self, drafts: &mut Drafts, start: usize) -> Result<()> {
        let Some(model) = self.model.clone() else { return Ok(()) };
        if let Some(follower) = drafts.follower.take() {
            self.put(follower);
        }
        let slot = Slot::new(model.engine.open()?, CachedUnits::default());
        drafts.follower = Some(Follower { slot, start });
        Ok(())
    }

    fn note_feeding(&mut self, drafts: &mut Drafts, count: usize, took: Duration) {
        let took = took.as_secs_f64();
        let each = took / count.max(1) as f64;
        self.feeding = Some(self.feeding.map_or(each, |known| f64::midpoint(known, each)));
        if let Some(pace) = drafts.pace(DraftSource::Model) {
            pace.note_preparation(took);
        }
    }

    /// Notes a step without a draft.
    pub(super) fn note_plain(&mut self, drafts: &mut Drafts, took: Duration) {
        self.costs.note_plain(took);
        drafts.note_plain(took.as_secs_f64());
    }

    /// Notes a step with a draft, of which `kept` tokens were accepted.
    pub(super) fn note(&mut self, drafts: &mut Drafts, draft: &Draft, kept: usize, took: Duration) {
        let guessed = draft.units.len();
        let run = self.costs.note_drafted(guessed, took);
        drafts.note_other(draft.source, run);
        if let Some(pace) = drafts.pace(draft.source) {
            pace.note(&self.costs, Step { guessed, kept, drafting: draft.took, run });
        }
    }
}
