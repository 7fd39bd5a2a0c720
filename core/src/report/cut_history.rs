//! Where the history in a reply's prompt began, as its node stores it.

use serde::{Deserialize, Serialize};

use crate::media::Digest;

/// Where the history in a prompt began, and which policy decided it. A reply's node stores it, so that the conversation
/// continues from there in any process. A policy uses it if its numbers, its model and its preface are the same.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CutHistory {
    /// The digest of the policy, the model and the preface.
    pub policy: Digest,
    /// How many messages were left out.
    pub dropped: usize,
    /// The units by which that shortened the prompt.
    pub tokens: usize,
    /// The summary that replaced them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<CutSummary>,
}

impl CutHistory {
    /// Creates a cut without a summary.
    pub fn new(policy: Digest, dropped: usize, tokens: usize) -> Self {
        Self { policy, dropped, tokens, summary: None }
    }
}

/// A summary of messages that were left out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CutSummary {
    /// Its text.
    pub text: String,
    /// How many of these messages it does not cover.
    pub left_out: usize,
    /// Whether it ended at its token limit.
    pub cut: bool,
}

impl CutSummary {
    /// Creates a complete summary of all of the messages.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), left_out: 0, cut: false }
    }
}
