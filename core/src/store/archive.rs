//! A conversation as a whole, as stores bring it in and take it out. Knows no document.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::record::ConversationRecord;
use crate::media::{Digest, Media};
use crate::message::Message;
use crate::tree::{Node, Tree};
use crate::{Error, ErrorKind, Result};

/// A conversation as a whole: what a store keeps of it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Archive {
    /// The conversation, its head included. Its revision is 0: that is the store's own count.
    pub record: ConversationRecord,
    /// Every node, parents before children. Pruned ones are not among them.
    pub nodes: Vec<Node>,
    /// The bytes of the media that preface and nodes show.
    pub blobs: BTreeMap<Digest, Arc<[u8]>>,
}

impl Archive {
    /// Joins a conversation and its nodes; the blobs are the media whose bytes are loaded.
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

    /// Refuses what would not be whole in a store: a path without a node, media without bytes.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] for a missing parent or head, [`ErrorKind::Conflict`] for an id that two nodes share, and
    /// [`ErrorKind::Invalid`] for media without bytes.
    pub fn must_be_whole(&self) -> Result<()> {
        self.tree()?.path(self.record.head)?;
        match self.media().map(Media::digest).find(|digest| !self.blobs.contains_key(digest)) {
            Some(digest) => {
                Err(Error::new(ErrorKind::Invalid, format!("the archive has no bytes for media {digest}")))
            }
            None => Ok(()),
        }
    }

    /// Returns the record as a store creates it, before it has nodes.
    pub fn new_record(&self) -> ConversationRecord {
        ConversationRecord { head: None, revision: 0, ..self.record.clone() }
    }

    /// Says whether what a store has is the beginning of this very conversation, which an import that was killed left: the
    /// same record without a head, and no other nodes.
    ///
    /// # Errors
    /// As [`Archive::tree`].
    pub fn is_begun(&self, record: &ConversationRecord, tree: &Tree) -> Result<bool> {
        let wanted = self.tree()?;
        let is_one_of_ours = |node: &Node| wanted.node(node.id).is_ok_and(|ours| ours == node);
        Ok(*record == self.new_record()
            && self.record.head.is_some()
            && tree.tombstones().next().is_none()
            && tree.nodes().all(is_one_of_ours))
    }

    /// Builds the tree of the nodes.
    ///
    /// # Errors
    /// As [`Tree::insert`].
    pub fn tree(&self) -> Result<Tree> {
        Tree::from_nodes(self.nodes.iter().cloned())
    }

    /// Returns whatever preface and nodes show, in order.
    pub fn media(&self) -> impl Iterator<Item = &Media> {
        let said = self.nodes.iter().map(|node| &node.message);
        self.record.preface.messages.iter().chain(said).flat_map(Message::media)
    }
}
