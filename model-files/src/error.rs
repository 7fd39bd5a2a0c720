//! Creates the errors for a model's files.

use std::path::Path;

use alloquy_core::{Error, ErrorKind};

/// Returns the error for files that are missing, damaged or contradict each other.
pub(crate) fn model(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Model, message)
}

/// Returns the error for a file that could not be read.
pub(crate) fn unreadable(path: &Path, source: std::io::Error) -> Error {
    model(format!("could not read {path:?}")).with_source(source)
}
