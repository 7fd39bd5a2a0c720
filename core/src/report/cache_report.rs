//! How much of a prompt was cached, and why the rest was not.

use serde::{Deserialize, Serialize};

/// How much of one prompt the KV cache had, in units: an image is one unit, however many positions it takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CacheReport {
    /// Units of the prompt.
    pub prompt: usize,
    /// Units that a session had cached.
    #[serde(alias = "reused")]
    pub cached: usize,
    /// Units that had to be computed: `prompt - cached`.
    #[serde(alias = "forwarded")]
    pub computed: usize,
    /// Where the prompt first differs from what the session has or had cached; `None` if it differs nowhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_difference: Option<usize>,
    /// Why a part of the prompt was computed again; `None` if nothing was computed twice, as far as the engine's thread
    /// remembers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub miss: Option<MissReason>,
}

impl CacheReport {
    /// Creates the report of a prompt whose first `cached` units were cached.
    ///
    /// ```
    /// use alloquy_core::report::{CacheReport, MissReason};
    ///
    /// let mut report = CacheReport::new(12, 4);
    /// report.miss = Some(MissReason::Evicted);
    /// assert_eq!(report.computed, 8);
    /// ```
    pub fn new(prompt: usize, cached: usize) -> Self {
        Self { prompt, cached, computed: prompt.saturating_sub(cached), ..Self::default() }
    }
}

/// Why the prefix of a prompt was not fully cached, up to the last earlier reply or as far as it was ever computed.
///
/// A [`CacheReport`] contains it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum MissReason {
    /// No session has it cached: another process computed it, other branches or conversations needed the space, or a
    /// failed call ended the session.
    #[serde(alias = "not_held")]
    Evicted,
    /// The cached tokens differ before the end of the earlier replies: instructions, tools or a date changed, or they
    /// are of another conversation with the same beginning.
    #[serde(alias = "differs")]
    Changed,
    /// The prompt contains an earlier reply in another form, or not at all. The template omits its thinking, trims it or
    /// formats its calls again, or the oldest messages were dropped.
    Rewritten,
    /// The same text was computed as other tokens. A reply was dropped while it was generated, and its ids with it, or
    /// an edit changed how the tokens around it are split.
    #[serde(alias = "respelled")]
    Retokenized,
    /// The model cannot rewind to the place where the prompt differs from the cached tokens.
    #[serde(alias = "rewound")]
    NotRewindable,
    /// Another server has it cached, which was unavailable.
    ServedElsewhere,
    /// The server does not say how much it had cached, so [`CacheReport::cached`] is 0.
    Unreported,
}

impl std::fmt::Display for MissReason {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            Self::Evicted => "no session has the earlier replies cached",
            Self::Changed => "the cached tokens differ",
            Self::Rewritten => "the prompt has an earlier reply in another form, or not at all",
            Self::Retokenized => "the same text was computed as other tokens",
            Self::NotRewindable => "the model cannot rewind so far",
            Self::ServedElsewhere => "another server has it cached",
            Self::Unreported => "the server does not say how much it had cached",
        })
    }
}
