//! Forking and merging of conversations, and the removal of branches.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::Conversation;
use serde::Serialize;

use crate::annotations::Annotations;
use crate::store::{ConversationId, ConversationRecord, fill_with};
use crate::tree::{Address, Node, NodeId, Tree, same_node};
use crate::{Error, ErrorKind, Result};

/// The result of [`Conversation::merge`].
///
/// ```
/// use alloquy_core::Conversation;
/// use alloquy_testing::EchoModel;
///
/// # pollster::block_on(async {
/// let conversation = Conversation::new(EchoModel);
/// conversation.send("Tea?").await?;
/// let copy = conversation.fork().await?;
/// let reply = copy.send("Green tea?").await?;
/// let report = conversation.merge(&copy).await?;
/// assert_eq!((report.added.len(), report.added.last()), (2, Some(&reply.node)));
/// # Ok::<(), alloquy_core::Error>(())
/// # })?;
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct MergeReport {
    /// The nodes that were added from the other copy, parents before children.
    pub added: Vec<NodeId>,
    /// The nodes of the other copy that were not added, because they or a node above them were pruned here.
    pub pruned_here: Vec<NodeId>,
    /// The nodes that were pruned here, with all below them, because they were pruned in the other copy.
    pub pruned: Vec<NodeId>,
    /// The nodes that were pruned in the other copy but are kept here, because the head is at or below them.
    pub held: Vec<NodeId>,
}

impl Conversation {
    /// Copies the path to the head into a new conversation.
    ///
    /// # Errors
    /// As [`Conversation::fork_at`].
    pub async fn fork(&self) -> Result<Conversation> {
        self.fork_at(self.head().await?, ConversationId::new()).await
    }

    /// Copies the path to a node into a new conversation of this name, with the preface, the metadata and the notes on
    /// those nodes. The nodes keep their ids, so that the copy can be [merged](Conversation::merge) into the original.
    ///
    /// # Errors
    /// [`ErrorKind::Conflict`] for a name that exists, [`ErrorKind::NotFound`] for a node that does not.
    pub async fn fork_at(&self, node: impl Into<Address>, id: ConversationId) -> Result<Conversation> {
        let path = match self.parts.node_at(&self.id, &node.into()).await? {
            Some(node) => self.parts.path(&self.id, node).await?,
            None => Vec::new(),
        };
        let ConversationRecord { preface, sampling, mut metadata, .. } = self.record().await?;
        let mut notes = Annotations::read(&metadata)?;
        notes.keep(&Tree::from_nodes(path.iter().cloned())?);
        notes.write(&mut metadata)?;
        let copy = ConversationRecord { sampling, metadata, ..ConversationRecord::new(id, preface) };
        self.parts.store.create(&self.parts.owner, &copy).await?;
        if let Err(error) = self.fill(&copy.id, &path).await {
            // An incomplete copy is deleted. If that fails too, the first error is the one to return.
            let _ = self.parts.store.delete(&self.parts.owner, &copy.id).await;
            return Err(error);
        }
        Ok(Conversation::of(Arc::clone(&self.parts), copy.id).with_arguments(self.arguments.clone()))
    }

    /// Stores the blobs again and then the nodes, so that a concurrent deletion does not remove the blobs.
    async fn fill(&self, copy: &ConversationId, path: &[Node]) -> Result<()> {
        self.parts.store_media(path).await?;
        let head = path.last().map(|node| node.id);
        fill_with(&*self.parts.store, &self.parts.owner, copy, path, head).await
    }

