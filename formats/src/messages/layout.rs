//! The order that dialects with separate fields for them impose: a thought, the content, the calls.

use alloquy_core::message::{ToolCall, ToolResult};
use alloquy_core::{Content, Error, Message, Part, Result};
use serde_json::{Map, Value};

use super::further;
use super::place::Place;

/// What a part says, with its index in the message and its further fields.
pub(super) struct Placed<'a, T> {
    pub(super) index: usize,
    pub(super) said: &'a T,
    pub(super) extra: &'a Map<String, Value>,
}

/// The parts of a message that has them in the order thought, content, calls.
pub(super) struct Layout<'a> {
    pub(super) thought: Option<&'a str>,
    pub(super) content: &'a [Part],
    /// The index of the first part of the content.
    pub(super) start: usize,
    pub(super) calls: Vec<Placed<'a, ToolCall>>,
}

impl<'a> Layout<'a> {
    /// Lays out a message, or says which part stands where the dialect has no place for it.
    pub(super) fn of(message: &'a Message, place: &Place<'_>) -> Result<Self> {
        let thought = thought(message, place)?;
        let start = usize::from(thought.is_some());
        let rest = message.parts.get(start..).unwrap_or_default();
        let is_call = |part: &Part| matches!(part.content, Content::ToolCall(_));
        let (content, tail) = rest.split_at(rest.iter().position(is_call).unwrap_or(rest.len()));
        let first = start + content.len();
        let calls: Vec<_> =
            tail.iter().enumerate().map_while(|(index, part)| call(first + index, part)).collect();
        let late_thought = content.iter().position(|part| matches!(part.content, Content::Thinking(_)));
        let after_calls = (calls.len() < tail.len()).then_some(content.len() + calls.len());
        match late_thought.or(after_calls) {
            Some(stray) => Err(misplaced(start + stray, place)),
            None => Ok(Self { thought, content, start, calls }),
        }
    }
}

/// The thought that leads, which is a text and nothing more in the dialects with a field for it.
fn thought<'a>(message: &'a Message, place: &Place<'_>) -> Result<Option<&'a str>> {
    match message.parts.first() {
        Some(Part { content: Content::Thinking(thought), extra, .. }) => {
            further::none(extra, &place.field("parts").index(0))?;
            Ok(Some(thought))
        }
        _ => Ok(None),
    }
}

fn misplaced(index: usize, place: &Place<'_>) -> Error {
    let sentence = "the dialect has one order: a thought, text and media, tool calls";
    place.field("parts").index(index).unsupported(sentence)
}

fn call(index: usize, part: &Part) -> Option<Placed<'_, ToolCall>> {
    match &part.content {
        Content::ToolCall(call) => Some(Placed { index, said: call, extra: &part.extra }),
        _ => None,
    }
}

/// Returns the results of a message that has one or more of them and nothing else.
pub(super) fn results<'a>(message: &'a Message, place: &Place<'_>) -> Result<Vec<Placed<'a, ToolResult>>> {
    let result = |(index, part): (usize, &'a Part)| match &part.content {
        Content::ToolResult(result) => Ok(Placed { index, said: result, extra: &part.extra }),
        other => Err(inexpressible(other, &place.field("parts").index(index))),
    };
    let results: Vec<_> = message.parts.iter().enumerate().map(result).collect::<Result<_>>()?;
    if results.is_empty() {
        return Err(place.field("parts").unsupported("a message of a tool has at least one result"));
    }
    Ok(results)
}

/// Returns the text of content that is one text without further fields: what a dialect writes as a string.
pub(super) fn bare_text(content: &[Part]) -> Option<&str> {
    match content {
        [Part { content: Content::Text(text), extra, .. }] if extra.is_empty() => Some(text),
        _ => None,
    }
}

/// The error of a dialect that has no way to say what a part is, or not in such a message.
pub(super) fn inexpressible(part: &Content, place: &Place<'_>) -> Error {
    place.unsupported(format_args!("the dialect cannot express {} here", name(part)))
}

fn name(part: &Content) -> &'static str {
    match part {
        Content::Text(_) => "text",
        Content::Thinking(_) => "a thought",
        Content::Channel(_) => "a channel",
        Content::Image(_) => "an image",
        Content::Audio(_) => "audio",
        Content::Video(_) => "a film",
        Content::ToolCall(_) => "a tool call",
        Content::ToolResult(_) => "a tool's result",
        Content::Malformed(_) => "a malformed piece of a reply",
        _ => "a part of this kind",
    }
}
