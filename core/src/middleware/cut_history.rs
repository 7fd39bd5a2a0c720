//! What a reply remembers of the prompt that it answered: where its history began, so that another process begins there too.

use serde::{Deserialize, Serialize};

use super::fitting::{Cut, PromptLength};
use super::memory::front;
use crate::chat_model::Request;
use crate::media::Digest;

/// How many of the last replies that remember something are asked.
const REPLIES: usize = 4;

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

/// What tells a policy with its numbers from others, as far as its lengths say whose they are.
pub(super) fn policy(
    numbers: &impl std::fmt::Debug,
    length: &dyn PromptLength,
    request: &Request,
) -> Option<Digest> {
    let mut said = length.identity()?.as_bytes().to_vec();
    said.extend(front(Some(&request.preface)).as_bytes());
    said.extend(format!("{numbers:?}").into_bytes());
    Some(Digest::of(&said))
}

/// Returns the last reply on the path of a request that remembers a cut of this policy: its place, and the cut.
pub(super) fn remembered(request: &Request, policy: Option<Digest>) -> Option<(usize, CutHistory)> {
    let policy = policy?;
    let mut known = request.path.cuts().take(REPLIES);
    known.find_map(|(place, cut)| {
        let cut = CutHistory::deserialize(cut).ok().filter(|cut| cut.policy == policy)?;
        Some((place, cut))
    })
}

impl CutHistory {
    /// What a reply to a prompt without so many messages remembers.
    pub(super) fn of(policy: Option<Digest>, dropped: usize, tokens: usize) -> Option<Self> {
        let policy = policy.filter(|_| dropped > 0)?;
        Some(Self { policy, dropped, tokens, summary: None })
    }

    /// The cut behind a lead.
    pub(super) fn cut(&self, lead: usize) -> Cut {
        Cut { start: lead.saturating_add(self.dropped), tokens: self.tokens }
    }
}
