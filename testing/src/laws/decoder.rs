//! What every decoder must do.
//!
//! ```
//! use alloquy_core::model_info::ModelInfo;
//! use alloquy_core::processor::PromptPart;
//! use alloquy_core::prompt::Prompt;
//! use alloquy_core::report::CacheReport;
//! use alloquy_core::sampling::SamplingOptions;
//! use alloquy_core::tokenizer::Tokenizer;
//! use alloquy_core::{Error, ErrorKind};
//! use alloquy_engine::decoder::{DecodeEnd, DecodeEvent, DecodeEventKind, DecodeRequest, Decoder, TokenStream};
//! use alloquy_testing::{ByteTokenizer, laws};
//! use futures::{StreamExt, stream};
//!
//! /// Continues every prompt with the letter `a`, up to the limit.
//! #[derive(Debug)]
//! struct Letters {
//!     model: ModelInfo,
//!     tokenizer: ByteTokenizer,
//! }
//!
//! #[async_trait::async_trait]
//! impl Decoder for Letters {
//!     fn model(&self) -> &ModelInfo {
//!         &self.model
//!     }
//!
//!     fn tokenizer(&self) -> &dyn Tokenizer {
//!         &self.tokenizer
//!     }
//!
//!     fn ignored(&self, sampling: &SamplingOptions) -> Vec<&'static str> {
//!         sampling.names()
//!     }
//!
//!     fn decode(&self, request: DecodeRequest) -> TokenStream {
//!         if let Err(error) = request.sampling.validate() {
//!             return stream::iter([Err(error)]).boxed();
//!         }
//!         if request.guided.thinking.is_some() {
//!             let error = Error::new(ErrorKind::Unsupported, "letters think for as long as they like");
//!             return stream::iter([Err(error)]).boxed();
//!         }
//!         let report = CacheReport::new(request.prompt.units.len(), 0);
//!         let mut events = vec![DecodeEventKind::Started { seed: None }, DecodeEventKind::Prefilled(report)];
//!         for _ in 0..request.max_tokens {
//!             events.push(DecodeEventKind::Token { id: u32::from(b'a'), logprobs: None });
//!         }
//!         events.push(DecodeEventKind::Finished(DecodeEnd::MaxTokens));
//!         stream::iter(events).map(|event| Ok(DecodeEvent::now(event))).boxed()
//!     }
//! }
//!
//! let tokenizer = ByteTokenizer::new(["<end>"]);
//! let mut model = ModelInfo::default();
//! model.vocabulary = tokenizer.vocabulary();
//! let decoder = Letters { model, tokenizer };
//! let prompt = Prompt::lower(&[PromptPart::Text("Tell me: ".into())], decoder.tokenizer())?;
//! pollster::block_on(laws::decoder::all(&decoder, &prompt));
//! # Ok::<(), alloquy_core::Error>(())
//! ```

use alloquy_core::prompt::Prompt;
use alloquy_core::sampling::TokenLogprobs;
use alloquy_core::tokenizer::{TokenId, decode};
use alloquy_core::{Error, ErrorKind, SamplingOptions};
use alloquy_engine::decoder::{
    DecodeEnd, DecodeEvent, DecodeEventKind, DecodeRequest, Decoder, GuidedDecoding, ThinkingRule,
};
use futures::future::join_all;
use futures::{StreamExt, TryStreamExt};

/// The largest number of tokens that a law generates.
const TOKENS: usize = 12;

/// How many tokens a reply with thinking may have: enough for the text that ends it, byte by byte.
const LONGER: usize = 24;

/// Runs every law. The decoder must continue `prompt` with at least three tokens before a stop token.
///
/// # Panics
/// When a law is broken, with a sentence that says which.
pub async fn all(decoder: &dyn Decoder, prompt: &Prompt) {
    events_come_in_order(decoder, prompt).await;
    ids_are_of_the_vocabulary(decoder, prompt).await;
    the_limit_is_kept(decoder, prompt).await;
    the_report_counts_the_prompt(decoder, prompt).await;
    equal_greedy_requests_give_equal_ids(decoder, prompt).await;
    requests_at_once_are_as_alone(decoder, prompt).await;
    dropping_leaves_the_decoder_usable(decoder, prompt).await;
    options_are_honoured_refused_or_named(decoder, prompt).await;
    options_that_make_no_sense_are_refused(decoder, prompt).await;
    thinking_ends_at_its_budget(decoder, prompt).await;
}

