//! The log of one conversation, as far as it was read.

use std::collections::HashMap;
use std::time::Instant;

use alloquy_core::media::Digest;
use alloquy_core::store::{ConversationRecord, ConversationSummary};
use alloquy_core::tree::Tree;
use alloquy_core::{ConversationId, Node, NodeId};

use super::entry::{Change, Entry, State, milliseconds};
use crate::failure::Failure;

/// A conversation up to an entry. Entries are numbered from 1, so 0 means that there is none.
#[derive(Clone, Debug)]
pub(super) struct Log {
    pub(super) number: u64,
    pub(super) last: Option<NodeId>,
    pub(super) base: u64,
    pub(super) state: State,
    pub(super) tree: Tree,
    /// When the end of the log was read last.
    pub(super) read: Instant,
}

impl Log {
    /// Returns a log without a conversation that ends at the entry of this number.
    pub(super) fn blank(number: u64) -> Self {
        Self {
            number,
            last: None,
            base: number,
            state: State::gone(),
            tree: Tree::default(),
            read: Instant::now(),
        }
    }

    pub(super) fn record(&self, id: &ConversationId) -> Result<&ConversationRecord, Failure> {
        match &self.state.record {
            Some(record) if record.id == *id => Ok(record),
            Some(_) => {
                Err(Failure::damaged(format!("conversation {:?}", id.as_str()), "its name is another"))
            }
            None => Err(Failure::NoConversation(id.clone())),
        }
    }

    pub(super) fn summary(&self, id: &ConversationId) -> Result<ConversationSummary, Failure> {
        self.record(id)?;
        let Some(summary) = self.state.summary() else {
            let what = format!("conversation {:?}", id.as_str());
            return Err(Failure::damaged(what, "its time is beyond what this system can represent"));
        };
        Ok(summary)
    }

    /// Returns the next entry: a change with the state that it leads to.
    pub(super) fn entry(&self, state: State, change: Change) -> Entry {
        let base = if change.is_base() { self.number + 1 } else { self.base };
        Entry::new(self.last, base, state, change)
    }

    /// Applies the next entry.
    pub(super) fn apply(&mut self, entry: Entry) -> alloquy_core::Result<()> {
        if entry.previous != self.last && !entry.change.is_base() {
            let message = format!("entry {} does not follow the one before it", self.number + 1);
            return Err(alloquy_core::Error::new(alloquy_core::ErrorKind::Corrupt, message));
        }
        match entry.change {
            Change::Created | Change::Deleted => self.tree = Tree::default(),
            Change::Nodes(nodes) => {
                for node in nodes {
                    self.tree.insert(node)?;
                }
            }
            Change::Head | Change::Metadata => {}
            Change::Pruned(node) => self.tree.prune(node)?,
            Change::Whole { nodes, tombstones } => {
                self.tree = Tree::from_nodes(nodes)?;
                for node in tombstones {
                    self.tree.bury(node);
                }
            }
        }
        (self.last, self.base, self.state) = (Some(entry.id), entry.base, entry.state);
        self.number += 1;
        Ok(())
    }

    /// Returns the media of the preface and the nodes.
    pub(super) fn media(&self) -> impl Iterator<Item = Digest> {
        let record = self.state.record.iter().flat_map(ConversationRecord::media);
        record.chain(self.tree.nodes().flat_map(Node::media))
    }

    /// Returns the nodes of a batch that are new. Fails unless the whole batch may be appended.
    pub(super) fn new_among(&self, batch: &[Node]) -> Result<Vec<Node>, Failure> {
        let mut new: HashMap<NodeId, &Node> = HashMap::new();
        let mut found = Vec::new();
        for node in batch {
            match self.tree.node(node.id).ok().or_else(|| new.get(&node.id).copied()) {
                Some(known) if known == node => continue,
                Some(_) => return Err(Failure::OtherContent(node.id)),
                None if self.tree.tombstones().any(|pruned| pruned == node.id) => {
                    return Err(Failure::Pruned(node.id));
                }
                None => {}
            }
            // The parent is in the tree, or earlier in the batch.
            if let Some(parent) = node.parent.filter(|parent| !new.contains_key(parent)) {
                self.tree.node(parent)?;
            }
            new.insert(node.id, node);
            found.push(node.clone());
        }
        Ok(found)
    }

    /// Returns the state after nodes are appended.
    pub(super) fn with(&self, nodes: &[Node]) -> State {
        let mut state = self.state.clone();
        state.nodes += nodes.len();
        for node in nodes {
            state.updated = state.updated.max(milliseconds(node.id.created()));
        }
        state
    }
}
