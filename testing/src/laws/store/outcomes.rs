//! Checks of the outcome of a call, and the owner and the names that the laws use.

use std::fmt::Display;

use alloquy_core::{ConversationId, ErrorKind, Owner, Result};

/// Returns the owner of the laws that are not about owners.
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

/// Returns a value as JSON text, whose equality includes the order of fields.
pub(super) fn text(value: &impl serde::Serialize) -> String {
    must("serialize", serde_json::to_string(value))
}
