//! Random programs over several sessions: after any series of runs, rewinds, forks and steps, the logits are those of a
//! fresh session with the same tokens.
//!
//! `ALLOQUY_TEST_PROGRAMS` says how many programs run on each export; a plain test runs a few. `ALLOQUY_TEST_EXPORTS` names the exports, if not
//! all are wanted.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

mod common;

use alloquy_core::prompt::PromptUnit;
use alloquy_core::tokenizer::TokenId;
use alloquy_engine::{BatchStep, CancelToken, Engine, Session};
use alloquy_onnx::{CacheLocation, CacheMemory, OnnxEngine};
use common::{builder, feed, load, models, units};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

/// Exports of each layout, with the largest difference of a logit from rounding. Kernels of 4 bits round activations block by block, and a
/// recurrent state keeps what was rounded: when ONNX Runtime alone is fed 12,000 random prompts of up to 60 tokens in other parts, logits of
/// `qwen3_5-int4` differ by up to 0.24, and the programs have longer texts in more parts.
const EXPORTS: [(&str, f32); 10] = [
    ("stories260k", 2e-3),
    ("stories260k-past-present", 2e-3),
    ("tiny/genai-qwen3-fp32", 1e-4),
    ("tiny/genai-gemma3-fp32-windowed", 1e-4),
    ("tiny/optimum-qwen3", 1e-4),
    ("tiny/genai-qwen3-int4", 0.1),
    ("stateful/lfm2-fp32", 1e-4),
    ("stateful/lfm2-int4", 0.1),
    ("stateful/qwen3_5-fp32", 1e-4),
    ("stateful/qwen3_5-int4", 0.5),
];

/// Exports with state, the same tolerances, and the bytes of one state.
const STATES: [(&str, f32, usize); 4] = [
    ("stateful/lfm2-fp32", 1e-4, 1024),
    ("stateful/lfm2-int4", 0.1, 1024),
    ("stateful/qwen3_5-fp32", 1e-4, 16_896),
    ("stateful/qwen3_5-int4", 0.5, 16_896),
];

/// One action of a program. Numbers of sessions wrap around.
#[derive(Clone, Debug)]
enum Action {
    Open,
    Fork(usize),
    Drop(usize),
    /// Appends tokens to one session.
    Forward(usize, Vec<TokenId>),
    /// Rewinds one session to a part of its length, in per cent.
    Truncate(usize, usize),
    /// Marks the length of one session.
    Mark(usize),
    /// Appends a token to each of the sessions whose bit is set.
    Step(u8, TokenId),
    /// Starts to append tokens to one session, and is cancelled at once.
    Cancelled(usize, Vec<TokenId>),
}

fn token_lists() -> impl Strategy<Value = Vec<TokenId>> {
    prop::collection::vec(3_u32..500, 1..20)
}

fn actions() -> impl Strategy<Value = Vec<Action>> {
    let action = prop_oneof![
        1 => Just(Action::Open),
        2 => (0..8_usize).prop_map(Action::Fork),
        1 => (0..8_usize).prop_map(Action::Drop),
        3 => (0..8_usize, token_lists()).prop_map(|(at, tokens)| Action::Forward(at, tokens)),
        2 => (0..8_usize, 0..100_usize).prop_map(|(at, part)| Action::Truncate(at, part)),
        2 => (0..8_usize).prop_map(Action::Mark),
        8 => (any::<u8>(), 3_u32..500).prop_map(|(which, token)| Action::Step(which, token)),
        1 => (0..8_usize, token_lists()).prop_map(|(at, tokens)| Action::Cancelled(at, tokens)),
    ];
    prop::collection::vec(action, 1..30)
}

/// A session with the tokens it must hold.
struct Held {
    session: Box<dyn Session>,
    tokens: Vec<TokenId>,
    /// Whether its logits are those after its last token.
    is_fresh: bool,
}

struct Program<'a> {
    engine: &'a OnnxEngine,
    held: Vec<Held>,
    tolerance: f32,
}

