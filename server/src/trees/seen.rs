//! What a listener has seen of a conversation, as a short text from which another connection, or another server, continues.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use alloquy_core::store::{ConversationRecord, ConversationSummary};
use alloquy_core::tree::Tree;
use alloquy_core::{Node, NodeId};

/// What was seen of a conversation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Seen {
    nodes: BTreeSet<NodeId>,
    /// The sum of the nodes. Each event has it, so it is kept: a merge may add thousands of nodes.
    sum: u64,
    head: Option<NodeId>,
    revision: u64,
}

/// The id of an event: what its reader has seen. It needs no memory of the server, and is valid on every server of a store.
///
/// ```text
/// 0199…-….1f3c….0199…-….3    the newest node, a sum of all nodes, the head, the revision of the metadata
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct EventId {
    newest: Option<NodeId>,
    sum: u64,
    head: Option<NodeId>,
    revision: u64,
}

/// What happened between two states.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Change {
    /// A node was added.
    Added(Box<Node>),
    /// Nodes were pruned.
    Pruned(Vec<NodeId>),
    /// The head moved.
    Head(Option<NodeId>),
    /// The metadata changed, which include labels and bookmarks.
    Metadata,
}

impl Seen {
    /// Everything that there is.
    pub(super) fn all(record: &ConversationRecord, tree: &Tree) -> Self {
        let nodes = tree.nodes().map(|node| node.id).collect();
        Self { sum: sum(&nodes), nodes, head: record.head, revision: record.revision }
    }

    /// What the reader of an event has seen. `None` where the nodes up to the newest one are not those that it has seen: older ones
    /// were added since, as a merge does, or some were pruned.
    pub(super) fn at(event: EventId, tree: &Tree) -> Option<Self> {
        let nodes = tree.nodes().map(|node| node.id);
        let nodes: BTreeSet<_> = nodes.filter(|node| Some(*node) <= event.newest).collect();
        let sum = sum(&nodes);
        let is_same = sum == event.sum;
        is_same.then_some(Self { nodes, sum, head: event.head, revision: event.revision })
    }

    /// Returns whether nothing seems to have changed. It does not compare the nodes, only their number.
    pub(super) fn is_like(&self, summary: &ConversationSummary) -> bool {
        let record = &summary.record;
        self.nodes.len() == summary.nodes && self.head == record.head && self.revision == record.revision
    }

    pub(super) fn event_id(&self) -> EventId {
        let newest = self.nodes.last().copied();
        EventId { newest, sum: self.sum, head: self.head, revision: self.revision }
    }

    pub(super) fn head(&self) -> Option<NodeId> {
        self.head
    }

    pub(super) fn count(&self) -> usize {
        self.nodes.len()
    }

    pub(super) fn revision(&self) -> u64 {
        self.revision
    }

    /// Returns what changed since this state, and with each change what was seen after it.
    pub(super) fn changes(&mut self, record: &ConversationRecord, tree: &Tree) -> Vec<(Change, EventId)> {
        let mut changes = Vec::new();
        let gone: Vec<_> = self.nodes.iter().copied().filter(|id| tree.node(*id).is_err()).collect();
        if !gone.is_empty() {
            self.nodes.retain(|id| tree.node(*id).is_ok());
            self.sum = sum(&self.nodes);
            changes.push((Change::Pruned(gone), self.event_id()));
        }
        let mut added: Vec<_> = tree.nodes().filter(|node| !self.nodes.contains(&node.id)).collect();
        added.sort_unstable_by_key(|node| node.id);
        for node in added {
            self.nodes.insert(node.id);
            self.sum = self.sum.wrapping_add(hash(node.id));
            changes.push((Change::Added(Box::new(node.clone())), self.event_id()));
        }
        if self.revision != record.revision {
            self.revision = record.revision;
            changes.push((Change::Metadata, self.event_id()));
        }
        if self.head != record.head {
            self.head = record.head;
            changes.push((Change::Head(record.head), self.event_id()));
        }
        changes
    }
}

