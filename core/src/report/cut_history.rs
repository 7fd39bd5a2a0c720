//! Where the history of a reply's prompt began, as the reply remembers it. Knows no policy.

use serde::{Deserialize, Serialize};

use crate::media::Digest;

/// Where the history of a prompt began, and by which policy: a reply's node keeps it, so that the conversation goes on from
/// there in any process. A policy takes it up that decides by the same numbers, for the same model and preface.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CutHistory {
    /// What tells the policy, the model and the preface from others.
    pub policy: Digest,
    /// How many messages were left out.
    pub dropped: usize,
    /// How many units the prompt was shorter for that.
    pub tokens: usize,
    /// What stood in their place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<CutSummary>,
}

impl CutHistory {
    /// Returns a cut without a summary.
    pub fn new(policy: Digest, dropped: usize, tokens: usize) -> Self {
        Self { policy, dropped, tokens, summary: None }
    }
}

/// A summary that stood for messages that were left out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CutSummary {
    /// What it says.
    pub text: String,
    /// How many of the messages it does not cover.
    pub left_out: usize,
    /// It ended at its limit of tokens.
    pub cut: bool,
}

impl CutSummary {
    /// Returns a summary that covers all of the messages and is complete.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), left_out: 0, cut: false }
    }
}
