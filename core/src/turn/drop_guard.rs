//! Keeps the text of a reply whose turn is dropped before its end.

use std::sync::Arc;

use futures::FutureExt;
use serde_json::{Map, Value};

use super::facts::dropped;
use super::unfinished::PartialReplyPolicy;
use super::{Parts, TurnRequest};
use crate::message::{Content, Message, Role};
use crate::processor::Delta;
use crate::report::ReplyFacts;
use crate::store::{ConversationId, ConversationRecord};
use crate::tree::{Node, NodeId, NodeStatus};

/// Stores the text of a turn's reply so far when the turn is dropped.
pub(super) struct DropGuard {
    /// `None` after the end of the turn.
    parts: Option<Arc<Parts>>,
    conversation: ConversationId,
    /// The facts of the dropped reply.
    facts: ReplyFacts,
    label: Option<String>,
    metadata: Map<String, Value>,
    /// Where the turn last saw or moved the head.
    from: Option<NodeId>,
    /// The last stored node of the path.
    tip: Option<NodeId>,
    /// The nodes that are not stored yet, or are being stored; storing them again changes nothing.
    pending: Vec<Node>,
    /// Whether a reply or tool results are pending, and not only the messages of the request.
    answers: bool,
    /// The text so far of the reply that has no node yet.
    said: Vec<Content>,
}

impl DropGuard {
    pub(super) fn new(
        parts: Arc<Parts>,
        model: &str,
        record: &ConversationRecord,
        tip: Option<NodeId>,
        ask: &TurnRequest,
    ) -> Self {
        let facts = dropped(model, ask);
        Self {
            parts: (parts.partial_replies == PartialReplyPolicy::Keep).then_some(parts),
            conversation: record.id.clone(),
            facts,
            label: ask.label.clone(),
            metadata: ask.metadata.clone(),
            from: ask.head_to_move(record.head),
            tip,
            pending: Vec::new(),
            answers: false,
            said: Vec::new(),
        }
    }

    /// Sets the messages of the request, which are stored later.
    pub(super) fn set_pending(&mut self, nodes: &[Node]) {
        self.pending = nodes.to_vec();
    }

    /// Begins a reply after the pending nodes.
    pub(super) fn begin(&mut self) {
        self.said.clear();
    }

    pub(super) fn said(&mut self, delta: &Delta) {
        delta.join_to(&mut self.said);
    }

    /// Returns the message of the reply so far.
    pub(super) fn message(&self) -> Message {
        Message::new(Role::Assistant, self.said.clone())
    }

    /// Notes that a reply or tool results are being stored.
    pub(super) fn storing(&mut self, node: &Node) {
        if node.message.role == Role::Assistant {
            self.said.clear();
        }
        self.answers = true;
        self.pending.push(node.clone());
    }

    /// Notes that the pending nodes are stored, and that the head is at `from`, unless another writer moved it.
    pub(super) fn stored(&mut self, from: Option<NodeId>) {
        self.tip = self.pending.last().map_or(self.tip, |node| Some(node.id));
        self.from = from;
        self.refused();
    }

    /// Notes that the store refused the pending nodes.
    pub(super) fn refused(&mut self) {
        self.pending.clear();
        self.answers = false;
    }

    pub(super) fn disarm(&mut self) {
        self.parts = None;
    }

    /// Creates the node of the dropped reply.
    fn node(&self, parent: Option<NodeId>, said: Message) -> Node {
        let mut node = Node::new(parent, said);
        node.status = NodeStatus::Interrupted;
        node.reply = Some(Box::new(self.facts.clone()));
        node.label.clone_from(&self.label);
        node.metadata.clone_from(&self.metadata);
        node
    }
}

impl Drop for DropGuard {
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
        // Without a reply, the head does not move to the user message, because many templates refuse two user messages
        // in a row.
        let to = if self.answers { Some(last.id) } else { self.from };
        let store = Arc::clone(&parts.store);
        let owner = parts.owner.clone();
        let conversation = self.conversation.clone();
        let from = self.from;
        let kept = async move {
            if let Err(error) = store.append_and_move(&owner, &conversation, &nodes, from, to).await {
                tracing::warn!(%error, "a dropped reply could not be kept");
                return Err(Arc::new(error));
            }
            Ok(())
        };
        parts.unfinished.begin(kept.boxed());
    }
}
