//! Where the history in a reply's prompt began, as its node stores it.

use serde::{Deserialize, Serialize};

use crate::media::Digest;

/// Where the history in a prompt began, and which policy decided it. A reply's node stores it, so that the conversation
/// continues from there in any process. A policy uses it if its numbers, its model and its preface are the same.
///
/// ```
/// use alloquy_core::media::Digest;
/// use alloquy_core::report::{CutHistory, CutSummary};
/// use alloquy_core::{Message, Reply};
///
/// // A middleware that leaves out 12 messages notes it in the reply.
/// let mut cut = CutHistory::new(Digest::of(b"the policy and its numbers"), 12, 3400);
/// cut.summary = Some(CutSummary::new("They compared teas."));
/// let mut reply = Reply::new(Message::assistant("Green tea."));
/// reply.cut = Some(cut);
/// assert_eq!(reply.cut.map(|cut| cut.dropped), Some(12));
/// ```
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
///
/// A [`CutHistory`] contains it.
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
