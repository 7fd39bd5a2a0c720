//! What the laws expect of a call: that it succeeds, or which error it is; and the owner and the names that calls are given.

use std::fmt::Display;

use alloquy_core::{ConversationId, ErrorKind, Owner, Result};

/// The owner in whose name laws run that are not about owners.
pub(super) fn me() -> Owner {
    Owner::local()
}

#[track_caller]
pub(super) fn must<T, E: Display>(call: &str, outcome: Result<T, E>) -> T {
    outcome.unwrap_or_else(|error| panic!("{call} must succeed, but: {error:#}"))
}

pub(super) fn kind<T>(outcome: Result<T>) -> Option<ErrorKind> {
    outcome.err().map(|error| error.kind())
}

pub(super) fn name(text: &str) -> ConversationId {
    must("a conversation id", text.parse())
}

/// Equality of values ignores the order of their fields; equality of their text does not.
pub(super) fn text(value: &impl serde::Serialize) -> String {
    must("serialise", serde_json::to_string(value))
}
