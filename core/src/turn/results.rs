//! Replaces tool results that are too large for the store or the context by errors, which the model reads.

use crate::message::{Content, Message, ToolResult};
use crate::{Error, ErrorKind};

/// A message of results, some of which were replaced by errors.
pub(super) struct Replaced {
    pub(super) message: Message,
    /// The errors, in order.
    pub(super) results: Vec<ToolResult>,
}

/// Returns whether a store can never keep the data, in contrast to a temporary failure.
pub(super) fn is_refusal(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Invalid | ErrorKind::Unsupported)
}

/// Returns copies of `message`, each with more of its longest results replaced, if that makes them shorter: for a
/// context that is too small.
pub(super) fn too_long(message: &Message, overflow: &Error) -> Vec<Replaced> {
    let mut shorter = Vec::new();
    for (index, result, length) in longest_first(message) {
        let id = &result.id;
        let name = &result.name;
        let reason = format!(
            "the result of the call {id:?} of {name:?} has {length} characters, for which the model's context has no room: \
             {overflow}; ask for less at once"
        );
        if reason.len() < length {
            shorter.push((index, failed(result, reason)));
        }
    }
    in_steps(message, &shorter)
}

/// Returns copies of `message`, each with more of its longest results replaced: for a store that refuses it.
pub(super) fn too_much_for_the_store(message: &Message, refusal: &Error) -> Vec<Replaced> {
    let mut kept = Vec::new();
    for (index, result, length) in longest_first(message) {
        let id = &result.id;
        let name = &result.name;
        let reason = format!(
            "the result of the call {id:?} of {name:?}, of {length} characters, cannot be stored: {refusal:#}"
        );
        kept.push((index, failed(result, reason)));
    }
    in_steps(message, &kept)
}

fn failed(result: &ToolResult, reason: String) -> ToolResult {
    ToolResult { content: reason.into(), is_error: true, ..result.clone() }
}

/// Returns the results of a message with the indices of their parts and their lengths, the longest first.
fn longest_first(message: &Message) -> Vec<(usize, &ToolResult, usize)> {
    let mut found = Vec::new();
    for (index, part) in message.parts.iter().enumerate() {
        if let Content::ToolResult(result) = &part.content {
            found.push((index, result, result.text().chars().count()));
        }
    }
    found.sort_by_key(|&(_, _, length)| std::cmp::Reverse(length));
    found
}

/// Replaces one result, then two, four and so on, because each step costs a call of the model or the store.
fn in_steps(message: &Message, replaced: &[(usize, ToolResult)]) -> Vec<Replaced> {
    let mut steps = Vec::new();
    let mut count = 1;
    while count < replaced.len() {
        steps.push(step(message, replaced.get(..count).unwrap_or_default()));
        count *= 2;
    }
    if !replaced.is_empty() {
        steps.push(step(message, replaced));
    }
    steps
}

fn step(message: &Message, replaced: &[(usize, ToolResult)]) -> Replaced {
    let mut message = message.clone();
    let mut results = Vec::new();
    for (index, part) in message.parts.iter_mut().enumerate() {
        if let Some((_, result)) = replaced.iter().find(|(place, _)| *place == index) {
            part.content = Content::ToolResult(result.clone());
            results.push(result.clone());
        }
    }
    Replaced { message, results }
}
