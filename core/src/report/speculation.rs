//! How many draft tokens were accepted in one reply.

use serde::{Deserialize, Serialize};

/// How many draft tokens were accepted in one reply.
///
/// ```
/// use alloquy_core::report::Speculation;
///
/// let speculation = Speculation::new(20, 15);
/// assert_eq!(100 * speculation.kept / speculation.guessed, 75);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Speculation {
    /// How many draft tokens were computed.
    pub guessed: usize,
    /// How many of them were accepted.
    pub kept: usize,
}

impl Speculation {
    /// Creates a report of draft tokens that were computed, and of those that were accepted.
    pub fn new(guessed: usize, kept: usize) -> Self {
        Self { guessed, kept }
    }
}
