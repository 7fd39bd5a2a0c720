//! Dotted ids of states, and the error of an invalid state.

use alloquy_core::{Error, ErrorKind};

pub(super) fn invalid(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Invalid, message)
}

/// Returns the id of the child at `place`: `0.2` of `0` and 2. The id of the root is empty.
pub(super) fn below(parent: &str, place: usize) -> String {
    match parent {
        "" => place.to_string(),
        parent => format!("{parent}.{place}"),
    }
}
