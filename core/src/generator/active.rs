//! One generation while it runs: its prompt chunk by chunk, then its tokens. Knows no other generation.

use crate::chat_model::{CacheReport, FinishReason};
use crate::engine::Engine;
use crate::guide::Draw;
use crate::prompt::Unit;
use crate::sampling::LogSoftmax;
use crate::slots::Slot;
use crate::tokenizer::TokenId;
use crate::{ErrorKind, Result};

use super::{Generation, Job};

/// A generation with the session that it goes on in.
pub(super) struct Active {
    pub(super) job: Box<Job>,
    pub(super) slot: Slot,
    report: CacheReport,
    /// How many units of the prompt are computed.
    computed: usize,
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
    pub(super) fn new(mut job: Box<Job>, slot: Slot, report: CacheReport) -> Self {
        job.sampler.read(job.prompt.tokens().flatten());
        Self { job, slot, report, computed: report.reused, next: None, sampled: 0 }
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
        self.slot.resident.extend_from_slice(chunk);
        self.slot.session.forward(chunk, &self.job.cancel)?;
        self.computed += chunk.len();
        if self.is_prefilling() {
            return Ok(Going::On);
        }
        self.job.emit(Ok(Generation::Prefilled(self.report)));
        match self.job.limit {
            0 => Ok(self.end(FinishReason::Length)),
            _ => self.draw(engine),
        }
    }

    /// Takes the token that is to be computed next, as one the session holds.
    pub(super) fn take_next(&mut self) -> Option<Unit> {
        let unit = self.next.take()?;
        self.slot.resident.push(unit.clone());
        Some(unit)
    }

    /// Draws a token from the session's logits.
    pub(super) fn draw(&mut self, engine: &dyn Engine) -> Result<Going> {
        let job = &mut *self.job;
        let logits = self.slot.session.logits();
        let believed = job.sampler.logprobs().map(|count| (count, logits.to_vec()));
        let stop_tokens = &engine.model().stop_tokens;
        let tokenizer = engine.tokenizer();
        let token = job.guide.next(Draw { logits, sampler: &mut job.sampler, tokenizer, stop_tokens })?;
        if let Some(tokens) = job.guide.take_cut() {
            job.emit(Ok(Generation::ThinkingCut(tokens)));
        }
        if stop_tokens.contains(&token) {
            return Ok(self.end(FinishReason::Stop));
        }
        job.sampler.accept(token);
        if let Some((count, logits)) = believed {
            job.emit(Ok(Generation::Logprobs(LogSoftmax::new(&logits).sampled(token, count))));
        }
        job.emit(Ok(Generation::Token(token)));
        Ok(self.said(token))
    }

    fn said(&mut self, token: TokenId) -> Going {
        self.sampled += 1;
        if self.job.guide.is_complete() {
            self.job.emit(Ok(Generation::Complete));
            return Going::Done;
        }
        if self.sampled == self.job.limit {
            return self.end(FinishReason::Length);
        }
        self.next = Some(Unit::Token(token));
        Going::On
    }

    fn end(&mut self, reason: FinishReason) -> Going {
        self.job.emit(Ok(Generation::Ended(reason)));
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
