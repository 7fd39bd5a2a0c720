//! The tree of a conversation: nodes that never change, each knowing its parent.

use std::collections::{BTreeSet, HashMap};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::address::{Address, Position};
use crate::media::{Digest, Media};
use crate::message::Message;
use crate::report::Usage;
use crate::tokenizer::TokenId;
use crate::{Error, ErrorKind, Result};

pub use crate::address::NodeId;

/// The fact about a reply that says what its prompt was rendered with.
pub(crate) const TEMPLATE: &str = "template";
/// The fact about a reply that says which model it is of.
pub(crate) const MODEL: &str = "model";
/// The fact about a reply that says how many tokens it took.
pub(crate) const USAGE: &str = "usage";
/// The fact about a reply that says why it ended.
pub(crate) const FINISH: &str = "finish";
/// The fact about a reply that says which instructions it was given in the place of those of its conversation.
pub(crate) const SYSTEM_PROMPT: &str = "system_prompt";
/// The fact about a reply that says where the history of its prompt began, where some of it was left out.
pub(crate) const CUT: &str = "history_cut";
/// The fact about a message that says by which prompt it was made.
pub(crate) const PROMPT: &str = "prompt_name";
/// The fact about a node that says what it was called when it was made.
pub(crate) const LABEL: &str = "label";

/// Whether a node's message was said to its end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum NodeStatus {
    /// Said to its end.
    #[default]
    Complete,
    /// Ended early, by the caller or by a failure; what had been said is kept.
    Interrupted,
}

/// One message at its place in the tree. A node never changes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Node {
    /// Its identity.
    pub id: NodeId,
    /// The node it answers or follows; `None` for a first message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<NodeId>,
    /// What is said.
    pub message: Message,
    /// Whether it was said to its end.
    #[serde(default)]
    pub status: NodeStatus,
    /// The ids that a model sampled this message as.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tokens: Vec<TokenId>,
    /// Facts about the message: usage, cache report, finish reason, the model's name, the template's digest, a label.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
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
            metadata: Map::new(),
        }
    }

    /// Returns the digests of the media that the message shows.
    pub fn media(&self) -> impl Iterator<Item = Digest> {
        self.message.media().map(Media::digest)
    }

    /// Returns the digest of the template that the prompt of this reply was rendered with, where it is known: not of
    /// questions, of replies from models that keep their template to themselves, and of those stored before this was
    /// remembered.
    pub fn template(&self) -> Option<Digest> {
        self.metadata.get(TEMPLATE)?.as_str()?.parse().ok()
    }

    /// Returns the name of the model that said this; `None` for what no model said here.
    pub fn model(&self) -> Option<&str> {
        self.metadata.get(MODEL)?.as_str()
    }

    /// Returns how many tokens this reply took; `None` for what no model said here, and where it is not known, as of
    /// replies that were dropped.
    pub fn usage(&self) -> Option<Usage> {
        Usage::deserialize(self.metadata.get(USAGE)?).ok()
    }

    /// Returns the name of the prompt that this message was made from; `None` for what was said as it stands.
    pub fn prompt(&self) -> Option<&str> {
        self.metadata.get(PROMPT)?.as_str()
    }

    /// Returns what the node was called when it was made; [`Annotations::label`](crate::Annotations::label) knows what
    /// it is called now.
    pub fn label(&self) -> Option<&str> {
        self.metadata.get(LABEL)?.as_str()
    }
}

/// All nodes of a conversation. Several first messages may stand side by side: an edited first message is a
/// sibling of the original.
///
/// Walks are loops, so depth is bounded by memory alone.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tree {
    nodes: HashMap<NodeId, Node>,
    /// Sorted by id, which is the order of making, whatever the order of insertion.
    children: HashMap<Option<NodeId>, Vec<NodeId>>,
    /// Nodes that were pruned with everything below them.
    tombstones: BTreeSet<NodeId>,
}

impl Tree {
    /// Builds a tree from nodes, parents before children.
    ///
    /// # Errors
    /// As [`Tree::insert`].
    pub fn from_nodes(nodes: impl IntoIterator<Item = Node>) -> Result<Self> {
        let mut tree = Self::default();
        nodes.into_iter().try_for_each(|node| tree.insert(node))?;
        Ok(tree)
    }

    /// Inserts a node; inserting the same node again changes nothing.
    ///
    /// # Errors
    /// [`ErrorKind::Conflict`] for an id that is here with other content or was pruned, [`ErrorKind::NotFound`] for a
    /// parent that is not here. The tree is unchanged then.
    pub fn insert(&mut self, node: Node) -> Result<()> {
        if let Some(known) = self.nodes.get(&node.id) {
            return same_node(known, &node);
        }
        if self.tombstones.contains(&node.id) {
            return Err(Error::new(ErrorKind::Conflict, format!("node {} was pruned", node.id)));
        }
        if let Some(parent) = node.parent {
            self.node(parent)?;
        }
        let siblings = self.children.entry(node.parent).or_default();
        let place = siblings.partition_point(|&sibling| sibling < node.id);
        siblings.insert(place, node.id);
        self.nodes.insert(node.id, node);
        Ok(())
    }

    /// Inserts nodes, parents before children, all or none.
    ///
    /// # Errors
    /// As [`Tree::insert`].
    pub fn insert_all(&mut self, nodes: &[Node]) -> Result<()> {
        let mut added = Vec::new();
        for node in nodes {
            let known = self.nodes.contains_key(&node.id);
            if let Err(error) = self.insert(node.clone()) {
                added.into_iter().rev().for_each(|id| self.remove_leaf(id));
                return Err(error);
            }
            added.extend((!known).then_some(node.id));
        }
        Ok(())
    }

