//! What everything that recalls or remembers notes must do: one public suite each, for tests.
//!
//! | suite | for |
//! |---|---|
//! | [`recall`] | [`Recall`](crate::Recall) |
//! | [`remember`] | [`Remember`](crate::Remember) |
//!
//! A broken law panics with a sentence. The suites need no async runtime, no file and no database of their own.
//!
//! [`recall::all`] and [`remember::all`] have examples.

pub mod recall;
pub mod remember;

use alloquy_core::{Owner, Result};

/// Returns a result, which a law expects.
fn must<T>(result: Result<T>, what: &str) -> T {
    result.unwrap_or_else(|error| panic!("{what} failed: {error:#}"))
}

/// Returns an owner that has no notes.
fn stranger() -> Owner {
    must("a stranger without notes".parse(), "the name of an owner")
}
