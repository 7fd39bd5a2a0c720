//! A reply while it is read: from the decoder's events to deltas, and to the whole reply. Knows no prompt.

use std::time::Instant;

use alloquy_core::media::Digest;
use alloquy_core::processor::ReplyParser;
use alloquy_core::prompt::PlacedMedia;
use alloquy_core::report::{CacheReport, FinishReason, Speculation, Usage, Warning};
use alloquy_core::sampling::TokenLogprobs;
use alloquy_core::stop::StopSignal;
use alloquy_core::stream::Emitter;
use alloquy_core::tokenizer::{Detokenizer, TokenId};
use alloquy_core::{Delta, Error, ErrorKind, Message, Reply, Result};
use alloquy_engine::decoder::{DecodeEnd, DecodeEvent, DecodeEventKind, TokenStream};
use futures::StreamExt;

use super::constraining::Form;
use super::marks::Marks;
use super::unwanted_calls::UnwantedCalls;
use super::verifying::Verifier;
use crate::repetition::{Repetition, RepetitionDetector};
use crate::splice::KnownReplies;
use crate::stop::{StopStrings, StopTokens};

/// A reply that is being read, in five steps:
///
/// ```text
/// tokens ─▶ stop sequences ─▶ detokenizer ─▶ stop strings ─▶ parser ─▶ deltas
/// ```
///
/// Each step may hold something back until it is decided, and returns the rest of it at the end.
pub(super) struct Reading {
    /// When the request came.
    pub(super) asked: Instant,
    /// When it started, and when its tokens came.
    pub(super) marks: Marks,
    pub(super) stop_tokens: StopTokens,
    pub(super) detokenizer: Box<dyn Detokenizer>,
    pub(super) stops: StopStrings,
    pub(super) parser: Box<dyn ReplyParser>,
    /// How many positions the model's context has.
    pub(super) context: usize,
    /// The media of the prompt.
    pub(super) media: Vec<PlacedMedia>,
    /// What is known of the earlier replies in the prompt.
    pub(super) known: KnownReplies,
    /// How many tokens were sampled, the one that ended the reply included.
    pub(super) sampled: usize,
    /// How many of its ids the request gave.
    pub(super) begun: usize,
    /// The ids of the reply.
    pub(super) tokens: Vec<TokenId>,
    /// Where in the reply's text each token ends, in bytes.
    pub(super) ends: Vec<usize>,
    /// Bytes of text so far.
    pub(super) length: usize,
    /// The log-probabilities of the tokens so far, if they are requested.
    pub(super) logprobs: Vec<TokenLogprobs>,
    pub(super) thinking: ThinkingTokens,
    pub(super) cache: Option<CacheReport>,
    pub(super) speculation: Option<Speculation>,
    pub(super) finish: Option<FinishReason>,
    pub(super) stop_string: Option<String>,
    pub(super) error: Option<Error>,
    pub(super) seed: Option<u64>,
    /// The reason to end when the limit of tokens is reached.
    pub(super) reached: FinishReason,
    pub(super) template: Digest,
    /// The warnings so far.
    pub(super) warnings: Vec<Warning>,
    pub(super) form: Form,
    /// Checks the reply where the decoder does not enforce its grammar.
    pub(super) verifier: Option<Verifier>,
    /// Looks for a loop at the end of the reply.
    pub(super) repetition: Option<RepetitionDetector>,
    /// Looks for calls where the decoder does not exclude them.
    pub(super) unwanted: Option<UnwantedCalls>,
}

pub(super) async fn read(
    mut reading: Reading,
    first: Vec<Delta>,
    tokens: TokenStream,
    stop: StopSignal,
    mut emit: Emitter<Delta>,
) -> Result<Reply> {
    let mut events = stop.cut(tokens);
    emit.send_all(first).await;
    while reading.finish.is_none() {
        let event = match events.next().await {
            Some(event) => event,
            None if stop.is_stopped() => {
                reading.finish = Some(FinishReason::Cancelled);
                break;
            }
            None => Err(ended()),
        };
        match event.and_then(|event| reading.take(event)) {
            Ok(deltas) => emit.send_all(deltas).await,
            Err(error) => reading.fail(error)?,
        }
    }
    let (deltas, reply) = reading.end()?;
    emit.send_all(deltas).await;
    Ok(reply)
}

