//! What a reply remembers of the prompt that it answered: where its history began, so that another process begins there too.

use alloquy_core::Request;
use alloquy_core::media::Digest;
use alloquy_core::prompt::PromptLength;
use alloquy_core::report::CutHistory;

use crate::fitting::Cut;
use crate::memory::front;

/// How many of the last replies that remember something are asked.
const REPLIES: usize = 4;

/// What tells a policy with its numbers from others, as far as its lengths say whose they are.
pub(crate) fn policy(
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
