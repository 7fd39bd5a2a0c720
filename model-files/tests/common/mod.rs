//! Finds the models to test with.

#![allow(clippy::print_stderr, unreachable_pub)]

use std::path::PathBuf;

/// Returns the folder of models, or reports that the test is skipped.
pub fn models() -> Option<PathBuf> {
    let default = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../shared");
    let shared = std::env::var_os("ALLOQUY_SHARED").map_or(default, PathBuf::from);
    let models = shared.join("models");
    if !models.is_dir() {
        eprintln!("skipping: {models:?} does not exist, set ALLOQUY_SHARED");
        return None;
    }
    Some(models)
}
