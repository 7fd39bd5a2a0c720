//! The result of parsing a reply: the joined deltas and the message.

use std::collections::BTreeMap;

use alloquy_core::processor::ReplyParser;
use alloquy_core::{Content, Delta, Message};

/// The result of parsing a reply in pieces.
///
/// ```
/// use alloquy_testing::{ReadReply, TaggedProcessor};
/// use alloquy_core::Preface;
/// use alloquy_core::processor::{DataProcessor, ProcessorInput};
/// use alloquy_core::template::PromptEnd;
///
/// let preface = Preface::default();
/// let source = ProcessorInput::new(&preface, &[], PromptEnd::Generation);
/// let read = ReadReply::new(TaggedProcessor.reply_parser("", source), ["Hel", "lo"]);
/// assert_eq!(read.message.text(), "Hello");
/// assert_eq!(read.joined, read.message.parts);
/// assert!(read.says("ell"));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct ReadReply {
    /// The deltas, joined.
    pub joined: Vec<Content>,
    /// The name and the joined pieces of arguments of each call, by the id of the call.
    pub arguments: BTreeMap<String, (String, String)>,
    /// The message that the parser returned.
    pub message: Message,
}

impl ReadReply {
    /// Parses a reply in pieces.
    pub fn new<'a>(mut parser: Box<dyn ReplyParser>, pieces: impl IntoIterator<Item = &'a str>) -> Self {
        let mut deltas: Vec<_> = pieces.into_iter().flat_map(|piece| parser.push(piece)).collect();
        let (rest, message) = parser.finish();
        deltas.extend(rest);
        Self { joined: join_deltas(&deltas), arguments: arguments(&deltas), message }
    }

    /// Returns whether any part of the message contains `word`.
    pub fn says(&self, word: &str) -> bool {
        self.message.parts.iter().any(|part| text_of(&part.content).contains(word))
    }
}

/// Joins deltas to the parts of a message. Pieces of arguments and empty texts make no parts.
///
/// ```
/// use alloquy_core::{Content, Delta};
/// use alloquy_testing::join_deltas;
///
/// let deltas = ["Hel", "", "lo"].map(|text| Delta::Text(text.to_owned()));
/// assert_eq!(join_deltas(&deltas), [Content::Text("Hello".to_owned())]);
/// ```
pub fn join_deltas(deltas: &[Delta]) -> Vec<Content> {
    let mut parts: Vec<Content> = Vec::new();
    for delta in deltas {
        delta.join_to(&mut parts);
    }
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

/// Returns the whole content of a part of a reply as text.
fn text_of(part: &Content) -> String {
    match part {
        Content::Text(text) | Content::Thinking(text) => text.clone(),
        Content::Channel(channel) => channel.text.clone(),
        Content::ToolCall(call) => format!("{}{}{}", call.id, call.name, call.arguments),
        Content::Malformed(malformed) => malformed.raw.clone(),
        other => format!("{other:?}"),
    }
}
