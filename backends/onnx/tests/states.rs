//! Models with convolutions and recurrent layers: the tokens of the reference, however a session came to its units.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::print_stderr)] // a test may panic

mod common;

use std::path::Path;

use alloquy_core::tokenizer::TokenId;
use alloquy_core::{ErrorKind, Result};
use alloquy_engine::decoder::StateReader;
use alloquy_engine::{BatchStep, CancelToken, Engine, Session};
use alloquy_onnx::OnnxEngine;
use alloquy_testing::laws;
use serde::Deserialize;

use common::{agrees, continued, feed, greedy, likeliest, load, models, units};

/// Exports with random weights, each with the file of its expected tokens, and how far logits may differ by rounding.
const EXPORTS: [(&str, &str, f32); 4] = [
    ("stateful/lfm2-fp32", "golden-lfm2.json", 1e-4),
    ("stateful/lfm2-int4", "golden-lfm2.json", 0.1),
    ("stateful/qwen3_5-fp32", "golden-qwen3_5.json", 1e-4),
    ("stateful/qwen3_5-int4", "golden-qwen3_5.json", 0.1),
];

/// The reference's tokens: Hugging Face's in 32 bits, and of the 4-bit weights those of ONNX Runtime itself.
#[derive(Deserialize)]
struct Golden {
    ids: Vec<TokenId>,
    out: Vec<TokenId>,
    out_int4_ort: Option<Vec<TokenId>>,
    /// How much less likely a token may be where a reply differs first.
    #[serde(skip)]
    margin: f32,
}

impl Golden {
    fn read(models: &Path, name: &str, file: &str) -> Self {
        let text = std::fs::read_to_string(models.join(name).join(file)).unwrap();
        let mut golden: Self = serde_json::from_str(&text).unwrap();
        if name.ends_with("int4")
            && let Some(out) = golden.out_int4_ort.take()
        {
            golden.out = out;
            golden.margin = 0.1;
        }
        golden
    }

    fn count(&self) -> usize {
        self.out.len()
    }

    /// Panics if a reply differs from the reference's by more than rounding.
    fn check(&self, engine: &OnnxEngine, said: &[TokenId], how: &str) {
        if let Err(difference) = agrees(engine, &self.ids, (said, &self.out), self.margin) {
            panic!("{how}: {difference}");
        }
    }
}

/// Calls `check` with each export and its golden.
fn each(check: impl Fn(&str, &OnnxEngine, &Golden)) {
    let Some(models) = models() else { return };
    for (name, file, _) in EXPORTS {
        check(name, &load(&models, name), &Golden::read(&models, name, file));
    }
}

#[test]
fn the_tokens_are_those_of_the_reference_fed_whole_one_by_one_and_in_sevens() {
    each(|name, engine, golden| {
        for chunk in [golden.ids.len(), 1, 7] {
            let said = greedy(engine, &golden.ids, chunk, golden.count());
            golden.check(engine, &said, &format!("{name}, in chunks of {chunk}"));
        }
    });
}

#[test]
fn a_session_goes_back_to_what_was_marked_and_to_the_beginning_otherwise() {
    each(|name, engine, golden| {
        let (first, rest) = golden.ids.split_at(20);
        let mut session = engine.open().unwrap();
        feed(session.as_mut(), first, 128);
        session.mark();
        let logits = feed(session.as_mut(), rest, 7);
        continued(session.as_mut(), logits, 10);
        assert!(!session.rewinds());
        assert_eq!(session.truncate(30).unwrap(), 20, "{name}");
        let logits = feed(session.as_mut(), rest, 128);
        let said = continued(session.as_mut(), logits, golden.count());
        golden.check(engine, &said, &format!("{name}, from the mark"));
        assert_eq!(session.truncate(19).unwrap(), 0, "{name}");
        let logits = feed(session.as_mut(), &golden.ids, 128);
        let said = continued(session.as_mut(), logits, golden.count());
        golden.check(engine, &said, &format!("{name}, from the beginning"));
    });
}

#[test]
fn one_step_can_always_be_taken_back() {
    each(|name, engine, golden| {
        let mut session = engine.open().unwrap();
        feed(session.as_mut(), &golden.ids, 128);
        let (held, wrong) = (session.length(), [5, 6, 7]);
        feed(session.as_mut(), &wrong, 3);
        assert_eq!(session.truncate(held).unwrap(), held, "{name}");
        let logits = feed(session.as_mut(), &golden.out[..1], 1);
        let mut said = vec![golden.out[0]];
        said.extend(continued(session.as_mut(), logits, golden.count() - 1));
        golden.check(engine, &said, name);
    });
}

