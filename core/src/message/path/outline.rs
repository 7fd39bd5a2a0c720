//! The outline of a path, for policies for a full context.
//!
//! It has the places where a shorter path may begin, the places of the replies, the calls, and the sizes of the messages.
//! Each message is read once.

use std::collections::HashMap;
use std::sync::Arc;

use crate::media::Digest;
use crate::message::{Content, Message, Role};

/// The size of the markup around a message, in bytes.
const MESSAGE: u64 = 16;

/// The assumed size of a piece of media, in bytes.
const MEDIUM: u64 = 1024;

/// The roles, calls and sizes of a path's messages. [`MessagePath::outline`](super::MessagePath::outline) returns it.
///
/// A policy that shortens prompts reads it instead of the messages. It needs no tokenizer, and its cost for a turn does
/// not grow with the conversation.
///
/// ```
/// use alloquy_core::Message;
/// use alloquy_core::message::MessagePath;
///
/// let said = [Message::user("Tea?"), Message::assistant("Please."), Message::user("Milk?")];
/// let outline = MessagePath::from_iter(said).outline();
/// // At least half of the text is before the second question.
/// let half = outline.weight(3) / 2;
/// let begin = outline.restarts().iter().find(|&&restart| outline.weight(restart) >= half);
/// assert_eq!(begin, Some(&2));
/// assert!(!outline.has_call("call_1"));
/// ```
#[derive(Clone, Debug, Default)]
pub struct PathOutline {
    system: usize,
    restarts: Vec<usize>,
    answers: Vec<usize>,
    /// The calls by their ids, each with the index of the last message with that id.
    calls: HashMap<String, usize>,
    weights: Vec<u64>,
}

impl PathOutline {
    /// Returns the number of system messages at the beginning.
    pub fn system(&self) -> usize {
        self.system
    }

    /// Returns the indices of the user messages at which a shorter path may begin: no later tool result belongs to an
    /// earlier call.
    pub fn restarts(&self) -> &[usize] {
        &self.restarts
    }

    /// Returns the indices of the assistant messages.
    pub fn answers(&self) -> &[usize] {
        &self.answers
    }

    /// Returns whether a message has a tool call of this id.
    pub fn has_call(&self, id: &str) -> bool {
        self.calls.contains_key(id)
    }

    /// Returns about how many bytes the first `length` messages have; a piece of media counts as a kilobyte.
    pub fn weight(&self, length: usize) -> u64 {
        let Some(last) = length.checked_sub(1) else { return 0 };
        self.weights.get(last).or(self.weights.last()).copied().unwrap_or_default()
    }

    fn add(&mut self, message: &Message) {
        // There is one weight per message, so this is the index of the new one.
        let index = self.weights.len();
        match message.role {
            Role::System if self.system == index => self.system += 1,
            Role::User => self.restarts.push(index),
            Role::Assistant => self.answers.push(index),
            _ => {}
        }
        for call in message.tool_calls() {
            self.calls.insert(call.id.clone(), index);
        }
        let asked = message.tool_results().filter_map(|result| self.calls.get(result.id.as_str()));
        if let Some(earliest) = asked.min().copied() {
            // A path that began between the call and the result would have a result without its call.
            let valid = self.restarts.partition_point(|restart| *restart <= earliest);
            self.restarts.truncate(valid);
        }
        self.weights.push(self.weight(index) + weight(message));
    }
}

/// The outline and the digests of the messages that were read so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Outlined {
    outline: Arc<PathOutline>,
    /// The digest of the messages up to each one. They are costly, so they are computed on demand.
    digests: Vec<Digest>,
}

impl Outlined {
    /// Returns the outline of all messages.
    pub(super) fn reach(&mut self, messages: &[Message]) -> Arc<PathOutline> {
        let covered = self.outline.weights.len();
        if covered < messages.len() {
            let outline = Arc::make_mut(&mut self.outline);
            for message in messages.iter().skip(covered) {
                outline.add(message);
            }
        }
        Arc::clone(&self.outline)
    }

    /// Returns the digest of the first `length` messages.
    pub(super) fn digest(&mut self, messages: &[Message], length: usize) -> Digest {
        for message in messages.iter().take(length).skip(self.digests.len()) {
            let mut said = self.digests.last().map(|digest| digest.as_bytes().to_vec()).unwrap_or_default();
            said.extend(written(message));
            self.digests.push(Digest::of(&said));
        }
        let last = length.checked_sub(1).and_then(|last| self.digests.get(last));
        last.copied().unwrap_or_else(|| Digest::of(&[]))
    }
}

/// Returns the JSON of a value. Serializing a message never fails.
fn written(value: &impl serde::Serialize) -> Vec<u8> {
    serde_json::to_vec(value).unwrap_or_default()
}

fn weight(message: &Message) -> u64 {
    let parts = message.parts.iter().map(|part| match &part.content {
        Content::Text(text) | Content::Thinking(text) => text.len() as u64,
        Content::Channel(said) => said.text.len() as u64,
        Content::ToolCall(call) => call.name.len() as u64 + written(&call.arguments).len() as u64,
        Content::ToolResult(result) => result.text().len() as u64,
        Content::Malformed(malformed) => malformed.raw.len() as u64,
        Content::Image(_) | Content::Audio(_) | Content::Video(_) => MEDIUM,
    });
    MESSAGE + parts.sum::<u64>()
}