    fn remove_leaf(&mut self, id: NodeId) {
        let Some(node) = self.nodes.remove(&id) else {
            return;
        };
        if let Some(siblings) = self.children.get_mut(&node.parent) {
            siblings.retain(|&sibling| sibling != id);
            if siblings.is_empty() {
                self.children.remove(&node.parent);
            }
        }
    }

    /// Removes a node with everything below it and remembers that it was here: its id is never taken again. Pruning it
    /// again changes nothing.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`].
    pub fn prune(&mut self, id: NodeId) -> Result<()> {
        if self.tombstones.contains(&id) {
            return Ok(());
        }
        self.node(id)?;
        let below = self.below(id);
        // From the leaf that it becomes: one list of siblings changes, however many nodes go.
        for &id in &below {
            self.children.remove(&Some(id));
        }
        for id in below.iter().skip(1) {
            self.nodes.remove(id);
        }
        self.remove_leaf(id);
        self.tombstones.insert(id);
        Ok(())
    }

    /// Says whether a conversation whose head is at `head` may prune a node.
    ///
    /// # Errors
    /// [`ErrorKind::Conflict`] when the head is at the node or below it.
    pub fn can_prune(&self, id: NodeId, head: Option<NodeId>) -> Result<()> {
        match self.path(head)?.iter().any(|node| node.id == id) {
            false => Ok(()),
            true => {
                let message = format!("the head stands at node {id} or below it: move it before you prune");
                Err(Error::new(ErrorKind::Conflict, message))
            }
        }
    }

    /// Returns a node and everything below it, parents before children.
    pub(crate) fn below(&self, id: NodeId) -> Vec<NodeId> {
        let mut found = vec![id];
        let mut next = 0;
        while let Some(&id) = found.get(next) {
            found.extend_from_slice(self.children(Some(id)));
            next += 1;
        }
        found
    }

    /// Returns the nodes that were pruned, without what stood below them.
    pub fn tombstones(&self) -> impl Iterator<Item = NodeId> {
        self.tombstones.iter().copied()
    }

    /// Remembers that a node was pruned before this tree was read.
    pub fn bury(&mut self, id: NodeId) {
        self.tombstones.insert(id);
    }

    /// Returns every node, in no order.
    pub fn nodes(&self) -> impl Iterator<Item = &Node> {
        self.nodes.values()
    }

    /// Returns how many nodes there are.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Says whether there are none.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Returns a node.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`].
    pub fn node(&self, id: NodeId) -> Result<&Node> {
        self.nodes
            .get(&id)
            .ok_or_else(|| Error::new(ErrorKind::NotFound, format!("node {id} does not exist")))
    }

    /// Returns the children of a node in the order they were made; those of `None` are the first messages.
    pub fn children(&self, id: Option<NodeId>) -> &[NodeId] {
        self.children.get(&id).map_or(&[], Vec::as_slice)
    }

    /// Returns the nodes from the first message to `id`; none for `None`.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`].
    pub fn path(&self, id: Option<NodeId>) -> Result<Vec<&Node>> {
        let mut path = Vec::new();
        let mut next = id;
        while let Some(id) = next {
            let node = self.node(id)?;
            path.push(node);
            next = node.parent;
        }
        path.reverse();
        Ok(path)
    }

    /// Returns the nodes without children, in the order of their ids.
    pub fn leaves(&self) -> Vec<NodeId> {
        let mut leaves: Vec<_> =
            self.nodes.keys().copied().filter(|&id| self.children(Some(id)).is_empty()).collect();
        leaves.sort_unstable();
        leaves
    }

    /// Returns every node with its depth, parents before children, siblings in the order they were made.
    pub fn walk(&self) -> impl Iterator<Item = (usize, &Node)> {
        let mut pending: Vec<(usize, NodeId)> = Vec::new();
        pending.extend(self.children(None).iter().rev().map(|&id| (0, id)));
        std::iter::from_fn(move || {
            let (depth, id) = pending.pop()?;
            pending.extend(self.children(Some(id)).iter().rev().map(|&child| (depth + 1, child)));
            self.nodes.get(&id).map(|node| (depth, node))
        })
    }

    /// Computes where a node stands. What was pruned beside or above it does not count.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`].
    pub fn position(&self, id: Option<NodeId>) -> Result<Position> {
        // Siblings are sorted by id.
        let among = |node: &&Node| self.children(node.parent).partition_point(|&sibling| sibling < node.id);
        Ok(self.path(id)?.iter().map(among).collect())
    }

    /// Returns the node at an address, `None` for the place before the first message.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] for a node that is not here, saying how many there are where a position ends.
    pub fn at(&self, address: &Address) -> Result<Option<NodeId>> {
        match address {
            Address::Node(id) => Ok(Some(self.node(*id)?.id)),
            Address::Position(position) => self.at_position(position),
        }
    }

    fn at_position(&self, position: &Position) -> Result<Option<NodeId>> {
        let mut at = None;
        for &place in position.places() {
            let children = self.children(at);
            let child = children.get(place).ok_or_else(|| {
                let found = children.len();
                let message =
                    format!("no node at {:?}: there are {found} nodes at that level", position.to_string());
                Error::new(ErrorKind::NotFound, message)
            })?;
            at = Some(*child);
        }
        Ok(at)
    }
}

/// Appending a node again is no error as long as it is the same node.
pub(crate) fn same_node(known: &Node, again: &Node) -> Result<()> {
    match known == again {
        true => Ok(()),
        false => {
            let message = format!("node {} exists with other content", known.id);
            Err(Error::new(ErrorKind::Conflict, message))
        }
    }
}
