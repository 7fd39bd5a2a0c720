//! A reply as it was read: what its deltas join to, beside the message.

use std::collections::BTreeMap;

use alloquy_core::processor::ReplyParser;
use alloquy_core::{Content, Delta, Message};

/// A reply as it was read.
///
/// ```
/// use alloquy_testing::{ReadReply, TaggedProcessor};
/// use alloquy_core::Preface;
/// use alloquy_core::processor::{DataProcessor, PromptSource};
/// use alloquy_core::template::Ending;
///
/// let preface = Preface::default();
/// let source = PromptSource::new(&preface, &[], Ending::Answer);
/// let read = ReadReply::new(TaggedProcessor.reply_parser("", source), ["Hel", "lo"]);
/// assert_eq!(read.message.text(), "Hello");
/// assert_eq!(read.joined, read.message.parts);
/// assert!(read.says("ell"));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct ReadReply {
    /// The deltas, joined.
    pub joined: Vec<Content>,
    /// The names and the pieces of arguments of calls, joined, by the calls' ids.
    pub arguments: BTreeMap<String, (String, String)>,
    /// The message that the parser gave.
    pub message: Message,
}

impl ReadReply {
    /// Reads a reply in pieces.
    pub fn new<'a>(mut parser: Box<dyn ReplyParser>, pieces: impl IntoIterator<Item = &'a str>) -> Self {
        let mut deltas: Vec<_> = pieces.into_iter().flat_map(|piece| parser.push(piece)).collect();
        let (rest, message) = parser.finish();
        deltas.extend(rest);
        Self { joined: join_deltas(&deltas), arguments: arguments(&deltas), message }
    }

    /// Says whether `word` stands in any part of the message.
    pub fn says(&self, word: &str) -> bool {
        self.message.parts.iter().any(|part| said(&part.content).contains(word))
    }
}

/// Joins deltas to the parts of a message; pieces of arguments are no parts, and texts without a character neither.
pub fn join_deltas(deltas: &[Delta]) -> Vec<Content> {
    let mut parts: Vec<Content> = Vec::new();
    deltas.iter().for_each(|delta| delta.join_to(&mut parts));
    parts
}

fn arguments(deltas: &[Delta]) -> BTreeMap<String, (String, String)> {
    let mut joined = BTreeMap::new();
    for delta in deltas {
        if let Delta::Arguments(piece) = delta {
            let (name, text): &mut (String, String) = joined.entry(piece.id.clone()).or_default();
            name.clone_from(&piece.name);
            text.push_str(&piece.text);
        }
    }
    joined
}

/// Everything that a part of a reply says, as text.
fn said(part: &Content) -> String {
    match part {
        Content::Text(text) | Content::Thinking(text) => text.clone(),
        Content::Channel(said) => said.text.clone(),
        Content::ToolCall(call) => format!("{}{}{}", call.id, call.name, call.arguments),
        Content::Malformed(malformed) => malformed.raw.clone(),
        other => format!("{other:?}"),
    }
}
