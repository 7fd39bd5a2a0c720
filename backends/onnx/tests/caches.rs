//! Caches of 16, 8 and 4 bits, and the cost of forks.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::print_stderr)] // a test may panic

mod common;
#[path = "caches/narrow.rs"]
mod narrow;

use std::path::Path;

use alloquy_core::ErrorKind;
use alloquy_core::prompt::PromptUnit;
use alloquy_core::tokenizer::TokenizerInput;
use alloquy_engine::decoder::StateReader;
use alloquy_engine::{BatchStep, CancelToken, Engine, Session};
use alloquy_onnx::OnnxEngine;
use alloquy_testing::laws;

use common::{feed, likeliest, load, models, units};
use narrow::{BFLOAT16, FLOAT16, narrow, quantize};

/// An export with shared buffers. On the processor its attention computes in the number type of the cache, if that is `f16`.
const SHARED: &str = "stories260k";
const CONCAT: &str = "stories260k-past-present";

/// The largest difference of a logit from rounding keys and values to 16 bits. It depends on the chunk whether those of its own
/// tokens are rounded before the attention reads them.
const ROUNDED: [(&str, u64, f32); 4] =
    [(SHARED, FLOAT16, 0.02), (CONCAT, FLOAT16, 0.02), (CONCAT, BFLOAT16, 0.2), (WINDOWED, FLOAT16, 0.02)];

const WINDOWED: &str = "tiny/genai-gemma3-fp32-windowed";

fn narrowed(models: &Path, name: &str, kind: u64) -> (OnnxEngine, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    narrow(&models.join(name), folder.path(), kind);
    (load(Path::new("/"), folder.path().to_str().unwrap()), folder)
}

fn prompt() -> Vec<u32> {
    (20..60).collect()
}

#[test]
fn caches_of_16_bits_obey_the_laws() {
    let Some(models) = models() else { return };
    for (name, kind, tolerance) in ROUNDED {
        eprintln!("{name} in {kind}");
        let (engine, _folder) = narrowed(&models, name, kind);
        let prompt = match name {
            WINDOWED => prompt(),
            // A trained model gives similar logits for positions that it never read, whatever is there.
            _ => engine.tokenizer().encode(&[TokenizerInput::Text("Tom and Mia went to the zoo.")]).unwrap(),
        };
        laws::session::all(&engine, &prompt, tolerance);
    }
}

