//! Turns that are cancelled at any moment: the next one works, and says what it would have said without.
//!
//! `ALLOQUY_CANCELS` says how many turns are cancelled:
//! `ALLOQUY_CANCELS=10000 cargo test --release -p alloquy-core --test cancels -- --nocapture`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use alloquy_core::model_info::ModelInfo;
use alloquy_core::prompt::PromptUnit;
use alloquy_core::stop::StopSignal;
use alloquy_core::template::PromptEnd;
use alloquy_core::tokenizer::{TokenId, Tokenizer};
use alloquy_core::{ChatModel, Conversation, Manager, Preface, Request, Result, SamplingOptions, Turn};
use alloquy_engine::{CancelToken, Engine, Session};
use alloquy_inference::{Generator, GeneratorOptions, LanguageModel};
use alloquy_testing::{Draws, NoiseEngine, ScriptedEngine, TaggedProcessor, TaggedTemplate};
use futures::StreamExt;
use pollster::block_on;

/// Cancelled turns of one chat.
const CANCELS: usize = 10;

/// A model whose every token depends on all that it was fed, so that nothing wrong goes unseen.
fn round() -> Arc<LanguageModel> {
    let engine = Arc::new(NoiseEngine::new(["<user>", "<assistant>", "<system>"]));
    Arc::new(
        LanguageModel::builder(Generator::new(engine, 2).unwrap())
            .template(TaggedTemplate)
            .processor(TaggedProcessor)
            .build()
            .unwrap(),
    )
}

fn sampling() -> SamplingOptions {
    SamplingOptions { temperature: Some(0.0), max_tokens: Some(12), ..SamplingOptions::default() }
}

/// What a model that was never asked anything says to it.
async fn unspoilt(request: Request) -> Vec<TokenId> {
    round().reply(request).await.unwrap().finish().await.unwrap().tokens
}

/// Listens to a few events, lets the model run on for a moment, and cancels.
async fn cancel(mut turn: Turn, draws: &mut Draws) {
    for _ in 0..draws.below(16) {
        turn.next().await;
    }
    for _ in 0..draws.below(2000) {
        std::hint::spin_loop();
    }
    if draws.below(2) == 0 {
        return drop(turn);
    }
    turn.cancel();
    if let Err(error) = turn.finish().await {
        assert!(error.is_cancelled(), "{error:#}");
    }
}

/// Asks, and compares with what is said where nothing was ever cancelled.
async fn ask(conversation: &Conversation, question: &str) {
    conversation.add(question).await.unwrap();
    let request = conversation.request().await.unwrap().ending(PromptEnd::Generation);
    let expected = unspoilt(request).await;
    let reply = conversation.complete(alloquy_core::TurnRequest::default()).finish().await.unwrap();
    assert_eq!(reply.reply.tokens, expected, "behind {question:?}");
}

#[test]
fn the_turn_behind_a_cancelled_one_is_as_without_it() {
    let cancels = std::env::var("ALLOQUY_CANCELS").map_or(100, |count| count.parse().unwrap());
    let model: Arc<dyn ChatModel> = round();
    let manager = Manager::builder(model).sampling(sampling()).build().unwrap();
    let mut draws = Draws::default();
    block_on(async {
        for _ in 0..usize::div_ceil(cancels, CANCELS) {
            let conversation = manager.create(Preface::system("x".repeat(draws.below(400)))).await.unwrap();
            for _ in 0..CANCELS {
                let long = "q".repeat(1 + draws.below(150));
                cancel(conversation.send(long), &mut draws).await;
                ask(&conversation, "And now?").await;
            }
            manager.store().delete(manager.owner(), conversation.id()).await.unwrap();
        }
    });
    eprintln!("{cancels} cancelled turns, each followed by one that equals a run without them");
}

/// A scripted engine that is cancelled within a chunk, and computes that chunk to its end nevertheless.
#[derive(Debug)]
struct Deaf {
    engine: ScriptedEngine,
    progress: Arc<MatcherState>,
}

#[derive(Debug, Default)]
struct MatcherState {
    chunks: AtomicUsize,
    stop: OnceLock<StopSignal>,
}

/// The chunk in which it is cancelled.
const STOPPED_IN: usize = 3;

struct DeafSession {
    session: Box<dyn Session>,
    progress: Arc<MatcherState>,
}

impl Engine for Deaf {
    fn model(&self) -> &ModelInfo {
        self.engine.model()
    }

    fn tokenizer(&self) -> &dyn Tokenizer {
        self.engine.tokenizer()
    }

    fn open(&self) -> Result<Box<dyn Session>> {
        Ok(Box::new(DeafSession { session: self.engine.open()?, progress: Arc::clone(&self.progress) }))
    }
}

impl Session for DeafSession {
    fn length(&self) -> usize {
        self.session.length()
    }

    fn forward(&mut self, units: &[PromptUnit], cancel: &CancelToken) -> Result<&mut [f32]> {
        let chunk = 1 + self.progress.chunks.fetch_add(1, Ordering::SeqCst);
        if chunk == STOPPED_IN
            && let Some(stop) = self.progress.stop.get()
        {
            stop.stop();
            let patience = Instant::now() + Duration::from_secs(60);
            while !cancel.is_cancelled() {
                assert!(Instant::now() < patience, "nobody was told of the stop");
                std::thread::yield_now();
            }
        }
        self.session.forward(units, &CancelToken::default())
    }

    fn logits(&mut self) -> &mut [f32] {
        self.session.logits()
    }

    fn truncate(&mut self, length: usize) -> Result<usize> {
        self.session.truncate(length)
    }

    fn fork(&self) -> Result<Box<dyn Session>> {
        Ok(Box::new(Self { session: self.session.fork()?, progress: Arc::clone(&self.progress) }))
    }
}

#[test]
fn a_long_prompt_that_is_stopped_ends_with_the_chunk_it_is_in() {
    let progress = Arc::new(MatcherState::default());
    let engine = ScriptedEngine::new([("<assistant>", "Hello!")]).context_length(5000);
    let engine = Arc::new(Deaf { engine, progress: Arc::clone(&progress) });
    let chunk = engine.prefill_chunk();
    let round = LanguageModel::builder(Generator::new(engine, GeneratorOptions::default()).unwrap())
        .template(TaggedTemplate)
        .processor(TaggedProcessor)
        .build()
        .unwrap();
    let manager = Manager::new(round);
    block_on(async {
        let conversation = manager.create(Preface::default()).await.unwrap();
        let question = "x".repeat(4096);
        let turn = conversation.send(question.as_str());
        progress.stop.set(turn.stop_signal()).unwrap();
        assert!(turn.finish().await.unwrap_err().is_cancelled());
        // Another call is answered behind whatever of the first is still being done.
        let reply = conversation.send(question).finish().await.unwrap().reply;
        let cache = reply.cache.unwrap();
        assert_eq!((reply.text().as_str(), cache.cached), ("Hello!", STOPPED_IN * chunk), "{cache:?}");
        let rest = cache.computed.div_ceil(chunk) + "Hello!".len();
        assert_eq!(progress.chunks.load(Ordering::SeqCst), STOPPED_IN + rest, "chunks ran behind the stop");
    });
}
