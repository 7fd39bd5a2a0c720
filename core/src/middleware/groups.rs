//! Turns of a conversation that are left out together: a question with everything up to the next one. Knows roles, calls and
//! results; counts nothing.

use std::collections::HashMap;

use crate::media::Digest;
use crate::message::{Message, Role};

/// The groups of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Groups {
    /// How many messages at the beginning always stay: system messages, and the groups that are pinned.
    pub(super) lead: usize,
    /// Where the path may go on behind them, the last group's beginning last.
    restarts: Vec<usize>,
}

impl Groups {
    /// Looks at a path of which the first `pinned` groups stay. What stands before the first question is of its group.
    pub(super) fn new(path: &[Message], pinned: usize) -> Self {
        let system = path.iter().take_while(|message| message.role == Role::System).count();
        let later = questions(path, system).into_iter().skip(1);
        let starts: Vec<_> = std::iter::once(system).chain(later).collect();
        let lead = starts.get(pinned).copied().unwrap_or(path.len());
        let restarts = starts.into_iter().filter(|start| *start > lead).collect();
        Self { lead, restarts }
    }

    /// The places behind the lead where the path may go on.
    pub(super) fn restarts(&self) -> &[usize] {
        &self.restarts
    }

    /// What tells one conversation from another at each of these places.
    pub(super) fn digests(&self, path: &[Message]) -> Vec<Digest> {
        let behind = path.get(self.lead..).unwrap_or_default();
        let ends: Vec<_> = self.restarts.iter().map(|restart| restart - self.lead).collect();
        digests(Vec::new(), behind, &ends)
    }
}

/// The messages of the user from `from` on at which a path can be taken up: no result behind belongs to a call before.
pub(super) fn questions(path: &[Message], from: usize) -> Vec<usize> {
    let mut calls = HashMap::new();
    // For each place, the earliest call that is answered there or later.
    let mut needed = vec![usize::MAX; path.len() + 1];
    for (index, message) in path.iter().enumerate() {
        calls.extend(message.tool_calls().map(|call| (call.id.as_str(), index)));
        let asked = message.tool_results().filter_map(|result| calls.get(result.id.as_str()));
        if let (Some(earliest), Some(place)) = (asked.min(), needed.get_mut(index)) {
            *place = *earliest;
        }
    }
    let mut earliest = usize::MAX;
    for place in needed.iter_mut().rev() {
        earliest = earliest.min(*place);
        *place = earliest;
    }
    let asked = path.iter().zip(&needed).enumerate().skip(from);
    let whole = asked.filter(|(index, (message, call))| message.role == Role::User && *call >= index);
    whole.map(|(index, _)| index).collect()
}

/// What tells one conversation from another at each of `ends`: `said`, and everything that was said up to there.
pub(super) fn digests(mut said: Vec<u8>, path: &[Message], ends: &[usize]) -> Vec<Digest> {
    let mut position = 0;
    let mut digests = Vec::with_capacity(ends.len());
    for end in ends {
        for message in path.iter().take(*end).skip(position) {
            said.extend(written(message));
        }
        position = *end;
        let digest = Digest::of(&said);
        digests.push(digest);
        said = digest.as_bytes().to_vec();
    }
    digests
}

/// The JSON of something, which for a message or a preface always exists.
pub(super) fn written(value: &impl serde::Serialize) -> Vec<u8> {
    serde_json::to_vec(value).unwrap_or_default()
}
