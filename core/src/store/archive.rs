//! A whole conversation, as stores import and export it.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::record::ConversationRecord;
use crate::media::{Digest, Media};
use crate::message::Message;
use crate::tree::{Node, Tree};
use crate::{Error, ErrorKind, Result};

/// A whole conversation: its record, its nodes and its media.
///
/// ```
/// use alloquy_core::{ConversationManager, Manager, Preface};
/// use alloquy_testing::EchoModel;
///
/// # pollster::block_on(async {
/// let manager = Manager::new(EchoModel);
/// let conversation = manager.create(Preface::system("Be brief.")).await?;
/// conversation.send("Tea?").await?;
/// let archive = manager.export(conversation.id()).await?;
/// let copy = Manager::new(EchoModel).import(&archive).await?;
/// assert_eq!(copy.history().await?, archive.nodes);
/// # Ok::<(), alloquy_core::Error>(())
/// # })?;
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Archive {
    /// The conversation, including its head. Its revision is 0, because every store counts its own.
    pub record: ConversationRecord,
    /// Every node, parents before children, without pruned nodes.
    pub nodes: Vec<Node>,
    /// The bytes of the media in the preface and the nodes.
    pub blobs: BTreeMap<Digest, Arc<[u8]>>,
}

impl Archive {
    /// Creates an archive from a conversation and its nodes. Its blobs are the media whose bytes are loaded.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] for a missing parent or head, [`ErrorKind::Conflict`] for an id that two nodes share.
    pub fn new(record: ConversationRecord, nodes: Vec<Node>) -> Result<Self> {
        let record = ConversationRecord { revision: 0, ..record };
        let mut archive = Self { record, nodes, blobs: BTreeMap::new() };
        archive.tree()?.path(archive.record.head)?;
        let loaded = archive.media().filter_map(|media| Some((media.digest(), Arc::clone(media.bytes()?))));
        archive.blobs = loaded.collect();
        Ok(archive)
    }

    /// Checks that nothing is missing: no node of a path, and no bytes of media.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] for a missing parent or head, [`ErrorKind::Conflict`] for an id that two nodes share, and
    /// [`ErrorKind::Invalid`] for media without bytes.
    pub fn must_be_whole(&self) -> Result<()> {
        self.tree()?.path(self.record.head)?;
        for digest in self.media().map(Media::digest) {
            if !self.blobs.contains_key(&digest) {
                let message = format!("the archive has no bytes for media {digest}");
                return Err(Error::new(ErrorKind::Invalid, message));
            }
        }
        Ok(())
    }

    /// Returns the record for creating the conversation, before it has nodes.
    pub fn new_record(&self) -> ConversationRecord {
        ConversationRecord { head: None, revision: 0, ..self.record.clone() }
    }

    /// Returns whether a stored conversation is the beginning of this one, which a killed import left: the same record
    /// without a head, and no other nodes.
    ///
    /// # Errors
    /// As [`Archive::tree`].
    pub fn is_begun(&self, record: &ConversationRecord, tree: &Tree) -> Result<bool> {
        let wanted = self.tree()?;
        Ok(*record == self.new_record()
            && self.record.head.is_some()
            && tree.tombstones().next().is_none()
            && tree.nodes().all(|node| wanted.node(node.id).is_ok_and(|ours| ours == node)))
    }

    /// Builds the tree of the nodes.
    ///
    /// # Errors
    /// As [`Tree::insert`].
    pub fn tree(&self) -> Result<Tree> {
        Tree::from_nodes(self.nodes.iter().cloned())
    }

    /// Returns the media of the preface and the nodes, in order.
    pub fn media(&self) -> impl Iterator<Item = &Media> {
        let said = self.nodes.iter().map(|node| &node.message);
        self.record.preface.messages.iter().chain(said).flat_map(Message::media)
    }
}
