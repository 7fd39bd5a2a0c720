//! The trail from the first message to the one that a turn continues from. The trails of recent turns are kept, so that
//! a conversation that continues is not read again.

use std::collections::VecDeque;
use std::ops::Deref;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use crate::message::{Content, Message, MessagePath};
use crate::store::{ConversationId, ConversationRecord};
use crate::tree::{Node, NodeId};

/// About how many bytes of conversations are kept.
const KEPT: usize = 64 << 20;

/// How many conversations are kept.
const TRAILS: usize = 32;

/// About how many bytes a message takes besides its text.
const MESSAGE: usize = 1024;

/// The nodes from the first message to a tip, and their messages as requests share them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Trail {
    nodes: Vec<Node>,
    messages: MessagePath,
}

impl Trail {
    /// Adds the node that follows.
    pub(crate) fn push(&mut self, node: Node) {
        self.messages.push_sampled(node.message.clone(), node.tokens.clone());
        if let Some(cut) = node.reply.as_ref().and_then(|reply| reply.history_cut.as_ref()) {
            self.messages.note_cut(cut.clone());
        }
        self.nodes.push(node);
    }

    /// Adds the nodes that follow.
    pub(crate) fn extend_from_slice(&mut self, nodes: &[Node]) {
        for node in nodes {
            self.push(node.clone());
        }
    }

    /// Removes the last node and returns it.
    pub(crate) fn pop(&mut self) -> Option<Node> {
        let tip = self.nodes.pop();
        self.messages.truncate(self.nodes.len());
        tip
    }

    /// Keeps the first `length` nodes.
    pub(crate) fn truncate(&mut self, length: usize) {
        self.nodes.truncate(length);
        self.messages.truncate(self.nodes.len());
    }

    /// Removes the nodes from `index` on and returns them.
    pub(crate) fn split_off(&mut self, index: usize) -> Vec<Node> {
        let after = self.nodes.split_off(index.min(self.nodes.len()));
        self.messages.truncate(self.nodes.len());
        after
    }

    /// Returns the messages, with the token ids of replies.
    pub(crate) fn messages(&self) -> &MessagePath {
        &self.messages
    }

    /// Returns the messages with those of a draft after them. The trail stays as it is and shares its messages.
    pub(crate) fn followed_by(&mut self, draft: Vec<Message>) -> MessagePath {
        self.messages.extend(draft);
        let path = self.messages.clone();
        self.messages.truncate(self.nodes.len());
        path
    }

    fn tip(&self) -> Option<NodeId> {
        self.nodes.last().map(|node| node.id)
    }

    /// Returns about how many bytes it takes. With media it is more than the limit, because their bytes are too large
    /// to keep.
    fn bytes(&self) -> usize {
        let weights = self.nodes.iter().map(|node| match node.message.media().next() {
            None => MESSAGE + 2 * weight(&node.message) + 2 * size_of_val(node.tokens.as_slice()),
            Some(_) => KEPT + 1,
        });
        weights.fold(0, usize::saturating_add)
    }
}

impl Deref for Trail {
    type Target = [Node];

    fn deref(&self) -> &[Node] {
        &self.nodes
    }
}

impl FromIterator<Node> for Trail {
    fn from_iter<I: IntoIterator<Item = Node>>(nodes: I) -> Self {
        let mut trail = Self::default();
        for node in nodes {
            trail.push(node);
        }
        trail
    }
}

/// Returns about how many bytes of text a message has.
fn weight(message: &Message) -> usize {
    let parts = message.parts.iter().map(|part| match &part.content {
        Content::Text(text) | Content::Thinking(text) => text.len(),
        Content::ToolResult(result) => result.text().len(),
        _ => MESSAGE,
    });
    parts.sum()
}

/// The trails of recent turns to the heads of conversations. Only these are kept, because the head cannot have been
/// pruned.
#[derive(Debug, Default)]
pub(crate) struct Trails(Mutex<VecDeque<Kept>>);

#[derive(Debug)]
struct Kept {
    conversation: ConversationId,
    /// Distinguishes it from a later conversation of the same name.
    created: SystemTime,
    trail: Trail,
    bytes: usize,
}

impl Trails {
    /// Removes the trail to the head of a conversation and returns it.
    pub(super) fn take(&self, record: &ConversationRecord) -> Option<Trail> {
        let mut kept = self.kept();
        let index = kept.iter().position(|kept| {
            kept.conversation == record.id
                && kept.created == record.created
                && kept.trail.tip() == record.head
        })?;
        kept.remove(index).map(|kept| kept.trail)
    }

    /// Keeps the trail of a turn, and drops the least recently used ones.
    pub(crate) fn keep(&self, record: &ConversationRecord, trail: Trail) {
        let mut kept = self.kept();
        kept.retain(|kept| kept.conversation != record.id);
        let bytes = trail.bytes();
        if bytes > KEPT {
            return;
        }
        kept.push_back(Kept { conversation: record.id.clone(), created: record.created, trail, bytes });
        while kept.len() > TRAILS || kept.iter().map(|kept| kept.bytes).sum::<usize>() > KEPT {
            kept.pop_front();
        }
    }

    fn kept(&self) -> MutexGuard<'_, VecDeque<Kept>> {
        // The trails are valid even if a thread panicked while it held the lock.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