/// Events come as `Started`, `Prefilled`, tokens, `Finished`, and none follows. `Cached` comes at most once, before `Finished`.
/// Their times never decrease.
///
/// # Panics
/// When the law is broken.
pub async fn events_come_in_order(decoder: &dyn Decoder, prompt: &Prompt) {
    let events = events(decoder, request(prompt, TOKENS)).await;
    let stages: Vec<u8> = events.iter().map(|event| stage(&event.kind)).collect();
    assert!(stages.is_sorted(), "events come in another order: {events:?}");
    for (stage, name) in [(0, "Started"), (1, "Prefilled"), (4, "Finished")] {
        let times = count(&stages, stage);
        assert_eq!(times, 1, "{name} comes {times} times: {events:?}");
    }
    assert!(count(&stages, 3) <= 1, "Cached comes several times: {events:?}");
    assert!(
        events.is_sorted_by_key(|event| event.at),
        "the time of an event is before that of the previous one: {events:?}"
    );
}

fn count(stages: &[u8], stage: u8) -> usize {
    stages.iter().filter(|other| **other == stage).count()
}

fn stage(kind: &DecodeEventKind) -> u8 {
    match kind {
        DecodeEventKind::Started { .. } => 0,
        DecodeEventKind::Prefilled(_) => 1,
        DecodeEventKind::Cached(_) => 3,
        DecodeEventKind::Finished(_) => 4,
        // Tokens and their reports.
        _ => 2,
    }
}

/// Every id is in the model's vocabulary, and none is a stop token.
///
/// # Panics
/// When the law is broken.
pub async fn ids_are_of_the_vocabulary(decoder: &dyn Decoder, prompt: &Prompt) {
    let answer = answer(decoder, request(prompt, TOKENS)).await;
    let model = decoder.model();
    for id in &answer.ids {
        assert!((*id as usize) < model.vocabulary, "token {id} is not one of {}", model.vocabulary);
        assert!(!model.stop_tokens.contains(id), "stop token {id} is among the tokens of a reply");
    }
}

/// No more tokens come than requested, and the end reports the limit. A request of no tokens computes the prompt.
///
/// # Panics
/// When the law is broken.
pub async fn the_limit_is_kept(decoder: &dyn Decoder, prompt: &Prompt) {
    let all = answer(decoder, request(prompt, TOKENS)).await;
    assert!(
        all.ids.len() >= 3,
        "the laws need a prompt that is continued with three tokens, not {:?}",
        all.ids
    );
    for limit in 0..3 {
        let cut = answer(decoder, request(prompt, limit)).await;
        assert_eq!(cut.end, Some(DecodeEnd::MaxTokens), "of {limit} tokens the end is {:?}", cut.end);
        assert_eq!(
            Some(cut.ids.as_slice()),
            all.ids.get(..limit),
            "{limit} tokens are not the first {limit}"
        );
    }
}

/// The cached units and the computed units are all units of the prompt.
///
/// # Panics
/// When the law is broken.
pub async fn the_report_counts_the_prompt(decoder: &dyn Decoder, prompt: &Prompt) {
    for _ in 0..2 {
        for event in events(decoder, request(prompt, 1)).await {
            if let DecodeEventKind::Prefilled(report) | DecodeEventKind::Cached(report) = event.kind {
                assert_eq!(report.prompt, prompt.units.len(), "the report is of another prompt: {report:?}");
                assert_eq!(
                    report.cached + report.computed,
                    report.prompt,
                    "the report does not add up: {report:?}"
                );
            }
        }
    }
}

/// Two requests with a temperature of 0 give the same ids.
///
/// # Panics
/// When the law is broken.
pub async fn equal_greedy_requests_give_equal_ids(decoder: &dyn Decoder, prompt: &Prompt) {
    let first = answer(decoder, request(prompt, TOKENS)).await;
    let second = answer(decoder, request(prompt, TOKENS)).await;
    assert_eq!(first.ids, second.ids, "two greedy requests give different ids");
}

