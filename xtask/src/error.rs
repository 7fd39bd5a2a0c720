//! The error of a task: a sentence for the person who started it.

use std::fmt;

/// An error: a sentence about what went wrong.
///
/// Every other error converts into it, so tasks can use `?` throughout. (It does not implement
/// [`std::error::Error`], because that conversion would then overlap with the one from itself.)
pub struct Error(String);

/// The result of a task.
pub type Result<T = ()> = std::result::Result<T, Error>;

impl Error {
    /// Creates an error with this sentence.
    pub fn new(sentence: impl Into<String>) -> Self {
        Self(sentence.into())
    }
}

impl<E: std::error::Error> From<E> for Error {
    fn from(source: E) -> Self {
        Self(source.to_string())
    }
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}
