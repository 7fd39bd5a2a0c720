//! What people note on nodes that never change: labels, bookmarks, and facts that came later. Knows no store.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::store::ConversationRecord;
use crate::tree::{Node, NodeId, Tree};
use crate::{Error, ErrorKind, Result};

/// The name in a conversation's metadata under which its [`Annotations`] stand; hosts use every other name.
pub const ANNOTATIONS: &str = "alloquy";

/// The notes on the nodes of one conversation.
///
/// Nodes never change, so these stand in the metadata of the conversation, where they are replaced by compare-and-set,
/// and found by queries: `Filter::exists("alloquy.bookmarks.draft")`.
///
/// ```
/// use alloquy_core::{Message, Node, Preface};
/// use alloquy_core::annotations::Annotations;
/// use alloquy_core::store::ConversationRecord;
/// use serde_json::json;
///
/// let node = Node::new(None, Message::user("Tea?"));
/// let mut record = ConversationRecord::new("tea".parse()?, Preface::default());
/// record.metadata.insert("alloquy".into(), json!({"labels": {node.id.to_string(): "first try"}}));
/// assert_eq!(Annotations::of(&record)?.label(&node), Some("first try"));
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Annotations {
    /// An empty one takes back the label that a node was made with.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    labels: BTreeMap<NodeId, String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    bookmarks: BTreeMap<String, NodeId>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    metadata: BTreeMap<NodeId, Map<String, Value>>,
    /// What later versions note.
    #[serde(flatten)]
    other: Map<String, Value>,
}

impl Annotations {
    /// Reads the notes of a conversation.
    ///
    /// # Errors
    /// [`ErrorKind::Corrupt`] where something else stands in their place.
    pub fn of(record: &ConversationRecord) -> Result<Self> {
        Self::read(&record.metadata).map_err(|error| {
            error.context(format_args!("the notes of conversation {:?} cannot be read", record.id.as_str()))
        })
    }

    /// Reads the notes that stand in a conversation's metadata.
    ///
    /// # Errors
    /// [`ErrorKind::Corrupt`] where something else stands in their place.
    pub fn read(metadata: &Map<String, Value>) -> Result<Self> {
        match metadata.get(ANNOTATIONS) {
            None => Ok(Self::default()),
            Some(notes) => Self::deserialize(notes).map_err(|error| {
                Error::new(ErrorKind::Corrupt, format!("metadata {ANNOTATIONS:?}: {error}"))
            }),
        }
    }

    /// Writes the notes into a conversation's metadata; where there are none, nothing stands there.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] for notes that are no JSON.
    pub fn write(&self, metadata: &mut Map<String, Value>) -> Result<()> {
        if *self == Self::default() {
            metadata.shift_remove(ANNOTATIONS);
            return Ok(());
        }
        let notes = serde_json::to_value(self).map_err(|source| {
            Error::new(ErrorKind::Invalid, "these notes are no JSON").with_source(source)
        })?;
        metadata.insert(ANNOTATIONS.to_owned(), notes);
        Ok(())
    }

    /// Returns what a node is called: what it was called last, else what it was called when it was made.
    pub fn label<'a>(&'a self, node: &'a Node) -> Option<&'a str> {
        let label = self.labels.get(&node.id).map(String::as_str).or(node.label.as_deref());
        label.filter(|label| !label.is_empty())
    }

    /// Returns the node at a bookmark.
    pub fn bookmark(&self, name: &str) -> Option<NodeId> {
        self.bookmarks.get(name).copied()
    }

    /// Returns every bookmark with its node, by name.
    pub fn bookmarks(&self) -> impl Iterator<Item = (&str, NodeId)> {
        self.bookmarks.iter().map(|(name, &node)| (name.as_str(), node))
    }

    /// Returns the metadata of a node: that which it was made with, and over it what was noted later.
    pub fn metadata(&self, node: &Node) -> Map<String, Value> {
        let mut facts = node.metadata.clone();
        for (name, value) in self.metadata.get(&node.id).into_iter().flatten() {
            match value {
                Value::Null => drop(facts.shift_remove(name)),
                value => drop(facts.insert(name.clone(), value.clone())),
            }
        }
        facts
    }

    /// Labels a node, or with `None` takes back the label that it was made with.
    pub fn set_label(&mut self, node: NodeId, label: Option<&str>) {
        self.labels.insert(node, label.unwrap_or_default().to_owned());
    }

    pub(crate) fn set_bookmark(&mut self, name: &str, node: Option<NodeId>) {
        match node {
            Some(node) => drop(self.bookmarks.insert(name.to_owned(), node)),
            None => drop(self.bookmarks.remove(name)),
        }
    }

    pub(crate) fn set_metadata(&mut self, node: NodeId, name: &str, value: Value) {
        self.metadata.entry(node).or_default().insert(name.to_owned(), value);
    }

    /// Drops the notes on nodes that are not in `tree`.
    pub(crate) fn keep(&mut self, tree: &Tree) {
        let is_here = |id: &NodeId| tree.node(*id).is_ok();
        self.labels.retain(|id, _| is_here(id));
        self.bookmarks.retain(|_, id| is_here(id));
        self.metadata.retain(|id, _| is_here(id));
    }

    /// Adds the notes of another copy where this one has none.
    pub(crate) fn join(&mut self, other: &Self) {
        for (id, label) in &other.labels {
            self.labels.entry(*id).or_insert_with(|| label.clone());
        }
        for (name, id) in &other.bookmarks {
            self.bookmarks.entry(name.clone()).or_insert(*id);
        }
        for (id, theirs) in &other.metadata {
            let ours = self.metadata.entry(*id).or_default();
            for (name, value) in theirs {
                ours.entry(name.clone()).or_insert_with(|| value.clone());
            }
        }
    }
}
