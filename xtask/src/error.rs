//! What stops a chore: a sentence for the person who called it.

use std::fmt;

/// A sentence that says what went wrong.
///
/// Anything that is an error itself becomes one, so a chore can use `?` throughout. (It does not implement
/// [`std::error::Error`], for otherwise that conversion would overlap with the one from itself.)
pub struct Error(String);

/// What a chore returns.
pub type Result<T = ()> = std::result::Result<T, Error>;

impl Error {
    /// Creates an error that says `sentence`.
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
