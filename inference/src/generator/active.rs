//! Runs one generation: first its prompt, chunk by chunk, then its tokens.

use std::time::{Duration, Instant};

use alloquy_core::prompt::PromptUnit;
use alloquy_core::report::{CacheReport, Speculation};
use alloquy_core::tokenizer::TokenId;
use alloquy_core::{ErrorKind, Result};
use alloquy_engine::decoder::{DecodeEnd, DecodeEventKind};
use alloquy_engine::{CancelToken, Engine};

use super::drafter::Drafter;
use super::drafts::Drafts;
use super::guided_sampler::Draw;
use super::job::Job;
use super::scoring::positions;
use super::slots::{OwnedPrompt, Slot};
use crate::sampler::LogSoftmax;

/// The number of tokens of a reply whose memory is allocated beforehand. Few replies are longer, and this memory counts at once.
const RESERVED: usize = 256;

/// How many units at the end of a prompt open the reply: a role, and the beginning of thinking. Few templates have more.
const OPENING: usize = 8;

/// A generation with its session.
pub(super) struct Active {
    pub(super) job: Box<Job>,
    pub(super) slot: Slot,
    pub(super) drafts: Drafts,
    report: CacheReport,
    /// The number of units of the prompt that are computed.
    computed: usize,
    /// The number of positions of the prompt, minus its number of units.
    surplus: usize,
    /// The token that was sampled last and is not computed yet.
    next: Option<PromptUnit>,
    /// The number of tokens that were sampled.
    sampled: usize,
    /// Why no token follows, until that is emitted.
    ended: Option<DecodeEnd>,
}

/// Whether a generation or a scoring has more to compute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Status {
    Running,
    Done,
}

impl Active {
    pub(super) fn new(
        engine: &dyn Engine,
        mut job: Box<Job>,
        mut slot: Slot,
        report: CacheReport,
        drafts: Drafts,
    ) -> Self {
        job.emit(Ok(DecodeEventKind::Started { seed: job.sampler.seed() }));
        job.sampler.read(job.prompt.tokens().flatten());
        let units = job.prompt.units.len();
        // Media whose positions the engine does not know are refused when they are computed.
        let positions = positions(engine, &job.prompt.units).unwrap_or(units).max(units);
        slot.session.reserve(positions + job.limit.min(RESERVED));
        // What it holds is the end of an earlier reply, mostly.
        slot.session.mark();
        let surplus = positions - units;
        let computed = report.cached;
        Self { job, slot, drafts, report, computed, surplus, next: None, sampled: 0, ended: None }
    }

    /// Returns whether a part of the prompt is still to be computed.
    pub(super) fn is_prefilling(&self) -> bool {
        self.computed < self.job.prompt.units.len()
    }

