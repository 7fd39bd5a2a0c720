//! Generations take turns on the one thread, share what they have in common, and say what each would say alone.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)] // a test may panic

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};

use alloquy_core::model_info::ModelInfo;
use alloquy_core::prompt::{Prompt, PromptUnit};
use alloquy_core::tokenizer::{TokenId, Tokenizer};
use alloquy_core::{Error, ErrorKind, Result, SamplingOptions};
use alloquy_engine::decoder::{DecodeEnd, DecodeEventKind, TokenStream};
use alloquy_engine::{BatchStep, CancelToken, Engine, Session};
use alloquy_inference::{CacheBudget, Drafting, Generator, GeneratorOptions, PromptLookup, Sampler};
use alloquy_testing::{NoiseEngine, ScriptedEngine};
use futures::{FutureExt, StreamExt};
use pollster::block_on;
use proptest::prelude::*;

/// What was computed: how many units, and in how many sessions at once.
type Log = Arc<Mutex<Vec<(usize, usize)>>>;

/// An engine that computes nothing before its gate is opened, so that work can pile up; and keeps a log.
#[derive(Clone, Debug)]
struct Gated<E> {
    engine: E,
    gate: Arc<(Mutex<bool>, Condvar)>,
    log: Log,
}

impl<E: Engine> Gated<E> {
    fn new(engine: E) -> Self {
        Self { engine, gate: Arc::default(), log: Log::default() }
    }

    fn open_gate(&self) {
        *self.gate.0.lock().unwrap() = true;
        self.gate.1.notify_all();
    }

    fn log(&self) -> Vec<(usize, usize)> {
        self.log.lock().unwrap().clone()
    }
}

struct GatedSession {
    session: Box<dyn Session>,
    log: Log,
}

impl<E: Engine> Engine for Gated<E> {
    fn model(&self) -> &ModelInfo {
        self.engine.model()
    }

    fn tokenizer(&self) -> &dyn Tokenizer {
        self.engine.tokenizer()
    }

    fn open(&self) -> Result<Box<dyn Session>> {
        let is_open = self.gate.0.lock().unwrap();
        drop(self.gate.1.wait_while(is_open, |is_open| !*is_open).unwrap());
        Ok(Box::new(GatedSession { session: self.engine.open()?, log: Arc::clone(&self.log) }))
    }

    fn prefill_chunk(&self) -> usize {
        10
    }

    fn forward_many(&self, steps: &mut [BatchStep<'_>]) -> Result<()> {
        self.log.lock().unwrap().push((1, steps.len()));
        for BatchStep { session, unit } in steps {
            let session: &mut dyn std::any::Any = *session;
            let gated = session.downcast_mut::<GatedSession>().expect("a session of this engine");
            gated.session.forward(std::slice::from_ref(*unit), &CancelToken::default())?;
        }
        Ok(())
    }
}

impl Session for GatedSession {
    fn length(&self) -> usize {
        self.session.length()
    }

    fn forward(&mut self, units: &[PromptUnit], cancel: &CancelToken) -> Result<&mut [f32]> {
        self.log.lock().unwrap().push((units.len(), 1));
        self.session.forward(units, cancel)
    }

    fn forward_each(
        &mut self,
        units: &[PromptUnit],
        cancel: &CancelToken,
        each: &mut dyn FnMut(&[f32]),
    ) -> Result<()> {
        self.log.lock().unwrap().push((units.len(), 1));
        self.session.forward_each(units, cancel, each)
    }

    fn logits(&mut self) -> &mut [f32] {
        self.session.logits()
    }

    fn truncate(&mut self, length: usize) -> Result<usize> {
        self.session.truncate(length)
    }