#[test]
fn caches_of_16_bits_take_half_the_bytes_and_say_almost_the_same() {
    let Some(models) = models() else { return };
    for (name, kind, tolerance) in ROUNDED {
        let wide = load(&models, name);
        let (narrow, _folder) = narrowed(&models, name, kind);
        let mut sessions = [&wide, &narrow].map(|engine| engine.open().unwrap());
        let logits = sessions.each_mut().map(|session| feed(session.as_mut(), &prompt(), 40));
        let differences = logits[0].iter().zip(&logits[1]).map(|(left, right)| (left - right).abs());
        let largest = differences.fold(0.0, f32::max);
        eprintln!("{name} in {kind}: logits differ by {largest}");
        assert!(largest > 0.0 && largest < tolerance, "{name} in {kind}: {largest}");
        assert_eq!(likeliest(&logits[0]), likeliest(&logits[1]), "{name} in {kind}");
        let [wide_bytes, bytes] = sessions.each_ref().map(|session| session.bytes());
        assert!(bytes > 0 && bytes * 2 == wide_bytes, "{name} in {kind}: {bytes} of {wide_bytes}");
        let mut states = [Vec::new(), Vec::new()];
        for (session, state) in sessions.iter().zip(&mut states) {
            session.snapshot(40, state).unwrap();
        }
        assert_eq!(states[1].len() * 2, states[0].len(), "{name} in {kind}");
        let mut wider = states[0].as_slice();
        let refused = narrow.open().unwrap().restore(&units(&prompt()), &mut StateReader::new(&mut wider));
        let error = refused.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{error:#}");
        assert_ne!(wide.identity(), narrow.identity());
    }
}

/// Bits of a cache's numbers, the greatest of them, and how far logits may differ when the same tokens are fed in other chunks: it depends
/// on the chunk whether keys and values are rounded before the attention reads them.
const QUANTIZED: [(u64, f32, f32); 2] = [(8, 127.0, 0.3), (4, 7.0, 8.0)];

/// Makes an export with quantized caches, and its scale from what the prompt's keys and values are.
fn quantized(models: &Path, bits: u64, greatest: f32) -> (OnnxEngine, tempfile::TempDir) {
    let engine = load(models, SHARED);
    let mut session = engine.open().unwrap();
    feed(session.as_mut(), &prompt(), 40);
    let mut state = Vec::new();
    session.snapshot(40, &mut state).unwrap();
    let numbers = state.chunks_exact(4).map(|bytes| f32::from_le_bytes(bytes.try_into().unwrap()).abs());
    let scale = numbers.fold(0.0, f32::max) * 1.25 / greatest;
    let folder = tempfile::tempdir().unwrap();
    quantize(&models.join(SHARED), folder.path(), bits, scale);
    (load(Path::new("/"), folder.path().to_str().unwrap()), folder)
}

#[test]
fn quantized_caches_obey_the_laws_and_take_their_bytes() {
    let Some(models) = models() else { return };
    let wide = load(&models, SHARED);
    let text = wide.tokenizer().encode(&[TokenizerInput::Text("Tom and Mia went to the zoo.")]).unwrap();
    for (bits, greatest, tolerance) in QUANTIZED {
        let (engine, _folder) = quantized(&models, bits, greatest);
        laws::session::all(&engine, &text, tolerance);
        let mut sessions = [&wide, &engine].map(|engine| engine.open().unwrap());
        let logits = sessions.each_mut().map(|session| feed(session.as_mut(), &text, 40));
        if bits == 8 {
            assert_eq!(likeliest(&logits[0]), likeliest(&logits[1]));
        }
        let [wide_bytes, bytes] = sessions.each_ref().map(|session| session.bytes());
        assert_eq!(bytes * 32, wide_bytes * bits as usize, "{bits} bits");
        assert_ne!(wide.identity(), engine.identity());
    }
}

/// The processor has no kernel for `bf16`.
#[test]
fn an_attention_in_bf16_is_refused_on_the_processor() {
    let Some(models) = models() else { return };
    let folder = tempfile::tempdir().unwrap();
    narrow(&models.join(SHARED), folder.path(), BFLOAT16);
    let error = OnnxEngine::load(folder.path()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Model, "{error:#}");
}

/// How many bytes one position takes.
fn position(session: &dyn Session) -> usize {
    let mut state = Vec::new();
    session.snapshot(1, &mut state).unwrap();
    state.len()
}

#[test]
fn a_fork_costs_nothing_until_it_writes_and_then_its_positions() {
    let Some(models) = models() else { return };
    let engine = load(&models, SHARED);
    let mut trunk = engine.open().unwrap();
    feed(trunk.as_mut(), &prompt(), 40);
    let position = position(&*trunk);
    let alone = trunk.bytes();
    let mut forks: Vec<_> = (0..3).map(|_| trunk.fork().unwrap()).collect();
    let of_forks: usize = forks.iter().map(|fork| fork.bytes()).sum();
    assert_eq!(trunk.bytes() + of_forks, alone, "four share the memory of one");
    // The trunk writes after the positions that the forks read.
    feed(trunk.as_mut(), &prompt(), 40);
    assert_eq!(trunk.copied(), 0);
    // A fork that was rewound copies the positions that it kept.
    forks[0].truncate(10).unwrap();
    assert_eq!(forks[0].copied(), 0, "a rewind copies nothing");
    feed(forks[0].as_mut(), &prompt(), 40);
    assert_eq!(forks[0].copied(), 10 * position);
    assert_eq!(forks[1].copied() + forks[2].copied(), 0);
    // A trunk that was rewound to before the end of its forks copies the positions that it kept.
    trunk.truncate(20).unwrap();
    feed(trunk.as_mut(), &prompt(), 40);
    assert_eq!(trunk.copied(), 20 * position);
    // Of the remaining forks, the last needs no copy.
    feed(forks[1].as_mut(), &prompt(), 40);
    assert_eq!(forks[1].copied(), 40 * position);
    feed(forks[2].as_mut(), &prompt(), 40);
    assert_eq!(forks[2].copied(), 0);
}

#[test]
fn reserved_room_is_made_once() {
    let Some(models) = models() else { return };
    let engine = load(&models, SHARED);
    let mut reserved = engine.open().unwrap();
    let mut plain = engine.open().unwrap();
    let room = 8 * prompt().len();
    reserved.reserve(room);
    for session in [&mut reserved, &mut plain] {
        for _ in 0..8 {
            feed(session.as_mut(), &prompt(), 40);
        }
    }
    assert_eq!((reserved.copied(), reserved.bytes()), (0, room * position(&*reserved)));
    assert_eq!(plain.bytes(), reserved.bytes(), "room that is not used costs nothing");
    if cfg!(debug_assertions) {
        assert!(plain.copied() > 0, "the first room is too small for so many");
    }
}

#[test]
fn a_fork_of_new_tensors_costs_nothing_and_a_rewind_the_kept_positions() {
    let Some(models) = models() else { return };
    let engine = load(&models, CONCAT);
    let mut trunk = engine.open().unwrap();
    feed(trunk.as_mut(), &prompt(), 40);
    let position = position(&*trunk);
    let alone = trunk.bytes();
    let mut fork = trunk.fork().unwrap();
    assert_eq!((trunk.bytes() + fork.bytes(), fork.copied()), (alone, 0));
    for session in [&mut trunk, &mut fork] {
        feed(session.as_mut(), &prompt(), 40);
        assert_eq!(session.copied(), 0);
    }
    fork.truncate(30).unwrap();
    assert_eq!(fork.copied(), 0, "the copy is made at the next run");
    feed(fork.as_mut(), &prompt(), 40);
    assert_eq!((trunk.copied(), fork.copied()), (0, 30 * position));
}

/// Computes a token in each of the sessions, and returns how many bytes each has copied so far.
fn step(engine: &OnnxEngine, sessions: &mut [Box<dyn Session>]) -> Vec<usize> {
    let unit = PromptUnit::Token(20);
    let steps = sessions.iter_mut().map(|session| BatchStep { session: &mut **session, unit: &unit });
    engine.forward_many(&mut steps.collect::<Vec<_>>()).unwrap();
    sessions.iter().map(|session| session.copied()).collect()
}

#[test]
fn sessions_that_step_together_are_copied_once() {
    let Some(models) = models() else { return };
    let engine = load(&models, SHARED);
    let mut trunk = engine.open().unwrap();
    feed(trunk.as_mut(), &prompt(), 40);
    let position = position(&*trunk);
    let mut sessions = vec![trunk.fork().unwrap(), trunk];
    assert_eq!(step(&engine, &mut sessions), [40 * position; 2]);
    assert_eq!(step(&engine, &mut sessions), [40 * position; 2], "they stay together");
    // A fork of one of them reads in its row, while that one continues.
    let mut late = sessions[1].fork().unwrap();
    assert_eq!(step(&engine, &mut sessions), [40 * position; 2]);
    late.truncate(15).unwrap();
    late.forward(&units(&prompt()), &CancelToken::default()).unwrap();
    assert_eq!(late.copied(), 15 * position);
    // A session that steps alone continues in its own row.
    let mut alone = vec![late];
    assert_eq!(step(&engine, &mut alone), [15 * position]);
}
