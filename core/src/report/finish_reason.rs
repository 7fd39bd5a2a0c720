//! Why a reply ended.

use serde::{Deserialize, Serialize};

/// Why a reply ended.
///
/// The [`ReplyFacts`](crate::report::ReplyFacts) of a stored reply contain it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum FinishReason {
    /// The model ended it with a stop token, or with a sequence of them.
    Stop,
    /// A stop text ended it; [`Reply::stop_string`](crate::Reply) says which.
    StopString,
    /// `max_tokens` were sampled.
    #[serde(alias = "max_tokens")]
    Length,
    /// The reply looped. Its [`Warning::RepetitionStopped`](crate::report::Warning::RepetitionStopped) says what it repeated.
    Repetition,
    /// The model calls tools.
    ToolCalls,
    /// The context is full.
    ContextFull,
    /// The caller cancelled it.
    #[serde(alias = "stopped")]
    Cancelled,
    /// The model failed midway, and the text so far is kept; [`Reply::error`](crate::Reply) says why.
    Error,
}

impl FinishReason {
    /// Returns whether the caller or a failure ended the reply early.
    pub fn is_interrupted(self) -> bool {
        matches!(self, Self::Cancelled | Self::Error)
    }
}
