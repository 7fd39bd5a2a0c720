//! Sounds as tensors, compared with what Hugging Face's processors make of them.
//!
//! Reads the folder that `ALLOQUY_CASES` names, or `cases/media` below `ALLOQUY_SHARED`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

#[path = "media/audio.rs"]
mod audio;

use std::env;
use std::path::{Path, PathBuf};

/// What came of a case.
pub struct Outcome {
    case: String,
    result: Result<(), String>,
    /// Why it is done otherwise than Hugging Face does it, on purpose.
    difference: Option<&'static str>,
}

impl Outcome {
    fn of(case: String, result: Result<(), String>) -> Self {
        Self { case, result, difference: None }
    }

    fn different(case: String, reason: &'static str) -> Self {
        Self { case, result: Ok(()), difference: Some(reason) }
    }
}

#[test]
fn sounds_become_what_they_become_elsewhere() {
    let shared = env::var_os("ALLOQUY_SHARED")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared"), PathBuf::from);
    let cases = env::var_os("ALLOQUY_CASES").map_or_else(|| shared.join("cases/media"), PathBuf::from);
    if !cases.join("golden/compact.json").is_file() {
        println!("Skipping media cases: {} is not there", cases.display());
        return;
    }
    let outcomes = audio::audio(&cases);
    for outcome in &outcomes {
        match (&outcome.result, outcome.difference) {
            (Err(error), _) => println!("FAILED {}: {error}", outcome.case),
            (Ok(()), Some(reason)) => println!("different {}: {reason}", outcome.case),
            (Ok(()), None) => {}
        }
    }
    let failed = outcomes.iter().filter(|outcome| outcome.result.is_err()).count();
    println!("{} passed, {failed} failed", outcomes.len() - failed);
    assert_eq!(failed, 0);
}
