//! The log of one conversation, as far as it was read. Knows what entries mean, not where they are.

use std::time::Instant;

use alloquy_core::media::Digest;
use alloquy_core::store::{ConversationRecord, ConversationSummary};
use alloquy_core::tree::Tree;
use alloquy_core::{ConversationId, Node, NodeId};

use super::entry::{Change, Entry, State, milliseconds};
use crate::failure::Failure;

/// A conversation up to its entry of a number; none has the number 0.
#[derive(Clone, Debug)]
pub(super) struct Log {
    pub(super) number: u64,
    pub(super) last: Option<NodeId>,
    pub(super) base: u64,
    pub(super) state: State,
    pub(super) tree: Tree,
    /// When its end was looked for last.
    pub(super) read: Instant,
}

impl Log {
    /// Ends at an entry behind which nothing is.
    pub(super) fn blank(number: u64) -> Self {
        let (state, tree) = (State::gone(), Tree::default());
        Self { number, last: None, base: number, state, tree, read: Instant::now() }
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
        let what = || format!("conversation {:?}", id.as_str());
        self.state
            .summary()
            .ok_or_else(|| Failure::damaged(what(), "its time is beyond what this system holds"))
    }

    /// The entry of a change, with the state that it leads to.
    pub(super) fn entry(&self, state: State, change: Change) -> Entry {
        let base = if change.is_base() { self.number + 1 } else { self.base };
        Entry::new(self.last, base, state, change)
    }

    /// Takes the next entry in.
    pub(super) fn apply(&mut self, entry: Entry) -> alloquy_core::Result<()> {
        if entry.previous != self.last && !entry.change.is_base() {
            let message = format!("entry {} does not follow the one before it", self.number + 1);
            return Err(alloquy_core::Error::new(alloquy_core::ErrorKind::Corrupt, message));
        }
        match entry.change {
            Change::Created | Change::Deleted => self.tree = Tree::default(),
            Change::Nodes(nodes) => nodes.into_iter().try_for_each(|node| self.tree.insert(node))?,
            Change::Head | Change::Metadata => {}
            Change::Pruned(node) => self.tree.prune(node)?,
            Change::Whole { nodes, tombstones } => {
                self.tree = Tree::from_nodes(nodes)?;
                tombstones.into_iter().for_each(|node| self.tree.bury(node));
            }
        }
        (self.last, self.base, self.state) = (Some(entry.id), entry.base, entry.state);
        self.number += 1;
        Ok(())
    }

    /// Returns the media that nodes and preface refer to.
    pub(super) fn media(&self) -> impl Iterator<Item = Digest> {
        let record = self.state.record.iter().flat_map(ConversationRecord::media);
        record.chain(self.tree.nodes().flat_map(Node::media))
    }

    /// Returns the nodes of a batch that are not there yet, if all of it may be appended.
    pub(super) fn new_among(&self, batch: &[Node]) -> Result<Vec<Node>, Failure> {
        let mut new: std::collections::HashMap<NodeId, &Node> = std::collections::HashMap::new();
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
            if let Some(parent) = node.parent.filter(|parent| !new.contains_key(parent)) {
                self.tree.node(parent)?;
            }
            new.insert(node.id, node);
            found.push(node.clone());
        }
        Ok(found)
    }

    /// The state after nodes were appended.
    pub(super) fn with(&self, nodes: &[Node]) -> State {
        let last = nodes.iter().map(|node| milliseconds(node.id.created())).max().unwrap_or_default();
        let (count, updated) = (self.state.nodes + nodes.len(), self.state.updated.max(last));
        State { record: self.state.record.clone(), nodes: count, updated }
    }
}
