//! One generation while it runs: its prompt chunk by chunk, then its tokens. Knows no other generation.

use alloquy_core::prompt::Unit;
use alloquy_core::report::{CacheReport, Speculation};
use alloquy_core::tokenizer::TokenId;
use alloquy_core::{ErrorKind, Result};
use alloquy_engine::decoder::{DecodeEnd, DecodeEventKind};
use alloquy_engine::{Cancel, Engine};

use super::guided_sampler::Draw;
use super::job::Job;
use super::lookup::PromptLookup;
use super::scoring::positions;
use super::slots::Slot;
use crate::sampler::LogSoftmax;

/// How many tokens of a reply get their room beforehand: few are longer, and the memory counts from then on.
const RESERVED: usize = 256;

/// A generation with the session that it goes on in.
pub(super) struct Active {
    pub(super) job: Box<Job>,
    pub(super) slot: Slot,
    report: CacheReport,
    /// How many units of the prompt are computed.
    computed: usize,
    /// How many positions the prompt takes beyond one a unit.
    surplus: usize,
    /// The token that was said last and is not computed yet.
    next: Option<Unit>,
    sampled: usize,
}

/// Whether a generation goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Going {
    On,
    Done,
}

impl Active {
    pub(super) fn new(engine: &dyn Engine, mut job: Box<Job>, mut slot: Slot, report: CacheReport) -> Self {
        job.emit(Ok(DecodeEventKind::Started { seed: job.sampler.seed() }));
        job.sampler.read(job.prompt.tokens().flatten());
        let units = job.prompt.units.len();
        // Media of which nobody knows what they take are refused when they are computed.
        let positions = positions(engine, &job.prompt.units).unwrap_or(units).max(units);
        slot.session.reserve(positions + job.limit.min(RESERVED));
        let surplus = positions - units;
        Self { job, slot, report, computed: report.reused, surplus, next: None, sampled: 0 }
    }

    /// Says whether a part of the prompt is still to be computed.
    pub(super) fn is_prefilling(&self) -> bool {
        self.computed < self.job.prompt.units.len()
    }

    /// Returns the whole prompt.
    pub(super) fn prompt(&self) -> &[Unit] {
        &self.job.prompt.units
    }

    /// Computes the next chunk of the prompt; behind the last one, the first token is drawn.
    pub(super) fn prefill(&mut self, engine: &dyn Engine) -> Result<Going> {
        let rest = self.job.prompt.units.get(self.computed..).unwrap_or_default();
        let chunk = rest.get(..engine.prefill_chunk().max(1)).unwrap_or(rest);
        // Before the call: one that is cancelled midway has appended a part, and the session says how much.
        self.slot.resident.extend(chunk);
        self.slot.session.forward(chunk, &self.job.cancel)?;
        self.computed += chunk.len();
        if self.is_prefilling() {
            return Ok(Going::On);
        }
        self.job.emit(Ok(DecodeEventKind::Prefilled(self.report)));
        match self.job.limit {
            0 => Ok(self.end(DecodeEnd::MaxTokens)),
            _ => self.draw(engine),
        }
    }

    /// Takes the token that is to be computed next, as one the session holds.
    pub(super) fn take_next(&mut self) -> Option<Unit> {
        let unit = self.next.take()?;
        self.slot.resident.push(unit.clone());
        Some(unit)
    }

    /// Computes the token that was said last together with guesses of what follows it, and draws tokens as long as they
    /// are those that were guessed, and one more.
    pub(super) fn speculate(&mut self, engine: &dyn Engine, lookup: PromptLookup) -> Result<Going> {
        let Some(next) = self.take_next() else { return Ok(Going::On) };
        let guesses = lookup.guess(&self.slot.resident, self.room(engine));
        let units: Vec<_> = std::iter::once(next).chain(guesses.iter().cloned()).collect();
        let mut rows = Vec::with_capacity(units.len());
        self.slot
            .session
            .forward_each(&units, &Cancel::default(), &mut |logits| rows.push(logits.to_vec()))?;
        let (going, kept) = self.draw_guessed(engine, rows, &guesses)?;
        if !guesses.is_empty() {
            self.job.emit(Ok(DecodeEventKind::Speculated(Speculation::new(guesses.len(), kept))));
        }
        self.rewind()?;
        Ok(going)
    }

