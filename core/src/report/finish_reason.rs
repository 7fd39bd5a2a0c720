//! Why a reply ended.

use serde::{Deserialize, Serialize};

/// Why a reply ended.
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
    /// The model asks for tools.
    ToolCalls,
    /// The context is full.
    ContextFull,
    /// The caller stopped it.
    #[serde(alias = "stopped")]
    Cancelled,
    /// The model failed midway, and what it said until then is kept; [`Reply::error`](crate::Reply) says how.
    Error,
}

impl FinishReason {
    /// Says whether the reply was cut off before the model was done: by the caller, or by a failure.
    pub fn is_interrupted(self) -> bool {
        matches!(self, Self::Cancelled | Self::Error)
    }
}
