//! A prompt that was filled in.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{PromptInfo, PromptKind, RenderedPrompt, VersionNumber};
use crate::media::Digest;
use crate::message::{Message, Role};
use crate::preface::Preface;
use crate::sampling::SamplingOptions;

/// The entry of a node's and a conversation's metadata that says which prompt they come from: [`PromptFacts`].
///
/// [`PromptFacts`] has an example.
pub const PROMPT_KEY: &str = "prompt";

/// A prompt that was filled in: messages that can be sent, or that a conversation begins with.
///
/// It converts into a [`TurnRequest`](crate::TurnRequest), a [`Preface`] and a
/// [`NewConversation`](crate::manager::NewConversation). Each node, and a new conversation, then remembers the prompt in its
/// metadata. [`PromptLibrary`](super::PromptLibrary) has an example.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct FilledPrompt {
    /// Which prompt it is, and what was missing.
    pub facts: PromptFacts,
    /// The messages, in order.
    pub messages: Vec<FilledMessage>,
    /// The model that the author recommends. Conversions do not follow it.
    pub model: Option<String>,
    /// The sampling that the author recommends. Conversions do not follow it.
    pub sampling: SamplingOptions,
}

/// A message of a prompt that was filled in.
///
/// [`PromptLibrary`](super::PromptLibrary) has an example.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct FilledMessage {
    /// Who says it.
    pub role: Role,
    /// Its text, in spans with their sources.
    pub rendered: RenderedPrompt,
}

impl FilledMessage {
    /// Creates a message.
    pub fn new(role: Role, rendered: RenderedPrompt) -> Self {
        Self { role, rendered }
    }
}

/// Which prompt a message comes from, as a node stores it below [`PROMPT_KEY`].
///
/// ```
/// use alloquy_core::media::Digest;
/// use alloquy_core::prompt_library::{PROMPT_KEY, PromptFacts, PromptKind};
/// use alloquy_core::{Message, Node};
/// use serde_json::json;
///
/// let facts = PromptFacts::new(PromptKind::User, "greeting", Digest::of(b"Hello"));
/// let mut node = Node::new(None, Message::user("Hello"));
/// node.metadata.insert(PROMPT_KEY.into(), facts.to_json());
/// assert_eq!(node.metadata["prompt"]["name"], "greeting");
/// assert_eq!(PromptFacts::of(&node.metadata), Some(facts));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PromptFacts {
    /// What the prompt is for.
    pub kind: PromptKind,
    /// Its name within the kind.
    pub name: String,
    /// Its version, if the library has versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<VersionNumber>,
    /// The arm of the experiment that chose the version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arm: Option<String>,
    /// The digest of the prompt.
    pub digest: Digest,
    /// The values that it prints or needs and that were missing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
    /// The values that it does not read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unknown: Vec<String>,
    /// The prompts to which it refers and that do not exist.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing_prompts: Vec<String>,
}

impl PromptFacts {
    /// Creates the facts of a prompt without versions, from which nothing was missing.
    pub fn new(kind: PromptKind, name: impl Into<String>, digest: Digest) -> Self {
        Self {
            kind,
            name: name.into(),
            version: None,
            arm: None,
            digest,
            missing: Vec::new(),
            unknown: Vec::new(),
            missing_prompts: Vec::new(),
        }
    }

    /// Reads the facts from the metadata of a node or a conversation.
    pub fn of(metadata: &Map<String, Value>) -> Option<Self> {
        serde_json::from_value(metadata.get(PROMPT_KEY)?.clone()).ok()
    }

    /// Returns the facts as a value of metadata.
    pub fn to_json(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }
}

impl FilledPrompt {
    /// Collects the messages of a prompt, and what they lack.
    pub fn new(info: &PromptInfo, messages: Vec<FilledMessage>) -> Self {
        let mut facts = PromptFacts::new(info.name.kind, info.name.name.clone(), info.digest);
        facts.version = info.version;
        facts.arm.clone_from(&info.arm);
        for message in &messages {
            let rendered = &message.rendered;
            add_new(&mut facts.missing, &rendered.missing);
            add_new(&mut facts.missing_prompts, &rendered.missing_prompts);
        }
        // A value is unknown if no message reads it.
        if let Some((first, rest)) = messages.split_first() {
            let unknown = first.rendered.unknown.iter();
            let unread =
                unknown.filter(|name| rest.iter().all(|message| message.rendered.unknown.contains(name)));
            facts.unknown = unread.cloned().collect();
        }
        Self { facts, messages, model: info.model.clone(), sampling: info.sampling.clone() }
    }

    /// Returns the texts of all messages, joined by blank lines.
    pub fn text(&self) -> String {
        let texts: Vec<_> = self.messages.iter().map(|message| message.rendered.text()).collect();
        texts.join("\n\n")
    }

    /// Returns the messages, with a part for each span.
    pub fn to_messages(&self) -> Vec<Message> {
        self.messages.iter().map(|message| message.rendered.message(message.role)).collect()
    }
}

fn add_new(all: &mut Vec<String>, names: &[String]) {
    for name in names {
        if !all.contains(name) {
            all.push(name.clone());
        }
    }
}

impl From<FilledPrompt> for Preface {
    fn from(filled: FilledPrompt) -> Self {
        Self { messages: filled.to_messages(), ..Self::default() }
    }
}