pub(super) fn ended() -> Error {
    Error::new(ErrorKind::Backend, "the decoder's stream ended before its reply did")
}

impl Reading {
    /// Reads what the request gave of the reply, before anything is sampled.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] where the reply would end there, and those of the tokenizer.
    pub(super) fn begin(&mut self, tokens: Vec<TokenId>) -> Result<Vec<Delta>> {
        let given = tokens.len();
        let deltas = self.tokens(tokens)?;
        self.begun = given;
        if self.finish.is_some() {
            let message =
                "the beginning of the reply would end it: it has a stop text, or repeats itself without end";
            return Err(Error::new(ErrorKind::Invalid, message));
        }
        Ok(deltas)
    }

    fn take(&mut self, event: DecodeEvent) -> Result<Vec<Delta>> {
        self.marks.take(&event);
        match event.kind {
            DecodeEventKind::Started { seed } => self.seed = seed,
            DecodeEventKind::Prefilled(report) | DecodeEventKind::Cached(report) => {
                self.cache = Some(self.known.explain(report));
            }
            DecodeEventKind::Finished(DecodeEnd::MaxTokens) => self.finish = Some(self.reached),
            DecodeEventKind::Finished(DecodeEnd::StopToken(_)) => {
                self.sampled += 1;
                self.verify(Verifier::end);
                self.form.end();
                self.finish = Some(FinishReason::Stop);
            }
            DecodeEventKind::Finished(DecodeEnd::GrammarComplete) => {
                self.form.end();
                self.finish = Some(FinishReason::Stop);
            }
            DecodeEventKind::Speculated(Speculation { guessed, kept, .. }) => {
                let all = self.speculation.get_or_insert_default();
                all.guessed += guessed;
                all.kept += kept;
            }
            DecodeEventKind::DraftsStopped { source, reason } => {
                self.warnings.push(Warning::DraftsStopped { source, reason });
            }
            DecodeEventKind::ThinkingCut { tokens } => {
                self.warnings.push(Warning::ThinkingCut { tokens });
            }
            DecodeEventKind::Token { id, logprobs } => {
                self.logprobs.extend(logprobs);
                self.verify(|verifier| verifier.take(id));
                return self.sampled(id);
            }
            _ => {}
        }
        Ok(Vec::new())
    }

    /// Checks the reply against its grammar, as long as it matches.
    fn verify(&mut self, step: impl FnOnce(&mut Verifier) -> Result<()>) {
        let Some(mut verifier) = self.verifier.take() else { return };
        if step(&mut verifier).is_ok() {
            self.verifier = Some(verifier);
            return;
        }
        self.form = Form::Free;
        self.warnings.push(Warning::GrammarViolated { tokens: verifier.matched() });
    }

    fn sampled(&mut self, token: TokenId) -> Result<Vec<Delta>> {
        self.sampled += 1;
        let (settled, ended) = self.stop_tokens.push(token);
        if ended {
            self.finish = Some(FinishReason::Stop);
        }
        self.tokens(settled)
    }

    fn tokens(&mut self, tokens: Vec<TokenId>) -> Result<Vec<Delta>> {
        let mut deltas = Vec::new();
        for token in tokens {
            // Tokens after a stop text are dropped. Several may come at once, when a stop sequence has held them back.
            if self.stop_string.is_none() {
                deltas.extend(self.token(token)?);
            }
        }
        Ok(deltas)
    }

    fn token(&mut self, token: TokenId) -> Result<Vec<Delta>> {
        let text = self.detokenizer.push(token)?;
        self.length += text.len();
        self.tokens.push(token);
        self.ends.push(self.length);
        if let Some(unwanted) = &mut self.unwanted {
            unwanted.take(token, &text);
        }
        let deltas = self.text(&text);
        self.thinking.token(&deltas);
        self.end_loop(token, &text);
        Ok(deltas)
    }

    /// Ends a reply that loops, unless it has ended already.
    fn end_loop(&mut self, token: TokenId, text: &str) {
        let Some(repetition) = self.repetition.as_mut().and_then(|detector| detector.push(token, text))
        else {
            return;
        };
        if self.finish.is_none() {
            let Repetition { period, times } = repetition;
            self.finish = Some(FinishReason::Repetition);
            self.warnings.push(Warning::RepetitionStopped { period, times });
        }
    }