/// Concurrent requests give the same ids as each of them alone.
///
/// # Panics
/// When the law is broken.
pub async fn requests_at_once_are_as_alone(decoder: &dyn Decoder, prompt: &Prompt) {
    let alone = answer(decoder, request(prompt, TOKENS)).await;
    let together = (0..4).map(|_| answer(decoder, request(prompt, TOKENS)));
    for answer in join_all(together).await {
        assert_eq!(answer.ids, alone.ids, "concurrent requests give other ids");
    }
}

/// A dropped stream changes no later answer, at whichever event it is dropped.
///
/// # Panics
/// When the law is broken.
pub async fn dropping_leaves_the_decoder_usable(decoder: &dyn Decoder, prompt: &Prompt) {
    let whole = answer(decoder, request(prompt, TOKENS)).await;
    for kept in 0..4 {
        let mut stream = decoder.decode(request(prompt, TOKENS));
        for _ in 0..kept {
            let _ = stream.next().await;
        }
        drop(stream);
        let again = answer(decoder, request(prompt, TOKENS)).await;
        assert_eq!(again.ids, whole.ids, "other ids after a stream was dropped at event {kept}");
    }
}

/// Each option whose effect is visible has that effect, is refused as [`ErrorKind::Unsupported`], or is named as ignored.
///
/// # Panics
/// When the law is broken.
pub async fn options_are_honoured_refused_or_named(decoder: &dyn Decoder, prompt: &Prompt) {
    let plain = answer(decoder, request(prompt, TOKENS)).await;
    assert!(plain.logprobs.is_empty(), "log-probabilities without a request for them");
    let Some(first) = plain.ids.first().copied() else { return };
    let greedy = greedy();

    let banned = SamplingOptions { suppress: vec![first], ..greedy.clone() };
    if let Some(answer) = honoured(decoder, prompt, "suppress", banned).await {
        assert!(!answer.ids.contains(&first), "token {first} is suppressed and generated");
    }
    let biased = SamplingOptions { logit_bias: [(first, -100.0)].into(), ..greedy.clone() };
    if let Some(answer) = honoured(decoder, prompt, "logit_bias", biased).await {
        assert_ne!(answer.ids.first(), Some(&first), "token {first} has a bias of -100 and comes first");
    }
    let seeded = SamplingOptions { temperature: Some(1.0), seed: Some(7), ..greedy.clone() };
    if let Some(answer) = honoured(decoder, prompt, "seed", seeded.clone()).await {
        assert_eq!(answer.seed, Some(7), "the seed of a reply is not the requested one");
        let again = honoured(decoder, prompt, "seed", seeded).await;
        assert_eq!(again.map(|again| again.ids), Some(answer.ids), "one seed gives different ids");
    }
    let explained = SamplingOptions { logprobs: Some(2), ..greedy };
    if let Some(answer) = honoured(decoder, prompt, "logprobs", explained).await {
        assert_eq!(answer.ids, plain.ids, "log-probabilities change the ids");
        let sampled: Vec<TokenId> = answer.logprobs.iter().map(|logprobs| logprobs.sampled.token).collect();
        assert_eq!(sampled, answer.ids, "the log-probabilities are not those of the tokens");
    }
}

/// Values out of range are refused as [`ErrorKind::Invalid`], before any other event.
///
/// # Panics
/// When the law is broken.
pub async fn options_that_make_no_sense_are_refused(decoder: &dyn Decoder, prompt: &Prompt) {
    for temperature in [-1.0, f32::NAN] {
        let sampling = SamplingOptions { temperature: Some(temperature), ..SamplingOptions::default() };
        let mut stream = decoder.decode(request(prompt, TOKENS).sampling(sampling));
        let first = stream.next().await;
        let kind = first.and_then(Result::err).map(|error: Error| error.kind());
        assert_eq!(kind, Some(ErrorKind::Invalid), "a temperature of {temperature} is accepted");
    }
}

