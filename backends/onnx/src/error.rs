//! Constructors for the errors of this crate.

use std::path::Path;

use alloquy_core::{Error, ErrorKind};

/// A model's files are missing, damaged or contradict each other.
pub(crate) fn model(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Model, message)
}

/// An export that cannot be run here.
pub(crate) fn unsupported(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Unsupported, message)
}

/// An option or an argument is wrong.
pub(crate) fn invalid(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Invalid, message)
}

/// A file could not be read.
pub(crate) fn unreadable(path: &Path, source: std::io::Error) -> Error {
    model(format!("could not read {path:?}")).with_source(source)
}

/// ONNX Runtime failed at what `action` says.
pub(crate) fn runtime<Recover>(action: &str) -> impl FnOnce(ort::Error<Recover>) -> Error + '_ {
    move |source| {
        let cause = Cause(source.message().to_owned());
        Error::new(ErrorKind::Backend, format!("ONNX Runtime could not {action}")).with_source(cause)
    }
}

/// The message of ONNX Runtime alone: its error type can hold values that an [`Error`] must not hold.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Cause(pub(crate) String);
