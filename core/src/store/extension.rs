//! Convenience methods of all stores: import and export, media, metadata.

use std::collections::{BTreeMap, BTreeSet};

use async_trait::async_trait;
use serde_json::{Map, Value};

use super::{Archive, ConversationId, ConversationStore, Owner};
use crate::media::{Digest, Media};
use crate::query::Query;
use crate::tree::Node;
use crate::{Error, ErrorKind, Result};

/// Convenience methods of every [`ConversationStore`], also of a `dyn` one.
#[async_trait]
pub trait ConversationStoreExt: ConversationStore {
    /// Returns whether a conversation exists.
    ///
    /// # Errors
    /// Those of reading.
    async fn exists(&self, owner: &Owner, id: &ConversationId) -> Result<bool> {
        match self.record(owner, id).await {
            Ok(_) => Ok(true),
            Err(error) if error.is_not_found() => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Returns what [`delete_matching`](ConversationStore::delete_matching) with the same query would delete.
    ///
    /// # Errors
    /// As [`delete_matching`](ConversationStore::delete_matching).
    async fn preview_deletion(&self, owner: &Owner, query: &Query) -> Result<Vec<ConversationId>> {
        query.must_be_filtered()?;
        let page = self.list(owner, query).await?;
        Ok(page.conversations.into_iter().map(|summary| summary.record.id).collect())
    }

    /// Changes the metadata by compare-and-set, and returns the new revision. It tries again after another writer's
    /// change.
    ///
    /// # Errors
    /// Those of reading and writing.
    async fn change_metadata<F>(&self, owner: &Owner, id: &ConversationId, change: F) -> Result<u64>
    where
        F: Fn(&mut Map<String, Value>) + Send + Sync,
    {
        loop {
            let mut record = self.record(owner, id).await?;
            change(&mut record.metadata);
            match self.update_metadata(owner, id, record.revision, &record.metadata).await {
                Err(error) if error.is_conflict() => {}
                outcome => return outcome,
            }
        }
    }

    /// Imports a whole conversation: its nodes with their ids, its head, its metadata and its media. An existing
    /// conversation is not changed.
    ///
    /// A failure stores nothing. In a store that cannot write everything at once, a killed process may leave a
    /// conversation without nodes, which readers see; the same import finishes it.
    ///
    /// # Errors
    /// [`ErrorKind::Conflict`] if the id exists, [`ErrorKind::Invalid`] for media without bytes, and those of writing.
    ///
    /// ```
    /// use alloquy_core::{Message, Node, Owner, Preface};
    /// use alloquy_core::store::{Archive, ConversationRecord, ConversationStoreExt, MemoryStore};
    ///
    /// # pollster::block_on(async {
    /// let question = Node::new(None, Message::user("Green or black?"));
    /// let mut record = ConversationRecord::new("tea".parse()?, Preface::default());
    /// record.head = Some(question.id);
    /// let tea = Archive::new(record, vec![question])?;
    /// let (store, owner) = (MemoryStore::default(), Owner::local());
    /// store.import(&owner, &tea).await?;
    /// assert!(store.import(&owner, &tea).await.unwrap_err().is_conflict());
    /// assert_eq!(store.export(&owner, &tea.record.id).await?, tea);
    /// # Ok::<(), alloquy_core::Error>(())
    /// # })?;
    /// # Ok::<(), alloquy_core::Error>(())
    /// ```
    async fn import(&self, owner: &Owner, archive: &Archive) -> Result<()> {
        match self.import_all(owner, vec![archive.clone()]).await.pop() {
            Some(outcome) => outcome,
            None => Err(Error::new(ErrorKind::Store, "the store returned no outcome for the conversation")),
        }
    }

    /// Returns a copy of a whole conversation, without pruned nodes.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] for a missing conversation or missing bytes of media; and those of reading.
    async fn export(&self, owner: &Owner, id: &ConversationId) -> Result<Archive> {
        export(self, owner, id).await
    }

    /// Stores the bytes of `media`.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] if its bytes are not loaded, and those of writing.
    async fn put_media(&self, owner: &Owner, media: &Media) -> Result<()> {
        let Some(bytes) = media.bytes() else {
            return Err(Error::new(ErrorKind::Invalid, format!("the bytes of {media:?} are not loaded")));
        };
        self.put_blob(owner, bytes).await?;
        Ok(())
    }

    /// Returns `media` with its bytes.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] if the store has none, and those of reading.
    async fn get_media(&self, owner: &Owner, media: &Media) -> Result<Media> {
        match self.get_blob(owner, media.digest()).await? {
            Some(bytes) => media.clone().with_bytes(bytes),
            None => Err(Error::new(ErrorKind::NotFound, format!("no bytes are stored for {media:?}"))),
        }
    }
}

impl<S: ConversationStore + ?Sized> ConversationStoreExt for S {}

/// Returns a copy of a conversation with the bytes of its media.
async fn export<S: ConversationStore + ?Sized>(
    store: &S,
    owner: &Owner,
    id: &ConversationId,
) -> Result<Archive> {
    let (record, tree) = store.load(owner, id).await?;
    let nodes: Vec<Node> = tree.walk().map(|(_, node)| node.clone()).collect();
    let mut archive = Archive::new(record, nodes)?;
    let shown: BTreeSet<Digest> = archive.media().map(Media::digest).collect();
    archive.blobs = BTreeMap::new();
    for digest in shown {
        let Some(bytes) = store.get_blob(owner, digest).await? else {
            let message = format!("no bytes are stored for media {digest}");
            return Err(Error::new(ErrorKind::NotFound, message));
        };
        archive.blobs.insert(digest, bytes);
    }
    Ok(archive)
}
