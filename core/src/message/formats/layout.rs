//! The order that dialects with separate fields for them impose: a thought, the content, the calls.

use super::place::Place;
use crate::{Error, Message, Part, Result, ToolCall, ToolResult};

/// The parts of a message that has them in the order thought, content, calls.
pub(super) struct Layout<'a> {
    pub(super) thought: Option<&'a str>,
    pub(super) content: &'a [Part],
    /// The index of the first part of the content.
    pub(super) start: usize,
    pub(super) calls: Vec<&'a ToolCall>,
}

impl<'a> Layout<'a> {
    /// Lays out a message, or says which part stands where the dialect has no place for it.
    pub(super) fn of(message: &'a Message, place: &Place<'_>) -> Result<Self> {
        let (thought, rest, start) = match message.parts.split_first() {
            Some((Part::Thinking(thought), rest)) => (Some(thought.as_str()), rest, 1),
            _ => (None, message.parts.as_slice(), 0),
        };
        let is_call = |part: &Part| matches!(part, Part::ToolCall(_));
        let (content, tail) = rest.split_at(rest.iter().position(is_call).unwrap_or(rest.len()));
        let calls = tail.iter().map_while(as_call).collect::<Vec<_>>();
        let late_thought = content.iter().position(|part| matches!(part, Part::Thinking(_)));
        let after_calls = (calls.len() < tail.len()).then_some(content.len() + calls.len());
        match late_thought.or(after_calls) {
            Some(stray) => Err(misplaced(start + stray, place)),
            None => Ok(Self { thought, content, start, calls }),
        }
    }
}

fn misplaced(index: usize, place: &Place<'_>) -> Error {
    let sentence = "the dialect has one order: a thought, text and media, tool calls";
    place.field("parts").index(index).unsupported(sentence)
}

fn as_call(part: &Part) -> Option<&ToolCall> {
    match part {
        Part::ToolCall(call) => Some(call),
        _ => None,
    }
}

/// Returns the results of a message that has one or more of them and nothing else.
pub(super) fn results<'a>(message: &'a Message, place: &Place<'_>) -> Result<Vec<&'a ToolResult>> {
    let result = |(index, part): (usize, &'a Part)| match part {
        Part::ToolResult(result) => Ok(result),
        other => Err(inexpressible(other, &place.field("parts").index(index))),
    };
    let results: Vec<_> = message.parts.iter().enumerate().map(result).collect::<Result<_>>()?;
    if results.is_empty() {
        return Err(place.field("parts").unsupported("a message of a tool has at least one result"));
    }
    Ok(results)
}

/// The error of a dialect that has no way to say what a part is, or not in such a message.
pub(super) fn inexpressible(part: &Part, place: &Place<'_>) -> Error {
    place.unsupported(format_args!("the dialect cannot express {} here", name(part)))
}

fn name(part: &Part) -> &'static str {
    match part {
        Part::Text(_) => "text",
        Part::Thinking(_) => "a thought",
        Part::Image(_) => "an image",
        Part::Audio(_) => "audio",
        Part::Video(_) => "a film",
        Part::ToolCall(_) => "a tool call",
        Part::ToolResult(_) => "a tool's result",
        Part::Malformed(_) => "a malformed piece of a reply",
    }
}