    fn fork(&self) -> Result<Box<dyn Session>> {
        Ok(Box::new(Self { session: self.session.fork()?, log: Arc::clone(&self.log) }))
    }
}

fn prompt(tokens: impl IntoIterator<Item = TokenId>) -> Prompt {
    Prompt { units: tokens.into_iter().map(PromptUnit::Token).collect() }
}

fn greedy() -> Sampler {
    Sampler::new(&SamplingOptions { temperature: Some(0.0), ..SamplingOptions::default() }).unwrap()
}

/// The tokens of a generation, and how it ended.
fn outcome(stream: TokenStream) -> Result<(Vec<TokenId>, Option<DecodeEnd>)> {
    let events: Result<Vec<_>> = block_on(stream.collect::<Vec<_>>()).into_iter().collect();
    let mut tokens = Vec::new();
    let mut end = None;
    for event in events? {
        match event.kind {
            DecodeEventKind::Token { id, .. } => tokens.push(id),
            // Which stop token it was is the model's affair.
            DecodeEventKind::Finished(DecodeEnd::StopToken(_)) => end = Some(DecodeEnd::StopToken(None)),
            DecodeEventKind::Finished(why) => end = Some(why),
            _ => {}
        }
    }
    Ok((tokens, end))
}

fn alone(prompt: Prompt, limit: usize) -> Vec<TokenId> {
    let generator = Generator::new(Arc::new(NoiseEngine::new([])), 1).unwrap();
    outcome(generator.generate(prompt, greedy(), limit)).unwrap().0
}

#[test]
fn a_long_prompt_keeps_no_reply_waiting() {
    let engine = Gated::new(NoiseEngine::new([]));
    let generator = Generator::new(Arc::new(engine.clone()), 2).unwrap();
    let short = generator.generate(prompt(0..5), greedy(), 8);
    let long = generator.generate(prompt((0..200).rev()), greedy(), 1);
    engine.open_gate();
    assert_eq!(outcome(short).unwrap().0, alone(prompt(0..5), 8));
    assert_eq!(outcome(long).unwrap().0, alone(prompt((0..200).rev()), 1));
    let log = engine.log();
    let last_token = log.iter().rposition(|&step| step == (1, 1)).unwrap();
    let chunks_behind = log[last_token..].iter().filter(|(units, _)| *units == 10).count();
    assert!(chunks_behind >= 10, "the short reply waited: {log:?}");
}

#[test]
fn candidates_compute_their_prompt_once_and_step_together() {
    let engine = Gated::new(NoiseEngine::new([]));
    let generator = Generator::new(Arc::new(engine.clone()), 4).unwrap();
    let seeded = |seed| {
        let options =
            SamplingOptions { temperature: Some(1.0), seed: Some(seed), ..SamplingOptions::default() };
        Sampler::new(&options).unwrap()
    };
    let streams: Vec<_> = (0..4).map(|seed| generator.generate(prompt(0..95), seeded(seed), 6)).collect();
    engine.open_gate();
    let said: Vec<_> = streams.into_iter().map(|stream| outcome(stream).unwrap().0).collect();
    for (seed, said) in said.iter().enumerate() {
        let generator = Generator::new(Arc::new(NoiseEngine::new([])), 1).unwrap();
        let expected = generator.generate(prompt(0..95), seeded(seed as u64), 6);
        assert_eq!(*said, outcome(expected).unwrap().0, "seed {seed}");
    }
    let log = engine.log();
    let prompts: usize = log.iter().filter(|(_, sessions)| *sessions == 1).map(|(units, _)| units).sum();
    // The last unit of a prompt is computed again in each copy, for its logits; a few tokens come before all four
    // are under way.
    assert!(prompts < 95 + 3 + 10, "{prompts} units computed alone: {log:?}");
    assert!(log.iter().any(|(_, sessions)| *sessions == 4), "{log:?}");
}

#[test]
fn more_generations_than_sessions_wait_their_turn() {
    let engine = Gated::new(NoiseEngine::new([]));
    let generator = Generator::new(Arc::new(engine.clone()), 2).unwrap();
    let prompts: Vec<_> = (0..7).map(|first| prompt(first * 10..first * 10 + 15)).collect();
    let streams: Vec<_> =
        prompts.iter().map(|prompt| generator.generate(prompt.clone(), greedy(), 5)).collect();
    engine.open_gate();
    for (prompt, stream) in prompts.into_iter().zip(streams) {
        assert_eq!(outcome(stream).unwrap().0, alone(prompt, 5));
    }
    assert!(engine.log().iter().all(|(_, sessions)| *sessions <= 2));
}

#[test]
fn a_dropped_stream_frees_its_place_at_once() {
    let engine = Gated::new(NoiseEngine::new([]));
    let generator = Generator::new(Arc::new(engine.clone()), 1).unwrap();
    let endless = generator.generate(prompt(0..5), greedy(), 4_000);
    let waiting = generator.generate(prompt(50..55), greedy(), 4_000);
    let last = generator.generate(prompt(90..95), greedy(), 3);
    drop(endless);
    drop(waiting);
    engine.open_gate();
    assert_eq!(outcome(last).unwrap().0, alone(prompt(90..95), 3));
    assert!(engine.log().len() < 100, "dropped work was done");
}

fn guessing(engine: impl Engine + 'static) -> Generator {
    let options = GeneratorOptions {
        lookup: Some(PromptLookup::default()),
        drafting: Drafting::Always,
        ..GeneratorOptions::default()
    };
    Generator::new(Arc::new(engine), options).unwrap()
}

/// How many tokens were guessed and kept in a whole generation.
fn guessed(stream: TokenStream) -> (usize, usize) {
    let events = block_on(stream.collect::<Vec<_>>());
    let reported = events.into_iter().filter_map(|event| match event.unwrap().kind {
        DecodeEventKind::Speculated(reported) => Some((reported.guessed, reported.kept)),
        _ => None,
    });
    reported.fold((0, 0), |sum, reported| (sum.0 + reported.0, sum.1 + reported.1))
}

#[test]
fn what_quotes_its_prompt_is_computed_in_few_runs() {
    let text = "the quick brown fox jumps over the lazy dog and runs away";
    let engine = Gated::new(ScriptedEngine::new([("repeat: ", text)]));
    engine.open_gate();
    let asked = || prompt(format!("{text}; repeat: ").bytes().map(u32::from));
    let generator = guessing(engine.clone());
    let said = outcome(generator.generate(asked(), greedy(), 1000)).unwrap();
    assert_eq!(said, (text.bytes().map(u32::from).collect(), Some(DecodeEnd::StopToken(None))));
    let steps = engine.log().iter().skip_while(|(units, _)| *units == 10).count();
    assert!(steps < text.len() / 3, "{steps} runs for {} tokens", text.len());
    let (guessed, kept) = guessed(guessing(engine).generate(asked(), greedy(), 1000));
    assert!(kept > text.len() / 2 && kept <= guessed, "{kept} of {guessed} kept");
}

/// An engine whose sessions report a byte for each unit, copy them when they are forked, and keep what they are set to
/// when they are cut back.
#[derive(Debug)]
struct Peculiar {
    engine: NoiseEngine,
    kept: fn(resident: usize, length: usize) -> usize,
}

struct PeculiarSession {
    session: Box<dyn Session>,
    kept: fn(resident: usize, length: usize) -> usize,
    copied: usize,
}

impl Peculiar {
    fn weighed() -> Self {
        Self { engine: NoiseEngine::new([]), kept: |_, length| length }
    }

