//! What policies ask of a path, found out once a message: where it can be taken up, where a model was asked, which calls it
//! has, and what tells it from others.

use std::collections::HashMap;

use crate::media::Digest;
use crate::message::{Content, Message, Role};

/// What a message weighs besides its text: the marks around it.
const MESSAGE: u64 = 16;

/// What a piece of media weighs.
const MEDIUM: u64 = 1024;

/// The outline of a path, as far as somebody has looked. It grows message by message.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outline {
    /// How many messages it covers.
    covered: usize,
    /// How many system messages stand at the beginning.
    system: usize,
    /// The messages of the user at which the path can be taken up: no result behind belongs to a call before.
    questions: Vec<usize>,
    /// The messages of the assistant.
    answers: Vec<usize>,
    /// The calls by their ids, each with its message: the last one of that id.
    calls: HashMap<String, usize>,
    /// What the messages up to each weigh together.
    weights: Vec<u64>,
    /// What tells the path from others up to each message. Dearer than the rest, and made where it is asked for.
    digests: Vec<Digest>,
}

impl Outline {
    /// Covers all messages.
    pub(super) fn reach(&mut self, messages: &[Message]) {
        for (index, message) in messages.iter().enumerate().skip(self.covered) {
            self.cover(index, message);
        }
        self.covered = messages.len();
    }

    fn cover(&mut self, index: usize, message: &Message) {
        match message.role {
            Role::System if self.system == index => self.system += 1,
            Role::User => self.questions.push(index),
            Role::Assistant => self.answers.push(index),
            _ => {}
        }
        for call in message.tool_calls() {
            self.calls.insert(call.id.clone(), index);
        }
        let asked = message.tool_results().filter_map(|result| self.calls.get(result.id.as_str()));
        if let Some(earliest) = asked.min().copied() {
            // A path that is taken up between the two would have a result without its call.
            let valid = self.questions.partition_point(|question| *question <= earliest);
            self.questions.truncate(valid);
        }
        let before = self.weights.last().copied().unwrap_or_default();
        self.weights.push(before + weight(message));
    }

    /// How many system messages stand at the beginning.
    pub(crate) fn system(&self) -> usize {
        self.system
    }

    /// The messages of the user at which the path can be taken up.
    pub(crate) fn questions(&self) -> &[usize] {
        &self.questions
    }

    /// The messages of the assistant.
    pub(crate) fn answers(&self) -> &[usize] {
        &self.answers
    }

    /// Says whether a message calls a tool by this id.
    pub(crate) fn has_call(&self, id: &str) -> bool {
        self.calls.contains_key(id)
    }

    /// What the first messages up to each weigh: about as many bytes as their texts have.
    pub(crate) fn weights(&self) -> &[u64] {
        &self.weights
    }

    /// What tells the first `length` messages from others.
    pub(crate) fn digest(&mut self, messages: &[Message], length: usize) -> Digest {
        for message in messages.iter().take(length).skip(self.digests.len()) {
            let mut said = self.digests.last().map(|digest| digest.as_bytes().to_vec()).unwrap_or_default();
            said.extend(written(message));
            self.digests.push(Digest::of(&said));
        }
        let last = length.checked_sub(1).and_then(|last| self.digests.get(last));
        last.copied().unwrap_or_else(|| Digest::of(&[]))
    }
}

/// The JSON of something, which for a message or a preface always exists.
pub(crate) fn written(value: &impl serde::Serialize) -> Vec<u8> {
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
