//! What a turn has said when it is dropped before its end, and how that is kept. Knows stores, not models.

use std::sync::Arc;

use futures::FutureExt;
use serde_json::{Map, Value};

use super::facts::dropped;
use super::unfinished::PartialReplies;
use super::{Parts, TurnRequest};
use crate::message::{Content, Message, Role};
use crate::processor::Delta;
use crate::report::ReplyFacts;
use crate::store::{ConversationId, ConversationRecord};
use crate::tree::{Node, NodeId, NodeStatus};

/// Watches over a turn: when it is dropped, what was said is kept.
pub(super) struct Abandoned {
    /// `None` once the turn came to an end.
    parts: Option<Arc<Parts>>,
    conversation: ConversationId,
    /// What the node of the reply keeps beside its message.
    facts: ReplyFacts,
    label: Option<String>,
    metadata: Map<String, Value>,
    /// Where the turn has seen the head, or put it.
    from: Option<NodeId>,
    /// The last node of its path that is stored.
    tip: Option<NodeId>,
    /// What is not stored yet, or is being stored: storing it again changes nothing.
    pending: Vec<Node>,
    /// Whether more is pending than what was asked.
    answers: bool,
    /// What is said of a reply of which there is no node yet.
    said: Vec<Content>,
}

impl Abandoned {
    pub(super) fn new(
        parts: Arc<Parts>,
        model: &str,
        record: &ConversationRecord,
        tip: Option<NodeId>,
        ask: &TurnRequest,
    ) -> Self {
        let facts = dropped(model, ask);
        Self {
            parts: (parts.partial_replies == PartialReplies::Keep).then_some(parts),
            conversation: record.id.clone(),
            facts,
            label: ask.label.clone(),
            metadata: ask.metadata.clone(),
            from: record.head,
            tip,
            pending: Vec::new(),
            answers: false,
            said: Vec::new(),
        }
    }

    /// What is asked; it is stored later.
    pub(super) fn say(&mut self, nodes: &[Node]) {
        self.pending = nodes.to_vec();
    }

    /// A reply begins below what there is.
    pub(super) fn begin(&mut self) {
        self.said.clear();
    }

    pub(super) fn said(&mut self, delta: &Delta) {
        delta.join_to(&mut self.said);
    }

    /// Returns what the deltas of the reply make so far.
    pub(super) fn message(&self) -> Message {
        Message::new(Role::Assistant, self.said.clone())
    }

    /// A reply, or results, are being stored.
    pub(super) fn storing(&mut self, node: &Node) {
        if node.message.role == Role::Assistant {
            self.said.clear();
        }
        self.answers = true;
        self.pending.push(node.clone());
    }

    /// What was pending is stored, and the head is at `from`, unless another writer moved it.
    pub(super) fn stored(&mut self, from: Option<NodeId>) {
        self.tip = self.pending.last().map_or(self.tip, |node| Some(node.id));
        self.from = from;
        self.refused();
    }

    /// The store did not take what was pending.
    pub(super) fn refused(&mut self) {
        self.pending.clear();
        self.answers = false;
    }

    pub(super) fn disarm(&mut self) {
        self.parts = None;
    }

    /// Makes the node of the reply that was dropped.
    fn node(&self, parent: Option<NodeId>, said: Message) -> Node {
        let mut node = Node::new(parent, said);
        node.status = NodeStatus::Interrupted;
        node.reply = Some(Box::new(self.facts.clone()));
        node.label.clone_from(&self.label);
        node.metadata.clone_from(&self.metadata);
        node
    }
}

impl Drop for Abandoned {
    fn drop(&mut self) {
        let Some(parts) = self.parts.take() else { return };
        let said = self.message();
        let mut nodes = std::mem::take(&mut self.pending);
        if !said.is_empty() {
            let parent = nodes.last().map_or(self.tip, |node| Some(node.id));
            nodes.push(self.node(parent, said));
            self.answers = true;
        }
        let Some(last) = nodes.last() else { return };
        // A question without an answer is a branch: many templates refuse the one that would follow it.
        let to = if self.answers { Some(last.id) } else { self.from };
        let (store, owner) = (Arc::clone(&parts.store), parts.owner.clone());
        let (conversation, from) = (self.conversation.clone(), self.from);
        let kept = async move {
            let kept = store.append_and_move(&owner, &conversation, &nodes, from, to).await;
            kept.map(drop).map_err(|error| {
                tracing::warn!(%error, "a dropped reply could not be kept");
                Arc::new(error)
            })
        };
        parts.unfinished.begin(kept.boxed());
    }
}
