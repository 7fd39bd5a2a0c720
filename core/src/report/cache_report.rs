//! What of a prompt was cached, and why the rest was not.

use serde::{Deserialize, Serialize};

/// What the KV cache was good for in one reply, in units: a picture is one, however many positions it takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CacheReport {
    /// Units of the prompt.
    pub prompt: usize,
    /// Units that a session held already.
    pub reused: usize,
    /// Units that had to be computed: `prompt - reused`.
    pub forwarded: usize,
    /// Where the prompt first differs from what the session held, or what was computed there and is held no more; `None` when
    /// that was nothing else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_difference: Option<usize>,
    /// Why something was computed again that had been computed before, for earlier replies or for anything else that the
    /// engine's thread remembers; `None` when nothing was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub miss: Option<MissReason>,
}

impl CacheReport {
    /// Creates the report of a prompt of which a session held the first `reused` units.
    ///
    /// ```
    /// assert_eq!(alloquy_core::report::CacheReport::new(12, 4).forwarded, 8);
    /// ```
    pub fn new(prompt: usize, reused: usize) -> Self {
        Self { prompt, reused, forwarded: prompt.saturating_sub(reused), ..Self::default() }
    }
}

/// Why a prompt's beginning was not all reused: up to the last earlier reply, or as far as it was ever computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum MissReason {
    /// No session holds it any more, or none did: another process computed it, other branches or conversations needed the
    /// room since, or a call that failed took the session with it.
    NotHeld,
    /// What a session holds differs before the end of the earlier replies: instructions, tools or a date changed, or it is
    /// of another conversation that begins alike.
    Differs,
    /// The prompt has an earlier reply differently than it was said, or not at all: the template leaves its thoughts out,
    /// trims it or writes its calls anew, or the oldest messages were dropped.
    Rewritten,
    /// The next words of the prompt were computed in other tokens, and no reply explains it: one was dropped while it was
    /// written, and its ids with it, or words of a message were edited around which tokens join otherwise.
    Respelled,
    /// The model cannot go back to where the prompt leaves what the session holds.
    Rewound,
}

impl std::fmt::Display for MissReason {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            Self::NotHeld => "no session holds the earlier replies",
            Self::Differs => "what a session holds differs",
            Self::Rewritten => "the prompt has an earlier reply otherwise, or not at all",
            Self::Respelled => "the same words were computed in other tokens",
            Self::Rewound => "the model cannot go back so far",
        })
    }
}