    /// Recurrent ones keep nothing.
    fn forgetful() -> Self {
        let kept = |resident, length| if length < resident { 0 } else { length };
        Self { engine: NoiseEngine::new([]), kept }
    }
}

impl Engine for Peculiar {
    fn model(&self) -> &ModelInfo {
        self.engine.model()
    }

    fn tokenizer(&self) -> &dyn Tokenizer {
        self.engine.tokenizer()
    }

    fn open(&self) -> Result<Box<dyn Session>> {
        Ok(Box::new(PeculiarSession { session: self.engine.open()?, kept: self.kept, copied: 0 }))
    }
}

impl Session for PeculiarSession {
    fn length(&self) -> usize {
        self.session.length()
    }

    fn forward(&mut self, units: &[PromptUnit], cancel: &CancelToken) -> Result<&mut [f32]> {
        self.session.forward(units, cancel)
    }

    fn logits(&mut self) -> &mut [f32] {
        self.session.logits()
    }

    fn truncate(&mut self, length: usize) -> Result<usize> {
        let kept = (self.kept)(self.session.length(), length);
        self.session.truncate(kept)
    }

    fn bytes(&self) -> usize {
        self.session.length()
    }

    fn copied(&self) -> usize {
        self.copied
    }

    fn fork(&self) -> Result<Box<dyn Session>> {
        Ok(Box::new(Self { session: self.session.fork()?, kept: self.kept, copied: self.length() }))
    }
}

#[test]
fn a_budget_of_bytes_is_kept_and_told() {
    let budget = CacheBudget { sessions: 10, bytes: 50 };
    let generator = Generator::new(Arc::new(Peculiar::weighed()), budget).unwrap();
    for first in 0..5 {
        outcome(generator.generate(prompt(first * 20..first * 20 + 20), greedy(), 0)).unwrap();
    }
    let reported = block_on(generator.statistics()).unwrap();
    assert_eq!((reported.sessions, reported.bytes), (2, 40));
    assert_eq!((reported.opened, reported.continued, reported.forked, reported.evicted), (5, 0, 0, 3));
    assert_eq!((reported.cached, reported.computed), (0, 100));
    // Going on from the last leaves no room for a copy: it is cut, whatever it held.
    outcome(generator.generate(prompt((80..90).chain([7])), greedy(), 0)).unwrap();
    let reported = block_on(generator.statistics()).unwrap();
    assert_eq!((reported.continued, reported.forked, reported.cached, reported.sessions), (1, 0, 10, 2));
    // One that is larger than all there may be is kept, alone.
    outcome(generator.generate(prompt(100..200), greedy(), 0)).unwrap();
    let reported = block_on(generator.statistics()).unwrap();
    assert_eq!((reported.sessions, reported.bytes), (1, 100));
}

#[test]
fn what_sessions_copy_is_told_once() {
    let generator = Generator::new(Arc::new(Peculiar::weighed()), CacheBudget::from(10)).unwrap();
    let copied = |units| {
        outcome(generator.generate(prompt(units), greedy(), 0)).unwrap();
        let reported = block_on(generator.statistics()).unwrap();
        (reported.forked, reported.copied)
    };
    assert_eq!(copied((0..20).collect::<Vec<_>>()), (0, 0));
    assert_eq!(copied((0..10).chain([7]).collect()), (1, 20));
    assert_eq!(copied((0..10).chain([7, 8]).collect()), (1, 20));
    assert_eq!(copied((0..10).chain([8]).collect()), (2, 32));
}

#[test]
fn more_are_kept_than_are_written_together() {
    let engine = Gated::new(NoiseEngine::new([]));
    let generator = Generator::new(Arc::new(engine.clone()), GeneratorOptions::default()).unwrap();
    let prompts = (0..12).map(|first| prompt(first * 10..first * 10 + 5));
    let streams: Vec<_> = prompts.map(|prompt| generator.generate(prompt, greedy(), 12)).collect();
    engine.open_gate();
    streams.into_iter().for_each(|stream| drop(outcome(stream).unwrap()));
    assert_eq!(engine.log().iter().map(|(_, together)| *together).max(), Some(4));
    let reported = block_on(generator.statistics()).unwrap();
    assert_eq!((reported.sessions, reported.evicted), (12, 0));
}

#[test]
fn a_long_scoring_keeps_no_reply_waiting() {
    let engine = Gated::new(NoiseEngine::new([]));
    let generator = Generator::new(Arc::new(engine.clone()), 2).unwrap();
    let targets = vec![vec![1; 6]; 20];
    let mut scoring = Box::pin(generator.score(prompt(100..180), targets.clone()));
    assert!(scoring.as_mut().now_or_never().is_none(), "the gate is closed");
    let stream = generator.generate(prompt(0..5), greedy(), 8);
    engine.open_gate();
    let scores = block_on(scoring).unwrap();
    assert_eq!(outcome(stream).unwrap().0, alone(prompt(0..5), 8));
    let log = engine.log();
    let last = log.iter().rposition(|(units, _)| *units > 1).unwrap();
    let said = log.iter().take(last).filter(|(units, _)| *units == 1).count();
    assert_eq!(said, 7, "it had to wait: {log:?}");
    // With nobody else there the scores are the same.
    let alone = Generator::new(Arc::new(NoiseEngine::new([])), 1).unwrap();
    assert_eq!(block_on(alone.score(prompt(100..180), targets)).unwrap(), scores);
}

/// Sessions that fail, or panic, once they have been fed a token.
#[derive(Debug)]
struct Poisoned {
    engine: ScriptedEngine,
    calls: Arc<AtomicUsize>,
}

struct PoisonedSession {
    session: Box<dyn Session>,
    calls: Arc<AtomicUsize>,
}

impl Engine for Poisoned {
    fn model(&self) -> &ModelInfo {
        self.engine.model()
    }

