//! What a turn leaves that is dropped before its end: what was said until then, kept without a thread or a runtime.
//! Knows stores, not models.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::FutureExt;
use futures::future::{BoxFuture, Shared};
use serde_json::{Map, Value};

use super::{Parts, abandoned_node};
use crate::message::{Message, Part, Role};
use crate::processor::Delta;
use crate::store::{ConversationId, ConversationRecord};
use crate::tree::{MODEL, Node, NodeId};
use crate::{Error, Result};

/// What becomes of a reply that is dropped while it is written, or whose model fails midway.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PartialReplies {
    /// What was said becomes a node that is [interrupted](crate::NodeStatus::Interrupted), and the head moves there
    /// unless another writer was faster. Nothing is left of a reply that was dropped before its first word.
    #[default]
    Keep,
    /// It is as if it had not been said: a model that fails is an error of the turn, and the head stays where it was.
    /// A reply that is [stopped](crate::Turn::stop) is kept all the same.
    Discard,
}

type Work = Shared<BoxFuture<'static, std::result::Result<(), Arc<Error>>>>;

/// What dropped turns have yet to store.
///
/// Dropping does as much as the store does without waiting. The rest is done by whatever uses the manager next, which
/// waits for it: the same future, so that nothing is written twice, and nothing is read before it is there.
#[derive(Default)]
pub(crate) struct Unfinished(Mutex<Vec<Work>>);

impl Unfinished {
    fn work(&self) -> MutexGuard<'_, Vec<Work>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn begin(&self, work: BoxFuture<'static, std::result::Result<(), Arc<Error>>>) {
        let work = work.shared();
        // The first poll hands the work to a store that has a thread of its own, which ends it even when nothing of this
        // process polls again.
        let outcome = work.clone().now_or_never();
        if outcome.is_none_or(|outcome| outcome.is_err()) {
            self.work().push(work);
        }
    }

    /// Waits until all of it is stored, or cannot be. Only [`Unfinished::outcome`] asks which.
    pub(super) async fn settle(&self) {
        let waiting: Vec<_> = self.work().iter().filter(|work| work.peek().is_none()).cloned().collect();
        for work in waiting {
            // The outcome stays with the work.
            let _ = work.await;
        }
        // Of what failed the first is kept until somebody asks.
        let mut has_failed = false;
        self.work().retain(|work| match work.peek() {
            None => true,
            Some(Ok(())) => false,
            Some(Err(_)) => !std::mem::replace(&mut has_failed, true),
        });
    }

    /// Waits, and returns the first failure since it was asked last.
    pub(crate) async fn outcome(&self) -> Result<()> {
        self.settle().await;
        let done = std::mem::take(&mut *self.work());
        let (done, waiting): (Vec<_>, Vec<_>) = done.into_iter().partition(|work| work.peek().is_some());
        self.work().extend(waiting);
        match done.iter().find_map(|work| work.peek()?.as_ref().err()) {
            None => Ok(()),
            Some(error) => {
                Err(Error::new(error.kind(), "a dropped reply could not be kept")
                    .with_source(Arc::clone(error)))
            }
        }
    }
}

impl fmt::Debug for Unfinished {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Unfinished").field(&self.work().len()).finish()
    }
}

/// Watches over a turn: when it is dropped, what was said is kept.
pub(super) struct Abandoned {
    /// `None` once the turn came to an end.
    parts: Option<Arc<Parts>>,
    conversation: ConversationId,
    facts: Map<String, Value>,
    /// Where the turn has seen the head, or put it.
    from: Option<NodeId>,
    /// The last node of its path that is stored.
    tip: Option<NodeId>,
    /// What is not stored yet, or is being stored: storing it again changes nothing.
    pending: Vec<Node>,
    /// Whether more is pending than what was asked.
    answers: bool,
    /// What is said of a reply of which there is no node yet.
    said: Vec<Part>,
}

impl Abandoned {
    pub(super) fn new(
        parts: Arc<Parts>,
        record: &ConversationRecord,
        tip: Option<NodeId>,
        mut facts: Map<String, Value>,
    ) -> Self {
        facts.insert(MODEL.to_owned(), parts.model.name().into());
        let parts = (parts.partial_replies == PartialReplies::Keep).then_some(parts);
        let (conversation, from) = (record.id.clone(), record.head);
        let (pending, said) = (Vec::new(), Vec::new());
        Self { parts, conversation, facts, from, tip, pending, answers: false, said }
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
}

impl Drop for Abandoned {
    fn drop(&mut self) {
        let Some(parts) = self.parts.take() else { return };
        let said = self.message();
        let mut nodes = std::mem::take(&mut self.pending);
        if !said.is_empty() {
            let parent = nodes.last().map_or(self.tip, |node| Some(node.id));
            nodes.push(abandoned_node(parent, said, std::mem::take(&mut self.facts)));
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
