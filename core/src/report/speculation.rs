//! How many draft tokens were accepted in one reply, and why there were no more drafts.

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

/// What guesses the tokens of drafts.
///
/// [`DraftStop`] has an example.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum DraftSource {
    /// The prompt and the reply so far, where the last tokens occur in them.
    Lookup,
    /// A smaller model with the same tokenizer.
    Model,
}

/// Why a reply had no more drafts from a source. Its tokens are the same as with them.
///
/// ```
/// use alloquy_core::report::{DraftSource, DraftStop, Warning};
///
/// let reason = DraftStop::TooSlow { guessed: 40, kept: 3, lost: 25 };
/// let warning = Warning::DraftsStopped { source: DraftSource::Model, reason };
/// let json = serde_json::to_string(&warning)?;
/// assert!(json.contains("too_slow"));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum DraftStop {
    /// They took more time than they saved.
    TooSlow {
        /// How many tokens were guessed in this reply until then.
        guessed: usize,
        /// How many of them were accepted.
        kept: usize,
        /// How much longer the reply took, in milliseconds. It is less than 3 % of the reply's time.
        lost: u64,
    },
    /// The model cannot remove rejected tokens from its state without computing others again.
    NotRewindable,
    /// The prompt has media, and the draft model takes tokens alone.
    Media,
    /// The context of the draft model is full, or has no room for the prompt.
    ContextFull {
        /// How many positions it has.
        context: usize,
    },
    /// The draft model failed.
    Failed {
        /// Its error.
        error: String,
    },
}
