//! Results of tools that cannot be kept or taken: errors stand for them, which the model reads. Knows no store, no model.

use crate::Error;
use crate::message::{Content, Message, ToolResult};

/// A message of results, some of which are errors now.
pub(super) struct Replaced {
    pub(super) message: Message,
    /// The results that are errors now, in order.
    pub(super) results: Vec<ToolResult>,
}

/// Returns `message` with ever more of its longest results replaced, as long as that makes it shorter: for a context that
/// has no room.
pub(super) fn too_long(message: &Message, overflow: &Error) -> Vec<Replaced> {
    let mut shorter = Vec::new();
    for (index, result, length) in longest_first(message) {
        let (id, name) = (&result.id, &result.name);
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

/// Returns `message` with ever more of its longest results replaced: for a store that keeps it in no other way.
pub(super) fn too_much_for_the_store(message: &Message, refusal: &Error) -> Vec<Replaced> {
    let mut kept = Vec::new();
    for (index, result, length) in longest_first(message) {
        let (id, name) = (&result.id, &result.name);
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

/// The results of a message with their places among its parts and their lengths.
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

/// Replaces one result, two, four and so on: each step is a call of the model or of the store.
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
    let (mut message, mut results) = (message.clone(), Vec::new());
    for (index, part) in message.parts.iter_mut().enumerate() {
        if let Some((_, result)) = replaced.iter().find(|(place, _)| *place == index) {
            part.content = Content::ToolResult(result.clone());
            results.push(result.clone());
        }
    }
    Replaced { message, results }
}