    /// Keeps what a reply has that failed midway.
    ///
    /// # Errors
    /// The failure, before the first token.
    fn fail(&mut self, error: Error) -> Result<()> {
        if self.sampled == 0 {
            return Err(error);
        }
        self.finish = Some(FinishReason::Error);
        self.error = Some(error);
        Ok(())
    }

    fn text(&mut self, text: &str) -> Vec<Delta> {
        let held = self.stops.held();
        let (settled, stop) = self.stops.push(text);
        if stop.is_some() {
            self.finish = Some(FinishReason::StopString);
            self.stop_string = stop;
            // The error came after the end of the reply.
            self.error = None;
            // The tokens up to the stop text. It may begin in text that was held back: `US` of `USER:`.
            let end = self.length - text.len() - held + settled.len();
            self.tokens.truncate(self.ends.partition_point(|&token_end| token_end <= end));
            // The bytes that the detokenizer holds back are after the stop text.
            self.detokenizer.finish();
        }
        self.parser.push(&settled)
    }

    fn end(mut self) -> Result<(Vec<Delta>, Reply)> {
        // The rest of each step, in the order of the steps.
        let mut deltas = Vec::new();
        let held = self.stop_tokens.finish();
        match self.tokens(held) {
            Ok(rest) => deltas.extend(rest),
            Err(error) => self.fail(error)?,
        }
        let tail = self.detokenizer.finish();
        self.length += tail.len();
        let broken = (!tail.is_empty()).then_some(Warning::BrokenText);
        deltas.extend(self.text(&tail));
        let held = self.stops.finish();
        deltas.extend(self.parser.push(&held));
        let usage = self.usage();
        let (rest, message) = self.parser.finish();
        deltas.extend(rest);
        if let Some(error) = self.error.take_if(|_| message.is_empty()) {
            return Err(error);
        }
        self.logprobs.truncate(self.tokens.len().saturating_sub(self.begun));
        if let Some(unwanted) = self.unwanted {
            self.warnings.extend(unwanted.warning());
        }
        let cut = (self.form == Form::Open).then_some(Warning::GrammarCut);
        let timing = self.marks.timing(self.asked, self.cache.map_or(0, |report| report.computed));
        let mut reply = Reply::new(message);
        reply.finish = finish(self.finish, &reply.message);
        reply.stop_string = self.stop_string;
        reply.error = self.error.map(|error| format!("{error:#}"));
        reply.usage = usage;
        reply.begun = self.begun.min(self.tokens.len());
        reply.tokens = self.tokens;
        reply.logprobs = self.logprobs;
        reply.cache = self.cache;
        reply.speculation = self.speculation;
        reply.timing = timing;
        reply.seed = self.seed;
        reply.template = Some(self.template);
        reply.warnings = self.warnings.into_iter().chain(cut).chain(broken).collect();
        Ok((deltas, reply))
    }

    fn usage(&self) -> Usage {
        let report = self.cache.unwrap_or_default();
        let prompt = PlacedMedia::positions_before(&self.media, report.prompt);
        let mut usage = Usage::new(prompt, self.sampled);
        usage.cached = PlacedMedia::positions_before(&self.media, report.cached);
        usage.thinking = self.thinking.count;
        usage.remaining = Some(self.context.saturating_sub(prompt + self.sampled));
        usage
    }
}

/// Counts the tokens of thinking. A token without a delta counts with the next token that has one.
#[derive(Debug, Default)]
pub(super) struct ThinkingTokens {
    count: usize,
    undecided: usize,
}

impl ThinkingTokens {
    fn token(&mut self, deltas: &[Delta]) {
        self.undecided += 1;
        if let Some(last) = deltas.last() {
            if matches!(last, Delta::Thinking(_)) {
                self.count += self.undecided;
            }
            self.undecided = 0;
        }
    }
}

fn finish(reason: Option<FinishReason>, message: &Message) -> FinishReason {
    match reason.unwrap_or(FinishReason::Stop) {
        FinishReason::Stop | FinishReason::StopString if message.tool_calls().next().is_some() => {
            FinishReason::ToolCalls
        }
        reason => reason,
    }
}
