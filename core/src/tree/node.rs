//! A message at its place in the tree of a conversation, and its JSON.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

use crate::media::{Digest, Media};
use crate::message::{Message, Role};
use crate::report::{ReplyFacts, Usage, take};
use crate::tokenizer::TokenId;
use crate::tree::NodeId;
use crate::{Error, ErrorKind, Result};

/// Whether a node's message is complete.
///
/// A [`Node`] contains it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum NodeStatus {
    /// The message is complete.
    #[default]
    Complete,
    /// The caller or a failure ended it early; the text so far is kept.
    Interrupted,
}

/// A message at its place in the tree. A node never changes.
///
/// [`Node::reply`] has what a model reports about its reply. [`Node::metadata`] belongs to the host, whatever its keys
/// are.
///
/// ```
/// use alloquy_core::{Message, Node};
/// use alloquy_core::report::ReplyFacts;
///
/// let question = Node::new(None, Message::user("Tea?"));
/// let mut reply = Node::new(Some(question.id), Message::assistant("Please."));
/// reply.reply = Some(Box::new(ReplyFacts::new("tiny")));
/// reply.metadata.insert("model".into(), "of a car".into());
/// assert_eq!((question.model(), reply.model()), (None, Some("tiny")));
/// ```
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(from = "StoredNode")]
#[non_exhaustive]
pub struct Node {
    /// Its id.
    pub id: NodeId,
    /// The node that it follows; `None` for a first message.
    pub parent: Option<NodeId>,
    /// The message.
    pub message: Message,
    /// Whether the message is complete.
    pub status: NodeStatus,
    /// The token ids of a reply, as the model sampled them.
    pub tokens: Vec<TokenId>,
    /// The facts of a reply; `None` for a message that no model generated here. They are boxed because most nodes have
    /// none, and a store reads thousands of nodes at once.
    pub reply: Option<Box<ReplyFacts>>,
    /// The name of the prompt that made the message.
    pub prompt_name: Option<String>,
    /// The label that the node was created with; [`Annotations::label`](crate::annotations::Annotations::label) returns
    /// its present label.
    pub label: Option<String>,
    /// The host's own metadata.
    pub metadata: Map<String, Value>,
}

impl Node {
    /// Creates a node with a new id below `parent`.
    pub fn new(parent: Option<NodeId>, message: Message) -> Self {
        Self {
            id: NodeId::new(),
            parent,
            message,
            status: NodeStatus::Complete,
            tokens: Vec::new(),
            reply: None,
            prompt_name: None,
            label: None,
            metadata: Map::new(),
        }
    }

    /// Sets the id, for a node that has one already.
    #[must_use]
    pub fn with_id(mut self, id: NodeId) -> Self {
        self.id = id;
        self
    }

    /// Returns the digests of the media in the message.
    pub fn media(&self) -> impl Iterator<Item = Digest> {
        self.message.media().map(Media::digest)
    }

    /// Returns the name of the model that generated this reply; `None` for a message that no model generated here.
    pub fn model(&self) -> Option<&str> {
        Some(self.reply.as_ref()?.model.as_str())
    }

    /// Returns how many tokens this reply took; `None` for a message that no model generated here, and for replies
    /// whose usage is unknown, such as dropped ones.
    pub fn usage(&self) -> Option<Usage> {
        self.reply.as_ref()?.usage
    }

    /// Returns the digest of the template that rendered the prompt of this reply, if it is known.
    pub(crate) fn template(&self) -> Option<Digest> {
        self.reply.as_ref()?.template
    }

    /// Returns whether a reader would take facts out of the metadata if the node were written without `reply`.
    fn looks_like_version_0_1(&self) -> bool {
        self.has_text("prompt_name")
            || self.has_text("label")
            || self.message.role == Role::Assistant && self.has_text("model")
    }

    fn has_text(&self, name: &str) -> bool {
        self.metadata.get(name).is_some_and(Value::is_string)
    }
}

/// The JSON form that is written.
///
/// A node's JSON has no version number, but `reply` marks this form. So a node without a reply is written with
/// `"reply":null` if its metadata could be mistaken for facts of version 0.1.
#[derive(Serialize)]
struct WrittenNode<'a> {
    id: NodeId,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent: Option<NodeId>,
    message: &'a Message,
    status: NodeStatus,
    #[serde(skip_serializing_if = "<[TokenId]>::is_empty")]
    tokens: &'a [TokenId],
    #[serde(skip_serializing_if = "Option::is_none")]
    reply: Option<Option<&'a ReplyFacts>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt_name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    label: Option<&'a str>,
    #[serde(skip_serializing_if = "Map::is_empty")]
    metadata: &'a Map<String, Value>,
}

impl Serialize for Node {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let is_written = self.reply.is_some() || self.looks_like_version_0_1();
        let written = WrittenNode {
            id: self.id,
            parent: self.parent,
            message: &self.message,
            status: self.status,
            tokens: &self.tokens,
            reply: is_written.then_some(self.reply.as_deref()),
            prompt_name: self.prompt_name.as_deref(),
            label: self.label.as_deref(),
            metadata: &self.metadata,
        };
        written.serialize(serializer)
    }
}

/// The JSON forms that are read: the present one, and that of version 0.1, which had every fact in `metadata`.
#[derive(Deserialize)]
struct StoredNode {
    id: NodeId,
    #[serde(default)]
    parent: Option<NodeId>,
    message: Message,
    #[serde(default)]
    status: NodeStatus,
    #[serde(default)]
    tokens: Vec<TokenId>,
    /// `None` if the field is absent.
    #[serde(default, deserialize_with = "present")]
    reply: Option<Option<Box<ReplyFacts>>>,
    #[serde(default)]
    prompt_name: Option<String>,
    #[serde(default)]
    label: Option<String>,
    #[serde(default)]
    metadata: Map<String, Value>,
}

/// Distinguishes a field that is `null` from one that is absent.
fn present<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> std::result::Result<Option<Option<Box<ReplyFacts>>>, D::Error> {
    Option::deserialize(deserializer).map(Some)
}

impl StoredNode {
    /// Moves the facts out of the metadata, where version 0.1 stored them.
    fn lift(&mut self) {
        let mut reply = None;
        if self.message.role == Role::Assistant {
            reply = ReplyFacts::take_from(&mut self.metadata).map(Box::new);
        }
        self.reply = Some(reply);
        if self.prompt_name.is_none() {
            self.prompt_name = take(&mut self.metadata, "prompt_name");
        }
        if self.label.is_none() {
            self.label = take(&mut self.metadata, "label");
        }
    }
}

impl From<StoredNode> for Node {
    fn from(mut stored: StoredNode) -> Self {
        if stored.reply.is_none() {
            stored.lift();
        }
        let StoredNode { id, parent, message, status, tokens, reply, prompt_name, label, metadata } = stored;
        Self { id, parent, message, status, tokens, reply: reply.flatten(), prompt_name, label, metadata }
    }
}

/// Checks that a node that is appended again is the same node.
pub(crate) fn same_node(known: &Node, again: &Node) -> Result<()> {
    if known == again {
        return Ok(());
    }
    let message = format!("node {} exists with other content", known.id);
    Err(Error::new(ErrorKind::Conflict, message))
}