    /// Adds the nodes, the tombstones and the missing notes of another copy of this conversation. The copy may have
    /// another name and be in another store. Existing nodes and notes stay, and the head does not move. Merging each
    /// copy into the other makes them equal, except for the head, the metadata of the host, and notes on which they
    /// differ.
    ///
    /// # Errors
    /// [`ErrorKind::Conflict`] if one id has different content in the two, or if their prefaces differ. Nothing is
    /// changed then.
    pub async fn merge(&self, other: &Conversation) -> Result<MergeReport> {
        let (ours, tree) = self.parts.settled().await.load(&self.parts.owner, &self.id).await?;
        let (theirs, others) = other.parts.settled().await.load(&other.parts.owner, &other.id).await?;
        if ours.preface != theirs.preface {
            let ours = ours.id.as_str();
            let theirs = theirs.id.as_str();
            let message = format!(
                "the prefaces of {ours:?} and {theirs:?} differ: they are not copies of one conversation"
            );
            return Err(Error::new(ErrorKind::Conflict, message));
        }
        let (wanted, pruned_here) = missing(&tree, &others)?;
        let added: Vec<_> = wanted.iter().map(|node| node.id).collect();
        let wanted = other.parts.with_media(wanted).await?;
        self.parts.store(&self.id, &wanted).await?;
        let mut merged = MergeReport { added, pruned_here, ..MergeReport::default() };
        self.bury(&tree, &others, &mut merged).await?;
        let notes = Annotations::of(&theirs)?;
        self.note(|ours| ours.join(&notes)).await?;
        Ok(merged)
    }

    async fn bury(&self, tree: &Tree, others: &Tree, merged: &mut MergeReport) -> Result<()> {
        for node in others.tombstones().filter(|&id| tree.node(id).is_ok()) {
            match self.parts.store.prune(&self.parts.owner, &self.id, node).await {
                Ok(()) => merged.pruned.push(node),
                // It was pruned with a node above it.
                Err(error) if error.is_not_found() => merged.pruned.push(node),
                Err(error) if error.is_conflict() => merged.held.push(node),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Hides a node and everything below it for good, and returns the number of hidden nodes. [`Conversation::compact`]
    /// reclaims their space.
    ///
    /// # Errors
    /// [`ErrorKind::Conflict`] if the head is there: move it first. [`ErrorKind::NotFound`] for a node that does not
    /// exist.
    pub async fn prune(&self, node: impl Into<Address>) -> Result<usize> {
        let tree = self.tree().await?;
        let Some(node) = tree.at(&node.into())? else {
            return Err(Error::new(ErrorKind::Invalid, "only `reset` prunes everything"));
        };
        self.parts.store.prune(&self.parts.owner, &self.id, node).await?;
        Ok(tree.below(node).len())
    }

    /// Reclaims the space of pruned nodes, and removes the notes on them.
    ///
    /// # Errors
    /// Those of the store.
    pub async fn compact(&self) -> Result<()> {
        let tree = self.tree().await?;
        self.note(|notes| notes.keep(&tree)).await?;
        self.parts.store.compact(&self.parts.owner, &self.id).await
    }

    /// Prunes all messages; the preface and the metadata stay. [`Conversation::goto`] with `None` starts again too, but
    /// keeps the messages as branches.
    ///
    /// # Errors
    /// Those of the store.
    pub async fn reset(&self) -> Result<()> {
        self.goto(None).await?;
        while let Some(first) = self.tree().await?.children(None).first().copied() {
            match self.parts.store.prune(&self.parts.owner, &self.id, first).await {
                // Another writer has moved the head there.
                Err(error) if error.is_conflict() => self.goto(None).await?,
                Err(error) if !error.is_not_found() => return Err(error),
                _ => {}
            }
        }
        self.note(|notes| *notes = Annotations::default()).await
    }
}

/// Returns the nodes of `others` that `tree` lacks, parents before children, and those that were pruned here.
fn missing(tree: &Tree, others: &Tree) -> Result<(Vec<Node>, Vec<NodeId>)> {
    let mut gone: BTreeSet<_> = tree.tombstones().collect();
    let mut wanted = Vec::new();
    let mut pruned = Vec::new();
    for (_, node) in others.walk() {
        match tree.node(node.id) {
            Ok(known) => same_node(known, node)?,
            Err(_) if gone.contains(&node.id) || node.parent.is_some_and(|parent| gone.contains(&parent)) => {
                gone.insert(node.id);
                pruned.push(node.id);
            }
            Err(_) => wanted.push(node.clone()),
        }
    }
    Ok((wanted, pruned))
}
