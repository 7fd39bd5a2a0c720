//! What a reply remembers of its prompt: where the history began, so that another process begins there too.

use alloquy_core::Request;
use alloquy_core::media::Digest;
use alloquy_core::prompt::PromptCounter;
use alloquy_core::report::CutHistory;

use crate::fitting::Cut;
use crate::memory::front;

/// How many of the last replies that remember a cut are examined.
const REPLIES: usize = 4;

/// Returns the identity of a policy with its numbers; `None` where the counter has no identity.
pub(crate) fn policy(
    numbers: &impl std::fmt::Debug,
    length: &dyn PromptCounter,
    request: &Request,
) -> Option<Digest> {
    let mut bytes = length.identity()?.as_bytes().to_vec();
    bytes.extend(front(Some(&request.preface)).as_bytes());
    bytes.extend(format!("{numbers:?}").into_bytes());
    Some(Digest::of(&bytes))
}

/// Returns the place and the cut of the last reply on a request's path that remembers a cut of this policy.
pub(crate) fn remembered(request: &Request, policy: Option<Digest>) -> Option<(usize, CutHistory)> {
    let policy = policy?;
    let mut known = request.path.history_cuts().take(REPLIES);
    let (place, cut) = known.find(|(_, cut)| cut.policy == policy)?;
    Some((place, cut.clone()))
}

/// Returns what a reply to a prompt without so many messages remembers.
pub(crate) fn of(policy: Option<Digest>, dropped: usize, tokens: usize) -> Option<CutHistory> {
    let policy = policy.filter(|_| dropped > 0)?;
    Some(CutHistory::new(policy, dropped, tokens))
}

/// Returns where the path continues after a lead of so many messages.
pub(crate) fn cut(remembered: &CutHistory, lead: usize) -> Cut {
    Cut { start: lead.saturating_add(remembered.dropped), tokens: remembered.tokens }
}
