//! What every store can do besides, by what it must do: whole conversations, media, metadata. Knows the contract of stores.

use std::collections::{BTreeMap, BTreeSet};

use async_trait::async_trait;
use serde_json::{Map, Value};

use super::{Archive, ConversationId, ConversationStore, Owner};
use crate::media::{Digest, Media};
use crate::query::Query;
use crate::tree::Node;
use crate::{Error, ErrorKind, Result};

/// Conveniences over any [`ConversationStore`], also behind `dyn`.
#[async_trait]
pub trait ConversationStoreExt: ConversationStore {
    /// Says whether a conversation exists.
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

    /// Returns what [`delete_matching`](ConversationStore::delete_matching) of the same query would delete, and deletes
    /// nothing.
    ///
    /// # Errors
    /// As of deleting.
    async fn preview_deletion(&self, owner: &Owner, query: &Query) -> Result<Vec<ConversationId>> {
        query.must_be_filtered()?;
        let page = self.list(owner, query).await?;
        Ok(page.conversations.into_iter().map(|summary| summary.record.id).collect())
    }

    /// Changes the metadata, again each time that another writer was faster, and returns the new revision.
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

    /// Brings a whole conversation in: its nodes under their ids, its head, its metadata, and what it shows. What is there
    /// already stays as it is.
    ///
    /// A failure leaves nothing behind. Where a store has no way of its own to write all of it at once, a process that is killed
    /// may leave a conversation without nodes, which readers see meanwhile; the same import finishes it.
    ///
    /// # Errors
    /// [`ErrorKind::Conflict`] when the id is taken, [`ErrorKind::Invalid`] for media without bytes, and those of
    /// writing.
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
        let outcome = self.import_all(owner, vec![archive.clone()]).await.pop();
        outcome.unwrap_or_else(|| {
            Err(Error::new(ErrorKind::Store, "the store does not say what became of the conversation"))
        })
    }

    /// Takes a copy of a whole conversation out. Pruned nodes are not in it.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] for a conversation that is not there, or media whose bytes are not; and those of reading.
    async fn export(&self, owner: &Owner, id: &ConversationId) -> Result<Archive> {
        export(self, owner, id).await
    }

    /// Stores the bytes of `media`.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] when its bytes are not loaded, and those of writing.
    async fn put_media(&self, owner: &Owner, media: &Media) -> Result<()> {
        let missing = || Error::new(ErrorKind::Invalid, format!("the bytes of {media:?} are not loaded"));
        self.put_blob(owner, media.bytes().ok_or_else(missing)?).await.map(drop)
    }

    /// Returns `media` with its bytes.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] when the store has none, and those of reading.
    async fn get_media(&self, owner: &Owner, media: &Media) -> Result<Media> {
        let missing = || Error::new(ErrorKind::NotFound, format!("no bytes are stored for {media:?}"));
        let bytes = self.get_blob(owner, media.digest()).await?.ok_or_else(missing)?;
        media.clone().with_bytes(bytes)
    }
}

impl<S: ConversationStore + ?Sized> ConversationStoreExt for S {}

/// Takes a copy of a conversation out.
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
        let missing = || Error::new(ErrorKind::NotFound, format!("no bytes are stored for media {digest}"));
        let bytes = store.get_blob(owner, digest).await?.ok_or_else(missing)?;
        archive.blobs.insert(digest, bytes);
    }
    Ok(archive)
}