/// Returns a number that does not depend on the order of nodes, and is another one for other nodes with near certainty.
fn sum(nodes: &BTreeSet<NodeId>) -> u64 {
    nodes.iter().fold(0, |sum, node| sum.wrapping_add(hash(*node)))
}

/// FNV-1a, mixed once more because its results are added.
fn hash(node: NodeId) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for byte in node.to_string().bytes() {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    hash ^= hash >> 32;
    hash.wrapping_mul(0xd6e8_feb8_6659_fd93)
}

impl fmt::Display for EventId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let newest = shown(self.newest);
        let head = shown(self.head);
        write!(formatter, "{newest}.{:x}.{head}.{}", self.sum, self.revision)
    }
}

impl FromStr for EventId {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let mut parts = text.split('.');
        let (Some(newest), Some(sum), Some(head), Some(revision), None) =
            (parts.next(), parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(());
        };
        Ok(Self {
            newest: read(newest)?,
            sum: u64::from_str_radix(sum, 16).map_err(drop)?,
            head: read(head)?,
            revision: revision.parse().map_err(drop)?,
        })
    }
}

/// The text of no node.
const NONE: &str = "-";

fn shown(node: Option<NodeId>) -> String {
    node.map_or_else(|| NONE.to_owned(), |node| node.to_string())
}

fn read(text: &str) -> Result<Option<NodeId>, ()> {
    if text == NONE {
        return Ok(None);
    }
    text.parse().map(Some).map_err(drop)
}

#[cfg(test)]
mod tests {
    use alloquy_core::{Message, Preface};
    use proptest::prelude::*;

    use super::*;

    fn record(head: Option<NodeId>, revision: u64) -> ConversationRecord {
        let mut record = ConversationRecord::new("tea".parse().unwrap(), Preface::default());
        record.head = head;
        record.revision = revision;
        record
    }

    /// A tree in which the parent of each node is one of those before it.
    fn nodes(parents: &[usize]) -> Vec<Node> {
        let mut nodes: Vec<Node> = Vec::new();
        for (index, parent) in parents.iter().enumerate() {
            let parent = (index > 0).then(|| nodes[parent % index].id);
            nodes.push(Node::new(parent, Message::user(index.to_string())));
        }
        nodes
    }

    proptest! {
        #[test]
        fn a_reader_continues_after_any_event(
            parents in prop::collection::vec(any::<usize>(), 1..12),
            before in any::<prop::sample::Index>(),
            read in any::<prop::sample::Index>(),
            revision in 0_u64..3,
        ) {
            let nodes = nodes(&parents);
            let first = Tree::from_nodes(nodes[..before.index(nodes.len())].iter().cloned()).unwrap();
            let second = Tree::from_nodes(nodes.iter().cloned()).unwrap();
            let now = record(nodes.last().map(|node| node.id), revision);
            let mut seen = Seen::all(&record(None, 0), &first);
            let changes = seen.changes(&now, &second);
            prop_assert_eq!(&seen, &Seen::all(&now, &second));
            // The connection is lost after some of them.
            let lost = read.index(changes.len());
            let id: EventId = changes[lost].1.to_string().parse().unwrap();
            let mut again = Seen::at(id, &second).unwrap();
            let rest: Vec<_> = again.changes(&now, &second);
            prop_assert_eq!(&rest[..], &changes[lost + 1..]);
        }

        #[test]
        fn a_reader_of_other_nodes_is_not_continued(parents in prop::collection::vec(any::<usize>(), 2..12)) {
            let nodes = nodes(&parents);
            let mut tree = Tree::from_nodes(nodes.iter().cloned()).unwrap();
            let id = Seen::all(&record(None, 0), &tree).event_id();
            let leaf = tree.leaves()[0];
            tree.prune(leaf).unwrap();
            prop_assert_eq!(Seen::at(id, &tree), None);
        }

        #[test]
        fn other_texts_are_no_ids(text in ".*") {
            if let Ok(id) = text.parse::<EventId>() {
                prop_assert_eq!(id.to_string().parse(), Ok(id));
            }
        }
    }
}
