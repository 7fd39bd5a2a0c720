//! The order of parts in dialects that have separate fields for a thinking block, the content and the calls.

use alloquy_core::message::{ToolCall, ToolResult};
use alloquy_core::{Content, Error, Message, Part, Result};
use serde_json::{Map, Value};

use super::further;
use super::place::Place;

/// The content of a part, with its index in the message and its further fields.
pub(super) struct Placed<'a, T> {
    pub(super) index: usize,
    pub(super) content: &'a T,
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
    /// Lays out a message. A part in the wrong order is an error, which names it.
    pub(super) fn of(message: &'a Message, place: &Place<'_>) -> Result<Self> {
        let thought = thought(message, place)?;
        let start = usize::from(thought.is_some());
        let rest = message.parts.get(start..).unwrap_or_default();
        let first_call = rest.iter().position(|part| matches!(part.content, Content::ToolCall(_)));
        let (content, tail) = rest.split_at(first_call.unwrap_or(rest.len()));
        if let Some(late) = content.iter().position(|part| matches!(part.content, Content::Thinking(_))) {
            return Err(misplaced(start + late, place));
        }
        let mut calls = Vec::with_capacity(tail.len());
        for (index, part) in (start + content.len()..).zip(tail) {
            let Content::ToolCall(call) = &part.content else {
                return Err(misplaced(index, place));
            };
            calls.push(Placed { index, content: call, extra: &part.extra });
        }
        Ok(Self { thought, content, start, calls })
    }
}

/// Returns the thinking block at the start, which is a text without further fields in the dialects with a field for it.
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
    let sentence = "the dialect has one order: a thinking block, text and media, tool calls";
    place.field("parts").index(index).unsupported(sentence)
}

/// Returns the results of a message that has one or more of them and nothing else.
pub(super) fn results<'a>(message: &'a Message, place: &Place<'_>) -> Result<Vec<Placed<'a, ToolResult>>> {
    let mut results = Vec::with_capacity(message.parts.len());
    for (index, part) in message.parts.iter().enumerate() {
        let Content::ToolResult(result) = &part.content else {
            return Err(inexpressible(&part.content, &place.field("parts").index(index)));
        };
        results.push(Placed { index, content: result, extra: &part.extra });
    }
    if results.is_empty() {
        return Err(place.field("parts").unsupported("a message of a tool has at least one result"));
    }
    Ok(results)
}

/// Returns the text of content that a dialect writes as a string: one text without further fields.
pub(super) fn bare_text(content: &[Part]) -> Option<&str> {
    match content {
        [Part { content: Content::Text(text), extra, .. }] if extra.is_empty() => Some(text),
        _ => None,
    }
}

/// Creates the error of a dialect that cannot express a part, or not in such a message.
pub(super) fn inexpressible(part: &Content, place: &Place<'_>) -> Error {
    place.unsupported(format_args!("the dialect cannot express {} here", name(part)))
}

fn name(part: &Content) -> &'static str {
    match part {
        Content::Text(_) => "text",
        Content::Thinking(_) => "a thinking block",
        Content::Channel(_) => "a channel",
        Content::Image(_) => "an image",
        Content::Audio(_) => "audio",
        Content::Video(_) => "a video",
        Content::ToolCall(_) => "a tool call",
        Content::ToolResult(_) => "a tool's result",
        Content::Malformed(_) => "a malformed piece of a reply",
        _ => "a part of this kind",
    }
}
