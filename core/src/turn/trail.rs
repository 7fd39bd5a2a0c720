//! The way from the first message to the one that a turn goes on from, as far as turns need it, and those that were gone
//! lately: a conversation that goes on is not read again. Knows no store.

use std::collections::VecDeque;
use std::ops::Deref;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use crate::message::{Content, Message, MessagePath};
use crate::store::{ConversationId, ConversationRecord};
use crate::tree::{Node, NodeId};

/// How many bytes of conversations are kept, about.
const KEPT: usize = 64 << 20;

/// How many conversations are kept.
const TRAILS: usize = 32;

/// What a message takes besides its text, about.
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

    /// Takes the tip off.
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

    /// Takes off what stands at `index` and behind.
    pub(crate) fn split_off(&mut self, index: usize) -> Vec<Node> {
        let behind = self.nodes.split_off(index.min(self.nodes.len()));
        self.messages.truncate(self.nodes.len());
        behind
    }

    /// The messages, with the ids that replies were sampled as.
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

    /// How many bytes it takes, about; as much as nothing may take where it shows media, whose bytes are too large to keep.
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

/// How many bytes of text a message has, about.
fn weight(message: &Message) -> usize {
    let parts = message.parts.iter().map(|part| match &part.content {
        Content::Text(text) | Content::Thinking(text) => text.len(),
        Content::ToolResult(result) => result.text().len(),
        _ => MESSAGE,
    });
    parts.sum()
}

/// The trails that turns have gone lately, up to the heads of conversations. No other is kept: what stands at the head
/// cannot have been pruned.
#[derive(Debug, Default)]
pub(crate) struct Trails(Mutex<VecDeque<Kept>>);

#[derive(Debug)]
struct Kept {
    conversation: ConversationId,
    /// Another one of the same name was created later.
    created: SystemTime,
    trail: Trail,
    bytes: usize,
}

impl Trails {
    /// Takes out the trail to the head of a conversation.
    pub(super) fn take(&self, record: &ConversationRecord) -> Option<Trail> {
        let mut kept = self.kept();
        let is_it = |kept: &Kept| {
            kept.conversation == record.id
                && kept.created == record.created
                && kept.trail.tip() == record.head
        };
        let index = kept.iter().position(is_it)?;
        kept.remove(index).map(|kept| kept.trail)
    }

    /// Keeps a trail that a turn has gone, and forgets those that were gone longest ago.
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
        // Each one is whole, whatever a thread was doing when it panicked.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
