//! The texts of a request, in their order, each with its origin.

use alloquy_core::media::Digest;
use alloquy_core::{Content, Message, Part, Request};
use serde_json::Value;

use super::origin::TokenOrigin;

/// A part of a request that has text.
#[derive(Clone, Debug)]
pub(super) struct SourcedText {
    pub(super) origin: TokenOrigin,
    /// The text as templates print it, unless they print JSON in another way.
    pub(super) text: String,
    /// Whether it is JSON, whose strings alone are visited.
    pub(super) is_json: bool,
}

/// Calls a function with the number of each part of a request that has text, its origin, and its strings.
pub(super) fn each(
    request: &mut Request,
    authored: &[Message],
    visit: &mut dyn FnMut(usize, TokenOrigin, &mut String),
) {
    let mut count = 0;
    for message in &mut request.preface.messages {
        parts(message, false, &mut count, visit);
    }
    for tool in &mut request.preface.tools {
        visit(count, TokenOrigin::Author, &mut tool.description);
        count += 1;
    }
    for message in request.path.to_mut().iter_mut() {
        let is_authored = authored.contains(message);
        parts(message, is_authored, &mut count, visit);
    }
}

fn parts(
    message: &mut Message,
    is_authored: bool,
    count: &mut usize,
    visit: &mut dyn FnMut(usize, TokenOrigin, &mut String),
) {
    let role = message.role;
    for part in &mut message.parts {
        let origin = TokenOrigin::of(part, role, is_authored);
        let number = *count;
        match &mut part.content {
            Content::Text(text) | Content::Thinking(text) => visit(number, origin, text),
            Content::Channel(channel) => visit(number, origin, &mut channel.text),
            Content::Malformed(malformed) => visit(number, origin, &mut malformed.raw),
            Content::ToolCall(call) => strings(&mut call.arguments, &mut |text| visit(number, origin, text)),
            Content::ToolResult(result) => {
                strings(&mut result.content, &mut |text| visit(number, TokenOrigin::Tool, text));
            }
            _ => continue,
        }
        *count += 1;
    }
}

/// Calls a function with the strings of a JSON value, not with the names of its fields.
fn strings(value: &mut Value, visit: &mut dyn FnMut(&mut String)) {
    match value {
        Value::String(text) => visit(text),
        Value::Array(items) => {
            for item in items {
                strings(item, visit);
            }
        }
        Value::Object(fields) => {
            for (_, field) in fields.iter_mut() {
                strings(field, visit);
            }
        }
        _ => {}
    }
}

/// Returns the parts of a request that have text, by the numbers with which [`each`] visits them.
pub(super) fn listed(request: &Request, authored: &[Message]) -> Vec<SourcedText> {
    let mut all = Vec::new();
    for message in &request.preface.messages {
        list(message, false, &mut all);
    }
    for tool in &request.preface.tools {
        let text = tool.description.clone();
        all.push(SourcedText { origin: TokenOrigin::Author, text, is_json: false });
    }
    for message in &request.path {
        list(message, authored.contains(message), &mut all);
    }
    all
}

fn list(message: &Message, is_authored: bool, all: &mut Vec<SourcedText>) {
    for part in &message.parts {
        let mut origin = TokenOrigin::of(part, message.role, is_authored);
        let (text, is_json) = match &part.content {
            Content::Text(text) | Content::Thinking(text) => (text.clone(), false),
            Content::Channel(channel) => (channel.text.clone(), false),
            Content::Malformed(malformed) => (malformed.raw.clone(), false),
            Content::ToolCall(call) => (call.arguments.to_string(), true),
            Content::ToolResult(result) => {
                origin = TokenOrigin::Tool;
                (result.text(), !result.content.is_string())
            }
            _ => continue,
        };
        all.push(SourcedText { origin, text, is_json });
    }
}

/// Returns whose an image, an audio clip or a video of a request is.
pub(super) fn origin_of_media(request: &Request, digest: Digest) -> TokenOrigin {
    for message in request.preface.messages.iter().chain(request.path.iter()) {
        for part in &message.parts {
            if has_media(part, digest) {
                return TokenOrigin::of(part, message.role, false);
            }
        }
    }
    TokenOrigin::Template
}

fn has_media(part: &Part, digest: Digest) -> bool {
    part.content.shown().is_some_and(|media| media.digest() == digest)
}
