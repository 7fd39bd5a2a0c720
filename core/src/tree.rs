//! The tree of a conversation: nodes that never change, each with the id of its parent.

mod address;
mod node;

use std::collections::{BTreeSet, HashMap};

use crate::short_ids::{is_generated, may_be_short};
use crate::{Error, ErrorKind, Result};

pub use address::{Address, NodeId, NodePath};
pub(crate) use node::same_node;
pub use node::{Node, NodeStatus};

/// How many nodes an error lists.
const CANDIDATES: usize = 8;

/// All nodes of a conversation. There may be several first messages: an edited first message is a sibling of the
/// original.
///
/// All walks are loops, so only memory limits the depth.
///
/// ```
/// use alloquy_core::tree::Tree;
/// use alloquy_core::{Message, Node};
///
/// let question = Node::new(None, Message::user("Tea?"));
/// let yes = Node::new(Some(question.id), Message::assistant("Yes"));
/// let no = Node::new(Some(question.id), Message::assistant("No"));
/// let mut tree = Tree::from_nodes([question.clone(), yes.clone(), no.clone()])?;
/// assert_eq!(tree.children(Some(question.id)), [yes.id, no.id]);
/// assert_eq!(tree.path(Some(no.id))?, [&question, &no]);
/// tree.prune(yes.id)?;
/// assert_eq!(tree.leaves(), [no.id]);
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tree {
    nodes: HashMap<NodeId, Node>,
    /// Sorted by id, which is the order of creation.
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
        for node in nodes {
            tree.insert(node)?;
        }
        Ok(tree)
    }

    /// Inserts a node; inserting the same node again changes nothing.
    ///
    /// # Errors
    /// [`ErrorKind::Conflict`] for an id that was pruned or exists with other content, [`ErrorKind::NotFound`] for a
    /// missing parent. The tree is unchanged then.
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
            let is_known = self.nodes.contains_key(&node.id);
            if let Err(error) = self.insert(node.clone()) {
                for id in added.into_iter().rev() {
                    self.remove_leaf(id);
                }
                return Err(error);
            }
            if !is_known {
                added.push(node.id);
            }
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

    /// Removes a node with everything below it, and keeps a tombstone, so that its id cannot be used again. Pruning it
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
        // The nodes below go first, so that the node is a leaf. Only one list of siblings changes then.
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

    /// Checks that a conversation whose head is at `head` may prune a node.
    ///
    /// # Errors
    /// [`ErrorKind::Conflict`] if the head is at the node or below it.
    pub fn can_prune(&self, id: NodeId, head: Option<NodeId>) -> Result<()> {
        if self.path(head)?.iter().any(|node| node.id == id) {
            let message = format!("the head is at node {id} or below it: move it before you prune");
            return Err(Error::new(ErrorKind::Conflict, message));
        }
        Ok(())
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

    /// Returns the nodes that were pruned, without the nodes below them.
    pub fn tombstones(&self) -> impl Iterator<Item = NodeId> {
        self.tombstones.iter().copied()
    }

    /// Adds the tombstone of a node that was pruned before this tree was read.
    pub fn bury(&mut self, id: NodeId) {
        self.tombstones.insert(id);
    }

    /// Returns every node, in no particular order.
    pub fn nodes(&self) -> impl Iterator<Item = &Node> {
        self.nodes.values()
    }

    /// Returns how many nodes there are.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Returns whether there are no nodes.
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

    /// Returns the children of a node in the order of their creation; those of `None` are the first messages.
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

    /// Returns every node with its depth, parents before children, siblings in the order of their creation.
    pub fn walk(&self) -> impl Iterator<Item = (usize, &Node)> {
        let mut pending: Vec<(usize, NodeId)> = Vec::new();
        pending.extend(self.children(None).iter().rev().map(|&id| (0, id)));
        std::iter::from_fn(move || {
            let (depth, id) = pending.pop()?;
            pending.extend(self.children(Some(id)).iter().rev().map(|&child| (depth + 1, child)));
            self.nodes.get(&id).map(|node| (depth, node))
        })
    }

    /// Computes the position of a node. Pruned siblings do not count.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`].
    pub fn position(&self, id: Option<NodeId>) -> Result<NodePath> {
        let mut places = Vec::new();
        for node in self.path(id)? {
            // Siblings are sorted by id.
            places.push(self.children(node.parent).partition_point(|&sibling| sibling < node.id));
        }
        Ok(places.into_iter().collect())
    }

    /// Returns the node at an address, `None` for the place before the first message.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] for a node that does not exist; for a position, with the positions that exist at the level
    /// where it leads nowhere.
    pub fn at(&self, address: &Address) -> Result<Option<NodeId>> {
        match address {
            Address::Node(id) => Ok(Some(self.node(*id)?.id)),
            Address::Path(position) => self.at_position(position),
        }
    }

    /// Finds a node by its address, or by the beginning or the end of its id, of 4 digits or more. The empty text is the
    /// place before the first message.
    ///
    /// ```
    /// use alloquy_core::tree::Tree;
    /// use alloquy_core::{Message, Node};
    ///
    /// let question = Node::new(None, Message::user("Tea?"));
    /// let tree = Tree::from_nodes([question.clone()])?;
    /// let id = question.id.to_string();
    /// assert_eq!(tree.find("0")?, Some(question.id));
    /// assert_eq!(tree.find(&id[28..])?, Some(question.id));
    /// assert_eq!(tree.find("tea").unwrap_err().to_string(), "there is no \"tea\": use an address such as 0.1, or a node's id");
    /// # Ok::<(), alloquy_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] for a node that does not exist; [`ErrorKind::Invalid`] for what is neither an address nor a
    /// part of an id, and for a part of several ids, which the error lists.
    pub fn find(&self, text: &str) -> Result<Option<NodeId>> {
        let missing = match text.parse::<Address>() {
            Ok(address) => match self.at(&address) {
                Err(error) if error.is_not_found() => error,
                found => return found,
            },
            Err(_) => {
                let message = format!("there is no {text:?}: use an address such as 0.1, or a node's id");
                Error::new(ErrorKind::Invalid, message)
            }
        };
        let found = self.abbreviated(text);
        match found.as_slice() {
            [] if may_be_short(text) && missing.kind() == ErrorKind::Invalid => {
                Err(Error::new(ErrorKind::NotFound, format!("no node's id begins or ends with {text:?}")))
            }
            [] => Err(missing),
            [id] => Ok(Some(*id)),
            several => Err(self.ambiguous(text, several)),
        }
    }

    /// Returns the nodes whose ids begin or, if none does, end with a text, in the order of their ids.
    fn abbreviated(&self, text: &str) -> Vec<NodeId> {
        if !may_be_short(text) {
            return Vec::new();
        }
        let mut begun = Vec::new();
        let mut ended = Vec::new();
        for &id in self.nodes.keys() {
            let whole = id.to_string();
            if whole.starts_with(text) {
                begun.push(id);
            } else if whole.ends_with(text) && is_generated(&whole) {
                ended.push(id);
            }
        }
        let mut found = if begun.is_empty() { ended } else { begun };
        found.sort_unstable();
        found
    }

    fn ambiguous(&self, text: &str, found: &[NodeId]) -> Error {
        let mut candidates = Vec::new();
        for &id in found.iter().take(CANDIDATES) {
            if let Some(node) = self.nodes.get(&id) {
                candidates.push(format!("{id} ({}: {})", node.message.role, node.message.preview(20)));
            }
        }
        if found.len() > CANDIDATES {
            candidates.push(format!("and {} more", found.len() - CANDIDATES));
        }
        let message = format!("{text:?} is a part of {} ids: {}", found.len(), candidates.join(", "));
        Error::new(ErrorKind::Invalid, message)
    }

    fn at_position(&self, position: &NodePath) -> Result<Option<NodeId>> {
        let mut at = None;
        for &place in position.places() {
            let Some(child) = self.children(at).get(place) else {
                return Err(self.nothing_at(position, at));
            };
            at = Some(*child);
        }
        Ok(at)
    }

    /// Creates the error of a position that leads nowhere below `at`, with the positions that exist there.
    fn nothing_at(&self, position: &NodePath, at: Option<NodeId>) -> Error {
        let above = self.position(at).unwrap_or_default().to_string();
        let separator = if above.is_empty() { "" } else { "." };
        let exist = match (self.children(at).len(), above.as_str()) {
            (0, "") => "there are no messages yet".to_owned(),
            (0, above) => format!("{above} is the last message there"),
            (1, _) => format!("{above}{separator}0 exists"),
            (count, _) => format!("{above}{separator}0 … {above}{separator}{} exist", count - 1),
        };
        Error::new(ErrorKind::NotFound, format!("nothing at {position} ({exist})"))
    }
}
