//! How well tokens were guessed.

use serde::{Deserialize, Serialize};

/// How well tokens were guessed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Speculation {
    /// How many were guessed and computed.
    pub guessed: usize,
    /// How many of them the model drew.
    pub kept: usize,
}
