//! Dotted ids of states, and the error of a state that is none.

use alloquy_core::{Error, ErrorKind};

pub(super) fn invalid(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Invalid, message)
}

/// Joins two ids: a root's is empty.
pub(super) fn below(parent: &str, place: usize) -> String {
    match parent {
        "" => place.to_string(),
        parent => format!("{parent}.{place}"),
    }
}
