//! What became of a row.

use alloquy_core::Error;
use serde_json::{Value, json};

/// What became of a row.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// It was run: what LiteRT-LM gives, and what was found, in the same form.
    Compared { expected: Value, found: Value },
    /// It cannot be run here, and why.
    Skipped(String),
}

impl Outcome {
    pub(crate) fn compared(expected: impl Into<Value>, found: impl Into<Value>) -> Self {
        Self::Compared { expected: expected.into(), found: found.into() }
    }

    pub(crate) fn skipped(reason: impl Into<String>) -> Self {
        Self::Skipped(reason.into())
    }
}

/// An error as rows write it: the words are ours, and not compared.
pub(crate) fn error(error: &Error) -> Value {
    json!({"error": format!("{:?}: {error}", error.kind())})
}

/// A result as rows write it.
pub(crate) fn ok_or_error(result: alloquy_core::Result<Value>) -> Value {
    result.map_or_else(|found| error(&found), |value| json!({"ok": value}))
}