    fn tokenizer(&self) -> &dyn Tokenizer {
        self.engine.tokenizer()
    }

    fn open(&self) -> Result<Box<dyn Session>> {
        Ok(Box::new(PoisonedSession { session: self.engine.open()?, calls: Arc::clone(&self.calls) }))
    }
}

impl Session for PoisonedSession {
    fn length(&self) -> usize {
        self.session.length()
    }

    fn forward(&mut self, units: &[PromptUnit], cancel: &CancelToken) -> Result<&mut [f32]> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        if units.contains(&PromptUnit::Token(u32::from(b'!'))) {
            return Err(Error::new(ErrorKind::Backend, "poisoned"));
        }
        assert!(!units.contains(&PromptUnit::Token(u32::from(b'?'))), "poisoned");
        self.session.forward(units, cancel)
    }

    fn logits(&mut self) -> &mut [f32] {
        self.session.logits()
    }

    fn truncate(&mut self, length: usize) -> Result<usize> {
        self.session.truncate(length)
    }

    fn fork(&self) -> Result<Box<dyn Session>> {
        Ok(Box::new(Self { session: self.session.fork()?, calls: Arc::clone(&self.calls) }))
    }
}

#[test]
fn a_prompt_that_fails_or_panics_harms_no_other() {
    let engine = Poisoned { engine: ScriptedEngine::new([("a", "bc")]), calls: Arc::default() };
    let generator = Generator::new(Arc::new(engine), 3).unwrap();
    let of = |text: &str| prompt(text.bytes().map(u32::from));
    for _ in 0..20 {
        let good = generator.generate(of("xa"), greedy(), 5);
        let failing = generator.generate(of("x!"), greedy(), 5);
        let panicking = generator.generate(of("x?"), greedy(), 5);
        let said = outcome(good).unwrap();
        assert_eq!(said, (vec![u32::from(b'b'), u32::from(b'c')], Some(DecodeEnd::StopToken(None))));
        assert_eq!(outcome(failing).unwrap_err().to_string(), "poisoned");
        let panicked = outcome(panicking).unwrap_err();
        assert_eq!(panicked.to_string(), "the engine panicked; its session was dropped");
    }
}

