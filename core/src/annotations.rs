//! Notes on the nodes of a conversation: labels, bookmarks, and metadata that is added later.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::media::Digest;
use crate::store::{ConversationId, ConversationRecord, ConversationStore, Owner, try_change_metadata};
use crate::tree::{Node, NodeId, Tree};
use crate::{Error, ErrorKind, Result};

/// The key of the [`Annotations`] in a conversation's metadata. Hosts may use every other key.
pub const ANNOTATIONS_KEY: &str = "alloquy";

/// How many keys of nodes a conversation remembers. Its metadata is written whole, so this bounds what a new key costs.
const KEYS: usize = 256;

/// The notes on the nodes of one conversation.
///
/// Nodes never change, so their notes are part of the conversation's metadata. A change is a compare-and-set of the
/// metadata, and queries find notes too: `Filter::exists("alloquy.bookmarks.draft")`.
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
    /// An empty label hides the one that the node was created with.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    labels: BTreeMap<NodeId, String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    bookmarks: BTreeMap<String, NodeId>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    metadata: BTreeMap<NodeId, Map<String, Value>>,
    /// The last node of each key, such as that of a search: [`node_with`].
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    keys: BTreeMap<String, NodeId>,
    /// Notes that a later version wrote; they are kept as they are.
    #[serde(flatten)]
    other: Map<String, Value>,
}

impl Annotations {
    /// Reads the notes of a conversation.
    ///
    /// # Errors
    /// [`ErrorKind::Corrupt`] if the entry is not made of notes.
    pub fn of(record: &ConversationRecord) -> Result<Self> {
        Self::read(&record.metadata).map_err(|error| {
            error.context(format_args!("the notes of conversation {:?} cannot be read", record.id.as_str()))
        })
    }

    /// Reads the notes from a conversation's metadata.
    ///
    /// # Errors
    /// [`ErrorKind::Corrupt`] if the entry is not made of notes.
    pub fn read(metadata: &Map<String, Value>) -> Result<Self> {
        match metadata.get(ANNOTATIONS_KEY) {
            None => Ok(Self::default()),
            Some(notes) => Self::deserialize(notes).map_err(|error| {
                Error::new(ErrorKind::Corrupt, format!("metadata {ANNOTATIONS_KEY:?}: {error}"))
            }),
        }
    }

    /// Writes the notes into a conversation's metadata. Without any note the entry is removed.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] for notes that cannot be written as JSON.
    pub fn write(&self, metadata: &mut Map<String, Value>) -> Result<()> {
        if *self == Self::default() {
            metadata.shift_remove(ANNOTATIONS_KEY);
            return Ok(());
        }
        let notes = serde_json::to_value(self).map_err(|source| {
            Error::new(ErrorKind::Invalid, "these notes cannot be written as JSON").with_source(source)
        })?;
        metadata.insert(ANNOTATIONS_KEY.to_owned(), notes);
        Ok(())
    }

    /// Returns the label of a node: the latest one, else the one that it was created with.
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

    /// Returns the metadata of a node: the values that it was created with, replaced by those that were set later.
    pub fn metadata(&self, node: &Node) -> Map<String, Value> {
        let mut facts = node.metadata.clone();
        for (name, value) in self.metadata.get(&node.id).into_iter().flatten() {
            if value.is_null() {
                facts.shift_remove(name);
            } else {
                facts.insert(name.clone(), value.clone());
            }
        }
        facts
    }

    /// Labels a node. `None` removes its label, also one that it was created with.
    pub fn set_label(&mut self, node: NodeId, label: Option<&str>) {
        self.labels.insert(node, label.unwrap_or_default().to_owned());
    }

    pub(crate) fn set_bookmark(&mut self, name: &str, node: Option<NodeId>) {
        if let Some(node) = node {
            self.bookmarks.insert(name.to_owned(), node);
        } else {
            self.bookmarks.remove(name);
        }
    }

    pub(crate) fn set_metadata(&mut self, node: NodeId, name: &str, value: Value) {
        self.metadata.entry(node).or_default().insert(name.to_owned(), value);
    }

    /// Notes that a node has some keys. Of too many keys the oldest nodes lose theirs.
    pub(crate) fn set_keys(&mut self, node: NodeId, keys: &[Digest]) {
        for key in keys {
            self.keys.insert(key.to_string(), node);
        }
        while self.keys.len() > KEYS {
            let oldest = self.keys.iter().min_by_key(|(_, node)| **node).map(|(key, _)| key.clone());
            match oldest {
                Some(oldest) => drop(self.keys.remove(&oldest)),
                None => return,
            }
        }
    }

    /// Drops the notes on nodes that are not in `tree`.
    pub(crate) fn keep(&mut self, tree: &Tree) {
        self.keys.retain(|_, id| tree.node(*id).is_ok());
        self.labels.retain(|id, _| tree.node(*id).is_ok());
        self.bookmarks.retain(|_, id| tree.node(*id).is_ok());
        self.metadata.retain(|id, _| tree.node(*id).is_ok());
    }

    /// Adds the notes of another copy where this one has none.
    pub(crate) fn join(&mut self, other: &Self) {
        for (key, id) in &other.keys {
            self.keys.entry(key.clone()).or_insert(*id);
        }
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

/// Finds the node of a key in a conversation's metadata, without reading the other notes.
pub(crate) fn node_with(metadata: &Map<String, Value>, key: Digest) -> Option<NodeId> {
    let id = metadata.get(ANNOTATIONS_KEY)?.get("keys")?.get(key.to_string())?;
    id.as_str()?.parse().ok()
}

/// Changes the notes on a conversation's nodes.
pub(crate) async fn note(
    store: &dyn ConversationStore,
    owner: &Owner,
    id: &ConversationId,
    edit: impl Fn(&mut Annotations),
) -> Result<()> {
    let change = |metadata: &mut Map<String, Value>| {
        let mut notes = Annotations::read(metadata)?;
        edit(&mut notes);
        notes.write(metadata)
    };
    try_change_metadata(store, owner, id, change).await.map(drop)
}