    /// How many tokens may be guessed: the last one that may be said needs no computing.
    fn room(&self, engine: &dyn Engine) -> usize {
        let held = self.slot.resident.len() + self.surplus;
        let context = engine.model().context_length.saturating_sub(held);
        (self.job.limit - self.sampled).saturating_sub(1).min(context)
    }

    /// Draws from the logits behind each guess until one is wrong, and says how many were right.
    fn draw_guessed(
        &mut self,
        engine: &dyn Engine,
        rows: Vec<Vec<f32>>,
        guesses: &[Unit],
    ) -> Result<(Going, usize)> {
        for (index, mut logits) in rows.into_iter().enumerate() {
            if draw(engine, &mut self.job, &mut logits)?.is_none_or(|token| self.said(token) == Going::Done) {
                return Ok((Going::Done, index));
            }
            if self.next.as_ref() != guesses.get(index) {
                return Ok((Going::On, index));
            }
            self.take_next();
        }
        Ok((Going::On, guesses.len()))
    }

    /// Takes wrong guesses back out of the session. A model that cannot go back so far computes again what it lost.
    fn rewind(&mut self) -> Result<()> {
        let kept = self.slot.session.truncate(self.slot.resident.len())?;
        match self.slot.resident.get(kept..).filter(|lost| !lost.is_empty()) {
            Some(lost) => self.slot.session.forward(lost, &Cancel::default()).map(drop),
            None => Ok(()),
        }
    }

    /// Draws a token from the session's logits.
    pub(super) fn draw(&mut self, engine: &dyn Engine) -> Result<Going> {
        let token = draw(engine, &mut self.job, self.slot.session.logits())?;
        Ok(token.map_or(Going::Done, |token| self.said(token)))
    }

    fn said(&mut self, token: TokenId) -> Going {
        self.sampled += 1;
        if self.job.guide.is_complete() {
            return self.end(DecodeEnd::GrammarComplete);
        }
        if self.sampled == self.job.limit {
            return self.end(DecodeEnd::MaxTokens);
        }
        self.next = Some(Unit::Token(token));
        Going::On
    }

    fn end(&mut self, end: DecodeEnd) -> Going {
        self.job.emit(Ok(DecodeEventKind::Finished(end)));
        Going::Done
    }

    /// Returns the session when it can be used on: it came to its end, or was cancelled and says what it holds.
    pub(super) fn leave(self, outcome: Result<()>) -> Option<Slot> {
        match outcome {
            Ok(()) => Some(self.slot),
            Err(error) => {
                let is_usable = error.kind() == ErrorKind::Cancelled;
                self.job.emit(Err(error));
                is_usable.then_some(self.slot)
            }
        }
    }
}

/// Draws a token and tells it; `None` when it ends the reply, which is told too.
fn draw(engine: &dyn Engine, job: &mut Job, logits: &mut [f32]) -> Result<Option<TokenId>> {
    let believed = job.sampler.logprobs().map(|count| (count, logits.to_vec()));
    let stop_tokens = &engine.model().stop_tokens;
    let tokenizer = engine.tokenizer();
    let token = job.guide.next(Draw { logits, sampler: &mut job.sampler, tokenizer, stop_tokens })?;
    if let Some(tokens) = job.guide.take_cut() {
        job.emit(Ok(DecodeEventKind::ThinkingCut { tokens }));
    }
    if stop_tokens.contains(&token) {
        job.emit(Ok(DecodeEventKind::Finished(DecodeEnd::StopToken(Some(token)))));
        return Ok(None);
    }
    job.sampler.accept(token);
    let logprobs = believed.map(|(count, logits)| LogSoftmax::new(&logits).sampled(token, count));
    job.emit(Ok(DecodeEventKind::Token { id: token, logprobs }));
    Ok(Some(token))
}
