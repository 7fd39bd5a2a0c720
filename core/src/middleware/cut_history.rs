//! What a reply remembers of the prompt that it answered: where its history began, so that another process begins there too.

use super::fitting::{Cut, PromptLength};
use super::memory::front;
use crate::chat_model::Request;
use crate::media::Digest;
use crate::report::CutHistory;

/// How many of the last replies that remember something are asked.
const REPLIES: usize = 4;

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
    let (place, cut) = known.find(|(_, cut)| cut.policy == policy)?;
    Some((place, cut.clone()))
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