/// What one caller wants, and when it loses patience: after so many events.
#[derive(Clone, Debug)]
struct Caller {
    prompt: Vec<TokenId>,
    limit: usize,
    patience: Option<usize>,
}

fn callers() -> impl Strategy<Value = Vec<Caller>> {
    // Few tokens, so that prompts begin alike.
    let caller = (prop::collection::vec(0_u32..2, 1..40), 0..12_usize, prop::option::of(0..6_usize));
    let caller = caller.prop_map(|(prompt, limit, patience)| Caller { prompt, limit, patience });
    prop::collection::vec(caller, 1..12)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn guessing_changes_no_token(
        said in prop::collection::vec(0_u32..4, 1..60),
        limit in 0..40_usize,
        seed in prop::option::of(any::<u64>()),
    ) {
        // Few tokens are likely, so that many are guessed, rightly and wrongly.
        let options = SamplingOptions {
            temperature: Some(seed.map_or(0.0, |_| 1.0)),
            seed,
            top_k: Some(3),
            logit_bias: (0..4).map(|token| (token, 9.0)).collect(),
            ..SamplingOptions::default()
        };
        let sampler = || Sampler::new(&options).unwrap();
        let plain = Generator::new(Arc::new(NoiseEngine::new([])), 1).unwrap();
        let expected = outcome(plain.generate(prompt(said.clone()), sampler(), limit)).unwrap();
        for generator in [guessing(NoiseEngine::new([])), guessing(Peculiar::forgetful())] {
            prop_assert_eq!(&outcome(generator.generate(prompt(said.clone()), sampler(), limit)).unwrap(), &expected);
            // What was guessed wrongly left nothing behind.
            let again = outcome(generator.generate(prompt(said.clone()), sampler(), limit)).unwrap();
            prop_assert_eq!(&again, &expected);
        }
    }

    #[test]
    fn whoever_else_is_served_a_reply_is_what_it_would_be_alone(callers in callers(), sessions in 1..5_usize) {
        let engine = Gated::new(NoiseEngine::new([]));
        let generator = Generator::new(Arc::new(engine.clone()), sessions).unwrap();
        let streams: Vec<_> = callers
            .iter()
            .map(|caller| generator.generate(prompt(caller.prompt.clone()), greedy(), caller.limit))
            .collect();
        engine.open_gate();
        for (caller, stream) in callers.iter().zip(streams) {
            match caller.patience {
                Some(events) => drop(block_on(stream.take(events).collect::<Vec<_>>())),
                None => {
                    let expected = alone(prompt(caller.prompt.clone()), caller.limit);
                    prop_assert_eq!(outcome(stream).unwrap().0, expected);
                }
            }
        }
        prop_assert!(engine.log().iter().all(|(_, together)| *together <= sessions));
    }
}
