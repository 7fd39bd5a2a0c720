//! Random programs: whatever a session was fed, cut, copied, stepped with others and cancelled in, its logits are bit by bit
//! those of a fresh session that is fed the same units; and whatever a generator did before, and whomever it serves beside,
//! a reply is that of a fresh session.
//!
//! `ALLOQUY_TEST_PROGRAMS` says how many programs run of each kind:
//! `ALLOQUY_TEST_PROGRAMS=100000 cargo test --release -p alloquy-core --test programs -- --nocapture`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

use std::sync::Arc;

use alloquy_core::SamplingOptions;
use alloquy_core::prompt::{Prompt, PromptUnit};
use alloquy_core::tokenizer::TokenId;
use alloquy_engine::decoder::{DecodeEventKind, TokenStream};
use alloquy_engine::{BatchStep, CancelToken, Engine, Session};
use alloquy_inference::{Generator, Sampler};
use alloquy_testing::{NoiseEngine, ScriptedEngine};
use futures::StreamExt;
use pollster::block_on;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

/// The most sessions of a program.
const SESSIONS: usize = 8;

fn run<S: Strategy>(name: &str, programs: &S, program: impl Fn(S::Value)) {
    let count = std::env::var("ALLOQUY_TEST_PROGRAMS").map_or(200, |count| count.parse().unwrap());
    let mut runner = TestRunner::new(Config { failure_persistence: None, ..Config::with_cases(count) });
    let outcome = runner.run(programs, |actions| {
        program(actions);
        Ok(())
    });
    outcome.unwrap_or_else(|error| panic!("{name}: {error}"));
    eprintln!("{name}: {count} programs equal fresh prefills");
}

fn tokens() -> impl Strategy<Value = Vec<TokenId>> {
    prop::collection::vec(0_u32..257, 1..20)
}

fn units(tokens: &[TokenId]) -> Vec<PromptUnit> {
    tokens.iter().copied().map(PromptUnit::Token).collect()
}

/// What is done; sessions are counted round.
#[derive(Clone, Debug)]
enum Action {
    Open,
    Fork(usize),
    Drop(usize),
    /// Appends tokens to one session.
    Forward(usize, Vec<TokenId>),
    /// Cuts one session to a part of its length, in per cent.
    Truncate(usize, usize),
    /// Appends a token to each of the sessions whose bit is set.
    Step(u8, TokenId),
    /// Appends tokens to one session, and is cancelled behind some of them.
    Cancelled(usize, Vec<TokenId>, usize),
}

fn actions() -> impl Strategy<Value = Vec<Action>> {
    let action = prop_oneof![
        1 => Just(Action::Open),
        2 => (0..SESSIONS).prop_map(Action::Fork),
        1 => (0..SESSIONS).prop_map(Action::Drop),
        3 => (0..SESSIONS, tokens()).prop_map(|(at, tokens)| Action::Forward(at, tokens)),
        2 => (0..SESSIONS, 0..100_usize).prop_map(|(at, part)| Action::Truncate(at, part)),
        4 => (any::<u8>(), 0_u32..257).prop_map(|(which, token)| Action::Step(which, token)),
        2 => (0..SESSIONS, tokens(), 0..20_usize)
            .prop_map(|(at, tokens, behind)| Action::Cancelled(at, tokens, behind)),
    ];
    prop::collection::vec(action, 1..30)
}

/// A session with the tokens it must hold.
struct Held {
    session: Box<dyn Session>,
    tokens: Vec<TokenId>,
    /// Whether its logits are those behind its last token.
    is_fresh: bool,
}

impl Held {
    fn forward(&mut self, tokens: &[TokenId]) {
        self.session.forward(&units(tokens), &CancelToken::default()).unwrap();
        self.tokens.extend(tokens);
        self.is_fresh = true;
    }

    fn truncate(&mut self, part: usize) {
        let kept = self.session.truncate(self.tokens.len() * part / 100).unwrap();
        self.tokens.truncate(kept);
        self.is_fresh = false;
    }

    /// Is cancelled behind `behind` tokens, and holds what it says.
    fn cancelled(&mut self, tokens: &[TokenId], behind: usize) {
        let cancel = CancelToken::default();
        let mut fed = 0;
        if behind == 0 {
            cancel.cancel();
        }
        let outcome = self.session.forward_each(&units(tokens), &cancel, &mut |_| {
            fed += 1;
            if fed == behind {
                cancel.cancel();
            }
        });
        assert_eq!(outcome.is_err(), behind < tokens.len(), "{outcome:?}");
        assert!(outcome.err().is_none_or(|error| error.is_cancelled()));
        self.tokens.extend(&tokens[..behind.min(tokens.len())]);
        self.is_fresh = false;
    }
}

struct Program<'a> {
    engine: &'a dyn Engine,
    held: Vec<Held>,
}