impl Program<'_> {
    fn run(&mut self, action: &Action) {
        match action {
            Action::Open if self.held.len() < 8 => {
                let session = self.engine.open().unwrap();
                self.held.push(Held { session, tokens: Vec::new(), is_fresh: false });
            }
            Action::Open => {}
            action => self.change(action),
        }
    }

    fn change(&mut self, action: &Action) {
        let count = self.held.len();
        match action {
            _ if count == 0 => {}
            Action::Fork(at) if count < 8 => {
                let trunk = &self.held[at % count];
                let session = trunk.session.fork().unwrap();
                self.held.push(Held { session, tokens: trunk.tokens.clone(), is_fresh: false });
            }
            Action::Drop(at) => drop(self.held.swap_remove(at % count)),
            Action::Forward(at, tokens) => self.held[at % count].forward(tokens, &CancelToken::default()),
            Action::Truncate(at, part) => self.held[at % count].truncate(*part),
            Action::Mark(at) => self.held[at % count].session.mark(),
            Action::Step(which, token) => self.step(*which, *token),
            Action::Cancelled(at, tokens) => {
                let cancel = CancelToken::default();
                cancel.cancel();
                self.held[at % count].forward(tokens, &cancel);
            }
            Action::Open | Action::Fork(_) => {}
        }
    }

    fn step(&mut self, which: u8, token: TokenId) {
        let unit = PromptUnit::Token(token);
        let chosen = self.held.iter_mut().enumerate().filter(|(at, _)| which & (1 << at) != 0);
        let mut chosen: Vec<_> = chosen.map(|(_, held)| held).collect();
        let steps = chosen.iter_mut().map(|held| BatchStep { session: &mut *held.session, unit: &unit });
        self.engine.forward_many(&mut steps.collect::<Vec<_>>()).unwrap();
        for held in chosen {
            held.tokens.push(token);
            held.is_fresh = true;
        }
    }

    fn check(&mut self) {
        for held in self.held.iter_mut().filter(|held| held.is_fresh) {
            let expected = feed(self.engine.open().unwrap().as_mut(), &held.tokens, 512);
            let differences =
                held.session.logits().iter().zip(&expected).map(|(left, right)| (left - right).abs());
            let largest = differences.fold(0.0, f32::max);
            assert!(
                largest <= self.tolerance,
                "logits differ by {largest} after {} tokens",
                held.tokens.len()
            );
        }
    }
}

impl Held {
    fn forward(&mut self, tokens: &[TokenId], cancel: &CancelToken) {
        match self.session.forward(&units(tokens), cancel) {
            Ok(_) => {
                self.tokens.extend(tokens);
                self.is_fresh = true;
            }
            Err(error) => assert!(error.is_cancelled(), "{error:#}"),
        }
        assert_eq!(self.session.length(), self.tokens.len());
    }

    fn truncate(&mut self, part: usize) {
        let length = self.tokens.len() * part / 100;
        let kept = self.session.truncate(length).unwrap();
        self.tokens.truncate(kept);
        self.is_fresh = false;
    }
}

#[test]
fn random_programs_equal_fresh_prefills() {
    let Some(models) = models() else { return };
    for (name, tolerance) in EXPORTS.into_iter().filter(is_wanted) {
        run_programs(name, &load(&models, name), tolerance);
    }
}

#[test]
fn random_programs_equal_fresh_prefills_whatever_states_are_kept() {
    let Some(models) = models() else { return };
    for (name, tolerance, state) in
        STATES.into_iter().filter(|(name, tolerance, _)| is_wanted(&(*name, *tolerance)))
    {
        for kept in [0, 1, 3] {
            let builder = builder(&models.join(name)).state_budget(kept * state);
            let engine = builder.load().unwrap_or_else(|error| panic!("{name}: {error:#}"));
            run_programs(&format!("{name}, {kept} states kept"), &engine, tolerance);
        }
    }
}

#[test]
fn random_programs_equal_fresh_prefills_with_caches_that_the_provider_allocates() {
    let Some(models) = models() else { return };
    for (name, tolerance) in EXPORTS.into_iter().filter(is_wanted) {
        let engine = builder(&models.join(name)).cache_memory(CacheMemory::Provider).load();
        let engine = engine.unwrap_or_else(|error| panic!("{name}: {error:#}"));
        assert!(matches!(engine.cache_location(), CacheLocation::Provider { .. }));
        run_programs(&format!("{name}, in the provider's memory"), &engine, tolerance);
    }
}

fn is_wanted((name, _): &(&str, f32)) -> bool {
    match std::env::var("ALLOQUY_TEST_EXPORTS") {
        Ok(wanted) => wanted.split(',').any(|one| one == *name),
        Err(_) => true,
    }
}

fn run_programs(name: &str, engine: &OnnxEngine, tolerance: f32) {
    let programs = std::env::var("ALLOQUY_TEST_PROGRAMS").map_or(20, |count| count.parse().unwrap());
    let config = Config { failure_persistence: None, ..Config::with_cases(programs) };
    let outcome = TestRunner::new(config).run(&actions(), |actions| {
        let mut program = Program { engine, held: Vec::new(), tolerance };
        program.run(&Action::Open);
        for action in &actions {
            program.run(action);
        }
        program.check();
        Ok(())
    });
    outcome.unwrap_or_else(|error| panic!("{name}: {error}"));
    eprintln!("{name}: {programs} programs equal fresh prefills");
}