#[test]
fn forks_and_sessions_that_step_together_see_nothing_of_each_other() {
    each(|name, engine, golden| {
        let (first, rest) = golden.ids.split_at(20);
        let mut trunk = engine.open().unwrap();
        feed(trunk.as_mut(), first, 128);
        trunk.mark();
        let mut fork = trunk.fork().unwrap();
        let mut other = engine.open().unwrap();
        feed(fork.as_mut(), &golden.out, 7);
        for unit in &units(rest) {
            let trunk = BatchStep { session: &mut *trunk, unit };
            let other = BatchStep { session: &mut *other, unit };
            engine.forward_many(&mut [trunk, other]).unwrap();
        }
        let logits = trunk.logits().to_vec();
        let said = continued(trunk.as_mut(), logits, golden.count());
        golden.check(engine, &said, name);
        drop(trunk);
        assert_eq!(fork.truncate(20).unwrap(), 20, "{name}");
        let logits = feed(fork.as_mut(), rest, 7);
        let said = continued(fork.as_mut(), logits, golden.count());
        golden.check(engine, &said, &format!("{name}, the fork"));
    });
}

#[test]
fn a_snapshot_has_the_states() -> Result<()> {
    let Some(models) = models() else { return Ok(()) };
    for (name, file, _) in EXPORTS {
        let engine = load(&models, name);
        let golden = Golden::read(&models, name, file);
        let (first, rest) = golden.ids.split_at(20);
        let mut session = engine.open()?;
        feed(session.as_mut(), first, 128);
        session.mark();
        feed(session.as_mut(), rest, 128);
        let mut state = Vec::new();
        let refused = session.snapshot(19, &mut state).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Unsupported, "{name}: {refused}");
        state.clear();
        session.snapshot(20, &mut state)?;
        // Another process has another engine.
        let mut restored = load(&models, name).open()?;
        restored.restore(&units(first), &mut StateReader::new(&mut state.as_slice()))?;
        let logits = feed(restored.as_mut(), rest, 128);
        let said = continued(restored.as_mut(), logits, golden.count());
        golden.check(&engine, &said, name);
    }
    Ok(())
}

#[test]
fn a_budget_decides_how_many_marks_are_kept() {
    let Some(models) = models() else { return };
    let (name, file, _) = EXPORTS[0];
    let golden = Golden::read(&models, name, file);
    let open = |bytes: usize| {
        let builder = OnnxEngine::builder(models.join(name)).threads(1).state_budget(bytes);
        let mut session = builder.load().unwrap().open().unwrap();
        for chunk in golden.ids.chunks(10) {
            feed(session.as_mut(), chunk, 128);
            session.mark();
        }
        session
    };
    let reached = |session: &dyn Session| [49, 39, 29, 19, 9].map(|length| session.reaches(length));
    // The last run can be taken back without a mark.
    assert_eq!(reached(&*open(0)), [49, 0, 0, 0, 0]);
    assert_eq!(reached(&*open(usize::MAX)), [49, 30, 20, 10, 0]);
    let one = bytes_of_a_state(&models, name);
    assert_eq!(reached(&*open(one)), [49, 0, 0, 0, 0]);
    assert_eq!(reached(&*open(3 * one)), [49, 10, 10, 10, 0], "the first and the last ones stay");
}

/// Returns how many bytes one state takes: what a mark of a session adds.
fn bytes_of_a_state(models: &Path, name: &str) -> usize {
    let engine = load(models, name);
    let mut state = [Vec::new(), Vec::new()];
    let mut session = engine.open().unwrap();
    for (count, state) in (1..).zip(&mut state) {
        feed(session.as_mut(), &[5], 1);
        session.snapshot(count, state).unwrap();
    }
    // A snapshot of n positions is n times their keys and values, and the states.
    2 * state[0].len() - state[1].len()
}

#[test]
fn a_cancelled_run_leaves_the_states_as_they_were() {
    each(|name, engine, golden| {
        let mut session = engine.open().unwrap();
        let (first, rest) = golden.ids.split_at(20);
        feed(session.as_mut(), first, 128);
        let cancel = CancelToken::default();
        cancel.cancel();
        assert!(session.forward(&units(rest), &cancel).unwrap_err().is_cancelled());
        assert_eq!(session.length(), 20);
        let logits = feed(session.as_mut(), rest, 128);
        assert_eq!(likeliest(&logits), golden.out[0], "{name}");
    });
}

#[test]
fn sessions_with_states_obey_the_laws() {
    let Some(models) = models() else { return };
    for (name, file, tolerance) in EXPORTS {
        laws::session::all(&load(&models, name), &Golden::read(&models, name, file).ids, tolerance);
    }
}
