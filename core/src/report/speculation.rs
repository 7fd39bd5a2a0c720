//! How well tokens were guessed.

use serde::{Deserialize, Serialize};

/// How well tokens were guessed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Speculation {
    /// How many were guessed and computed.
    pub guessed: usize,
    /// How many of them the model drew.
    pub kept: usize,
}

impl Speculation {
    /// Counts tokens that were guessed and computed, and those of them that the model drew.
    pub fn new(guessed: usize, kept: usize) -> Self {
        Self { guessed, kept }
    }
}
