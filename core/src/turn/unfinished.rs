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
use crate::store::ConversationRecord;
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
        self.work().push(work.clone());
        // What is ready at once need not be waited for by anybody.
        let _ = work.now_or_never();
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
    record: ConversationRecord,
    facts: Map<String, Value>,
    tip: Option<NodeId>,
    said: Vec<Part>,
    /// What is being stored: storing it again changes nothing.
    storing: Option<Node>,
    /// Whether a reply of this turn is stored.
    replied: bool,
}

impl Abandoned {
    pub(super) fn new(parts: Arc<Parts>, record: &ConversationRecord, mut facts: Map<String, Value>) -> Self {
        facts.insert(MODEL.to_owned(), parts.model.name().into());
        let record = record.clone();
        let parts = (parts.partial_replies == PartialReplies::Keep).then_some(parts);
        Self { parts, record, facts, tip: None, said: Vec::new(), storing: None, replied: false }
    }

    /// A reply begins below `tip`.
    pub(super) fn begin(&mut self, tip: Option<NodeId>) {
        self.tip = tip;
        self.said.clear();
    }

    pub(super) fn said(&mut self, delta: &Delta) {
        delta.join_to(&mut self.said);
    }

    /// Returns what the deltas of the reply make so far.
    pub(super) fn message(&self) -> Message {
        Message::new(Role::Assistant, self.said.clone())
    }

    pub(super) fn storing(&mut self, node: &Node) {
        self.storing = Some(node.clone());
    }

    pub(super) fn stored(&mut self) {
        let Some(node) = self.storing.take() else { return };
        self.said.clear();
        self.tip = Some(node.id);
        self.replied |= node.message.role == Role::Assistant;
    }

    /// What a dropped turn has yet to store: the node that it was about to, or what was said so far.
    fn rest(&mut self) -> Option<Node> {
        let whole = self.storing.take();
        let whole = whole.filter(|node| self.replied || node.message.role == Role::Assistant);
        let said = self.message();
        let partial = || abandoned_node(self.tip, said.clone(), self.facts.clone());
        whole.or_else(|| (!said.is_empty()).then(partial))
    }

    pub(super) fn disarm(&mut self) {
        self.parts = None;
    }
}

impl Drop for Abandoned {
    fn drop(&mut self) {
        let Some(parts) = self.parts.take() else { return };
        let node = self.rest();
        let stored = self.tip.filter(|_| self.replied);
        if let Some(to) = node.as_ref().map(|node| node.id).or(stored) {
            parts.unfinished.begin(keep(&parts, self.record.clone(), node, to).boxed());
        }
    }
}

/// Owns what it needs and not the parts, which own it.
fn keep(
    parts: &Parts,
    record: ConversationRecord,
    node: Option<Node>,
    to: NodeId,
) -> impl Future<Output = std::result::Result<(), Arc<Error>>> + use<> {
    let (store, owner) = (Arc::clone(&parts.store), parts.owner.clone());
    async move {
        if let Some(node) = node {
            store.append(&owner, &record.id, &[node]).await.map_err(Arc::new)?;
        }
        match store.set_head(&owner, &record.id, record.head, Some(to)).await {
            // Another writer was faster, and it is a branch.
            Err(error) if error.is_conflict() => Ok(()),
            Err(error) => {
                tracing::warn!(%error, "a dropped reply could not be kept");
                Err(Arc::new(error))
            }
            Ok(()) => Ok(()),
        }
    }
}