    /// Returns the whole prompt.
    pub(super) fn prompt(&self) -> OwnedPrompt<'_> {
        self.job.owned_prompt()
    }

    /// Computes the next chunk of the prompt. After the last chunk, the first token is sampled.
    pub(super) fn prefill(&mut self, engine: &dyn Engine) -> Result<Status> {
        let rest = self.job.prompt.units.get(self.computed..).unwrap_or_default();
        let length = chunk_length(rest.len(), engine.prefill_chunk().max(1), self.slot.session.rewinds());
        let chunk = rest.get(..length).unwrap_or(rest);
        // The units are added before the call, because a cancelled call may have computed a part of them. The session's length
        // is the length of that part. The units after it are removed when the slot is put back.
        self.slot.cached.extend(chunk);
        let start = Instant::now();
        self.slot.session.forward(chunk, &self.job.cancel)?;
        self.drafts.prompt += start.elapsed().as_secs_f64();
        self.computed += chunk.len();
        if self.is_prefilling() {
            if self.job.prompt.units.len() - self.computed <= OPENING {
                self.slot.session.mark();
            }
            return Ok(Status::Running);
        }
        self.job.emit(Ok(DecodeEventKind::Prefilled(self.report)));
        if self.job.limit == 0 {
            let status = self.end(DecodeEnd::MaxTokens);
            self.close();
            return Ok(status);
        }
        self.draw(engine)
    }

    /// Returns the token to compute next, and adds it to the cached units.
    pub(super) fn take_next(&mut self) -> Option<PromptUnit> {
        let unit = self.next.take()?;
        self.slot.cached.push(unit.clone());
        Some(unit)
    }

    /// Computes the token that was sampled last together with a draft of the tokens after it. Tokens are sampled up to the first
    /// that differs from the draft:
    ///
    /// ```text
    /// computed:  total  =   a     +    b     the token `total` and a draft of four
    /// sampled:   =      a   +     c          `c` differs, and the rest of the draft is discarded
    /// ```
    pub(super) fn speculate(&mut self, engine: &dyn Engine, drafter: &mut Drafter) -> Result<Status> {
        let Some(next) = self.take_next() else { return Ok(Status::Running) };
        let room = self.room(engine);
        let rewinds = self.slot.session.rewinds();
        let draft = drafter.draft(&mut self.drafts, &self.slot.cached, room, rewinds, &self.job.cancel);
        for (source, reason) in self.drafts.take_stops() {
            self.job.emit(Ok(DecodeEventKind::DraftsStopped { source, reason }));
        }
        let Some(draft) = draft else {
            let start = Instant::now();
            self.slot.session.forward(std::slice::from_ref(&next), &CancelToken::default())?;
            drafter.note_plain(&mut self.drafts, start.elapsed());
            return self.draw(engine);
        };
        let mut units = vec![next];
        units.extend_from_slice(&draft.units);
        let start = Instant::now();
        let mut rows = Vec::with_capacity(units.len());
        self.slot
            .session
            .forward_each(&units, &CancelToken::default(), &mut |logits| rows.push(logits.to_vec()))?;
        let took = start.elapsed();
        let (status, kept) = self.draw_drafted(engine, rows, &draft.units)?;
        self.job.emit(Ok(DecodeEventKind::Speculated(Speculation::new(draft.units.len(), kept))));
        self.close();
        let rewinding = self.rewind()?;
        drafter.note(&mut self.drafts, &draft, kept, took + rewinding);
        Ok(status)
    }

    /// Returns the greatest length of a draft. The last token of a reply is never computed, so a draft does not have it.
    fn room(&self, engine: &dyn Engine) -> usize {
        let held = self.slot.cached.len() + self.surplus;
        let context = engine.model().context_length.saturating_sub(held);
        (self.job.limit - self.sampled).saturating_sub(1).min(context)
    }

    /// Samples from each row of logits up to the first token that differs from the draft, and returns how many tokens did not.
    /// The first row is that of the token before the draft.
    fn draw_drafted(
        &mut self,
        engine: &dyn Engine,
        rows: Vec<Vec<f32>>,
        draft: &[PromptUnit],
    ) -> Result<(Status, usize)> {
        for (index, mut logits) in rows.into_iter().enumerate() {
            let drawn = draw(engine, &mut self.job, &mut logits)?;
            if self.drawn(drawn) == Status::Done {
                return Ok((Status::Done, index));
            }
            if self.next.as_ref() != draft.get(index) {
                return Ok((Status::Running, index));
            }
            // The sampled token is that of the draft, which is computed already.
            self.take_next();
        }
        Ok((Status::Running, draft.len()))
    }

    /// Removes the rest of the draft from the session. A model that cannot rewind so far computes the lost units again. Returns
    /// how long it took.
    fn rewind(&mut self) -> Result<Duration> {
        let start = Instant::now();
        let kept = self.slot.session.truncate(self.slot.cached.len())?;
        let lost = self.slot.cached.get(kept..).unwrap_or_default();
        if !lost.is_empty() {
            self.slot.session.forward(lost, &CancelToken::default())?;
        }
        Ok(start.elapsed())
    }

    /// Samples a token from the session's logits.
    pub(super) fn draw(&mut self, engine: &dyn Engine) -> Result<Status> {
        let drawn = draw(engine, &mut self.job, self.slot.session.logits())?;
        let status = self.drawn(drawn);
        self.close();
        Ok(status)
    }

    /// Counts a token of the reply, or ends it.
    fn drawn(&mut self, drawn: Drawn) -> Status {
        let token = match drawn {
            Drawn::Token(token) => token,
            Drawn::Stop(token) => return self.end(DecodeEnd::StopToken(Some(token))),
        };
        self.sampled += 1;
        if self.job.guide.is_complete() {
            return self.end(DecodeEnd::GrammarComplete);
        }
        if self.sampled == self.job.limit {
            return self.end(DecodeEnd::MaxTokens);
        }
        self.next = Some(PromptUnit::Token(token));
        Status::Running
    }

    fn end(&mut self, end: DecodeEnd) -> Status {
        self.ended = Some(end);
        Status::Done
    }

    /// Emits the end of the reply, after all that belongs to it.
    fn close(&mut self) {
        if let Some(end) = self.ended.take() {
            self.job.emit(Ok(DecodeEventKind::Finished(end)));
        }
    }

    /// Reports an error, and returns the session if it can be used again: after the end, and after a cancelled call, whose
    /// session reports its length. After any other error, the state of the session is unknown.
    pub(super) fn leave(self, outcome: Result<()>) -> Option<Slot> {
        let Err(error) = outcome else { return Some(self.slot) };
        let is_usable = error.kind() == ErrorKind::Cancelled;
        self.job.emit(Err(error));
        is_usable.then_some(self.slot)
    }
}

/// Returns how many of the `rest` units of a prompt are computed next.
///
/// A later prompt rarely begins with all of this one: it lacks the opening of the reply, or what was thought. A session that returns
/// only to marked lengths is marked before the last units, so these are a chunk of their own.
fn chunk_length(rest: usize, most: usize, rewinds: bool) -> usize {
    if rewinds || rest <= OPENING {
        return most;
    }
    most.min(rest - OPENING)
}

/// What was sampled.
#[derive(Clone, Copy)]
enum Drawn {
    Token(TokenId),
    /// A token that ends the reply, and is not part of it.
    Stop(TokenId),
}

/// Draws a token, and emits it if it is part of the reply.
fn draw(engine: &dyn Engine, job: &mut Job, logits: &mut [f32]) -> Result<Drawn> {
    // Log-probabilities are those of the model, before penalties and grammars change the logits.
    let believed = job.sampler.logprobs().map(|count| (count, logits.to_vec()));
    let stop_tokens = &engine.model().stop_tokens;
    let tokenizer = engine.tokenizer();
    let sampler = &mut job.sampler;
    let excluded = &job.excluded;
    let token = job.guide.next(Draw { logits, sampler, excluded, tokenizer, stop_tokens })?;
    if let Some(tokens) = job.guide.take_cut() {
        job.emit(Ok(DecodeEventKind::ThinkingCut { tokens }));
    }
    if stop_tokens.contains(&token) {
        return Ok(Drawn::Stop(token));
    }
    job.sampler.accept(token);
    job.excluded.accept(token, tokenizer);
    let logprobs = believed.map(|(count, logits)| LogSoftmax::new(&logits).sampled(token, count));
    job.emit(Ok(DecodeEventKind::Token { id: token, logprobs }));
    Ok(Drawn::Token(token))
}