impl Program<'_> {
    fn run(&mut self, action: &Action) {
        let count = self.held.len();
        match action {
            Action::Open if count < SESSIONS => {
                let session = self.engine.open().unwrap();
                self.held.push(Held { session, tokens: Vec::new(), is_fresh: false });
            }
            _ if count == 0 => {}
            Action::Fork(at) if count < SESSIONS => {
                let trunk = &self.held[at % count];
                let session = trunk.session.fork().unwrap();
                self.held.push(Held { session, tokens: trunk.tokens.clone(), is_fresh: false });
            }
            Action::Open | Action::Fork(_) => {}
            Action::Drop(at) => drop(self.held.swap_remove(at % count)),
            Action::Forward(at, tokens) => self.held[at % count].forward(tokens),
            Action::Truncate(at, part) => self.held[at % count].truncate(*part),
            Action::Step(which, token) => self.step(*which, *token),
            Action::Cancelled(at, tokens, behind) => self.held[at % count].cancelled(tokens, *behind),
        }
        self.check();
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

    /// Behind each action, every session says what it holds.
    fn check(&self) {
        for held in &self.held {
            assert_eq!(held.session.length(), held.tokens.len());
        }
    }

    /// In the end, every logit is that of a session which knows nothing of the program.
    fn compare(&mut self) {
        for held in self.held.iter_mut().filter(|held| !held.tokens.is_empty()) {
            if !held.is_fresh {
                held.forward(&[7]);
            }
            let mut fresh = self.engine.open().unwrap();
            let expected = fresh.forward(&units(&held.tokens), &CancelToken::default()).unwrap();
            let bits = |logits: &[f32]| logits.iter().map(|logit| logit.to_bits()).collect::<Vec<_>>();
            assert_eq!(bits(held.session.logits()), bits(expected));
        }
    }
}

#[test]
fn sessions_equal_fresh_prefills() {
    let script =
        ScriptedEngine::new([("a", "bcdefghijkl"), ("bc", "aaaa"), ("<user>", "na"), ("z", "<end>z")]);
    let engines: [(&str, Box<dyn Engine>); 2] =
        [("scripted sessions", Box::new(script)), ("sessions of noise", Box::new(NoiseEngine::new([])))];
    for (name, engine) in &engines {
        run(name, &actions(), |actions| {
            let mut program = Program { engine: &**engine, held: Vec::new() };
            program.run(&Action::Open);
            actions.iter().for_each(|action| program.run(action));
            program.compare();
        });
    }
}

/// What a generator is asked: to go on behind a part of something that was said before.
#[derive(Clone, Debug)]
struct Asked {
    /// Which of all that was said, counted round.
    behind: usize,
    /// How much of it is kept, in per cent.
    part: usize,
    more: Vec<TokenId>,
    limit: usize,
    /// How many events are waited for before the reply is dropped.
    patience: Option<usize>,
}

fn asked() -> impl Strategy<Value = Asked> {
    let patience = prop_oneof![3 => Just(None), 1 => (0..6_usize).prop_map(Some)];
    (0..16_usize, 0..=100_usize, tokens(), 1..8_usize, patience)
        .prop_map(|(behind, part, more, limit, patience)| Asked { behind, part, more, limit, patience })
}

/// Each turn asks several at once.
fn conversations() -> impl Strategy<Value = (usize, Vec<Vec<Asked>>)> {
    (1..4_usize, prop::collection::vec(prop::collection::vec(asked(), 1..4), 1..6))
}

/// What a session that knows nothing of the program says behind `prompt`.
fn alone(engine: &dyn Engine, prompt: &[TokenId], limit: usize) -> Vec<TokenId> {
    let mut session = engine.open().unwrap();
    let mut next = prompt.to_vec();
    let mut said = Vec::new();
    while said.len() < limit {
        let logits = session.forward(&units(&next), &CancelToken::default()).unwrap();
        // Of equals the first is drawn, as it is at temperature zero.
        let best = logits.iter().enumerate().rev().max_by(|left, right| left.1.total_cmp(right.1));
        let token = best.unwrap().0 as TokenId;
        if engine.model().stop_tokens.contains(&token) {
            break;
        }
        said.push(token);
        next = vec![token];
    }
    said
}

fn said(stream: TokenStream) -> Vec<TokenId> {
    let events = block_on(stream.collect::<Vec<_>>());
    let tokens = events.into_iter().filter_map(|event| match event.unwrap().kind {
        DecodeEventKind::Token { id, .. } => Some(id),
        _ => None,
    });
    tokens.collect()
}

#[test]
fn generators_equal_fresh_prefills() {
    let engine = Arc::new(NoiseEngine::new([]));
    let greedy = SamplingOptions { temperature: Some(0.0), ..SamplingOptions::default() };
    run("generators", &conversations(), |(sessions, turns)| {
        let generator = Generator::new(Arc::clone(&engine) as Arc<dyn Engine>, sessions).unwrap();
        let mut texts: Vec<Vec<TokenId>> = vec![vec![1, 2, 3]];
        for turn in turns {
            let prompts: Vec<Vec<TokenId>> = turn.iter().map(|asked| prompt(&texts, asked)).collect();
            let streams = prompts.iter().zip(&turn).map(|(prompt, asked)| {
                let sampler = Sampler::new(&greedy).unwrap();
                generator.generate(Prompt { units: units(prompt) }, sampler, asked.limit)
            });
            let streams: Vec<_> = streams.collect();
            for ((stream, asked), mut prompt) in streams.into_iter().zip(&turn).zip(prompts) {
                match asked.patience {
                    Some(events) => drop(block_on(stream.take(events).collect::<Vec<_>>())),
                    None => {
                        let reply = said(stream);
                        assert_eq!(reply, alone(&*engine, &prompt, asked.limit));
                        prompt.extend(reply);
                    }
                }
                texts.push(prompt);
            }
        }
    });
}

fn prompt(texts: &[Vec<TokenId>], asked: &Asked) -> Vec<TokenId> {
    let behind = &texts[asked.behind % texts.len()];
    let kept = behind.len() * asked.part / 100;
    behind[..kept].iter().chain(&asked.more).copied().collect()
}
