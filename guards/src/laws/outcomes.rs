//! Outcomes of calls that a law expects.

use alloquy_core::Result;

/// Returns what a call returned.
pub(super) fn must<T>(call: &str, outcome: Result<T>) -> T {
    match outcome {
        Ok(value) => value,
        Err(error) => panic!("{call} works: {error:#}"),
    }
}