/// Thinking that the prompt has begun is ended after as many tokens as its budget has: the text that ends it follows, and
/// the reply continues. A decoder that cannot do so refuses the request as [`ErrorKind::Unsupported`].
///
/// # Panics
/// When the law is broken.
pub async fn thinking_ends_at_its_budget(decoder: &dyn Decoder, prompt: &Prompt) {
    let free = answer(decoder, request(prompt, TOKENS)).await;
    for budget in 0..3 {
        let mut rule = ThinkingRule::new("<think>", "</think>");
        rule.is_open = true;
        rule.budget = Some(budget);
        let mut guided = GuidedDecoding::default();
        guided.thinking = Some(rule);
        let events = match try_events(decoder, request(prompt, LONGER).guided(guided)).await {
            Ok(events) => events,
            Err(error) => {
                assert_eq!(
                    error.kind(),
                    ErrorKind::Unsupported,
                    "a budget is refused as something else: {error:#}"
                );
                return;
            }
        };
        let cut =
            events.iter().position(|event| event.kind == DecodeEventKind::ThinkingCut { tokens: budget });
        let Some(cut) = cut else {
            assert!(free.ids.len() <= budget, "thinking is not cut after {budget} tokens: {events:?}");
            continue;
        };
        let thought = tokens(events.get(..cut).unwrap_or_default());
        assert_eq!(
            Some(thought.as_slice()),
            free.ids.get(..budget),
            "the tokens before the cut are not the first {budget}"
        );
        let rest = tokens(events.get(cut..).unwrap_or_default());
        let text = decode(decoder.tokenizer(), &rest).unwrap_or_default();
        assert!(text.trim_start().starts_with("</think>"), "after {budget} tokens the reply is {text:?}");
    }
}

fn tokens(events: &[DecodeEvent]) -> Vec<TokenId> {
    let mut tokens = Vec::new();
    for event in events {
        if let DecodeEventKind::Token { id, .. } = event.kind {
            tokens.push(id);
        }
    }
    tokens
}

/// What the events of a request add up to.
struct Answer {
    seed: Option<u64>,
    ids: Vec<TokenId>,
    logprobs: Vec<TokenLogprobs>,
    end: Option<DecodeEnd>,
}

fn greedy() -> SamplingOptions {
    SamplingOptions { temperature: Some(0.0), ..SamplingOptions::default() }
}

fn request(prompt: &Prompt, max_tokens: usize) -> DecodeRequest {
    DecodeRequest::new(prompt.clone(), max_tokens).sampling(greedy())
}

/// Returns the answer with an option; `None` where the option is refused or named as ignored.
async fn honoured(
    decoder: &dyn Decoder,
    prompt: &Prompt,
    name: &str,
    sampling: SamplingOptions,
) -> Option<Answer> {
    if decoder.ignored(&sampling).contains(&name) {
        return None;
    }
    match try_answer(decoder, request(prompt, TOKENS).sampling(sampling)).await {
        Ok(answer) => Some(answer),
        Err(error) => {
            assert_eq!(
                error.kind(),
                ErrorKind::Unsupported,
                "{name} is refused as something else: {error:#}"
            );
            None
        }
    }
}

#[allow(clippy::panic)] // a law that is broken
async fn answer(decoder: &dyn Decoder, request: DecodeRequest) -> Answer {
    match try_answer(decoder, request).await {
        Ok(answer) => answer,
        Err(error) => panic!("a prompt is not continued: {error:#}"),
    }
}

async fn try_answer(decoder: &dyn Decoder, request: DecodeRequest) -> Result<Answer, Error> {
    let mut answer = Answer { seed: None, ids: Vec::new(), logprobs: Vec::new(), end: None };
    for event in try_events(decoder, request).await? {
        match event.kind {
            DecodeEventKind::Started { seed } => answer.seed = seed,
            DecodeEventKind::Token { id, logprobs } => {
                answer.ids.push(id);
                answer.logprobs.extend(logprobs);
            }
            DecodeEventKind::Finished(end) => answer.end = Some(end),
            _ => {}
        }
    }
    assert!(answer.end.is_some(), "a stream ends without a reason");
    Ok(answer)
}

#[allow(clippy::panic)] // a law that is broken
async fn events(decoder: &dyn Decoder, request: DecodeRequest) -> Vec<DecodeEvent> {
    match try_events(decoder, request).await {
        Ok(events) => events,
        Err(error) => panic!("a prompt is not continued: {error:#}"),
    }
}

async fn try_events(decoder: &dyn Decoder, request: DecodeRequest) -> Result<Vec<DecodeEvent>, Error> {
    decoder.decode(request).try_collect().await
}
