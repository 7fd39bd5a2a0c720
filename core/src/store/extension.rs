//! Convenience methods of all stores: import and export, media, metadata.

use std::collections::{BTreeMap, BTreeSet};

use async_trait::async_trait;
use serde_json::{Map, Value};

use super::{Archive, ConversationId, ConversationStore, ConversationSummary, Owner};
use crate::media::{Digest, Media};
use crate::query::{Query, Sort, SortKey};
use crate::short_ids::{is_generated, may_be_short};
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

    /// Finds the conversations that a name means, at most `limit`: the one of exactly this name, else those whose generated
    /// ids begin with it, else those whose generated ids end with it. [`ShortIds`](crate::short_ids::ShortIds) says
    /// which ids are generated; other names are never shortened, so `user-1` does not mean `user-12`.
    ///
    /// A name reads one conversation, the beginning of an id only the conversations whose ids begin so, and the end of an id
    /// the list of all conversations.
    ///
    /// ```
    /// use alloquy_core::store::{ConversationRecord, ConversationStore, ConversationStoreExt, MemoryStore};
    /// use alloquy_core::{ConversationId, Owner, Preface};
    ///
    /// # pollster::block_on(async {
    /// let (store, owner) = (MemoryStore::default(), Owner::local());
    /// let id = ConversationId::new();
    /// store.create(&owner, &ConversationRecord::new(id.clone(), Preface::default())).await?;
    /// let end = &id.as_str()[28..];
    /// let found = store.named(&owner, end, 2).await?;
    /// assert_eq!((found.len(), &found[0].record.id), (1, &id));
    /// # Ok::<(), alloquy_core::Error>(())
    /// # })?;
    /// # Ok::<(), alloquy_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of reading.
    async fn named(&self, owner: &Owner, name: &str, limit: usize) -> Result<Vec<ConversationSummary>> {
        let Ok(id) = name.parse::<ConversationId>() else {
            return Ok(Vec::new());
        };
        match self.summary(owner, &id).await {
            Err(error) if error.is_not_found() => {}
            summary => return summary.map(|summary| vec![summary]),
        }
        if !may_be_short(name) {
            return Ok(Vec::new());
        }
        let begun = beginning_with(self, owner, &id, limit).await?;
        if begun.is_empty() { ending_with(self, owner, name, limit).await } else { Ok(begun) }
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
        let change = |metadata: &mut Map<String, Value>| {
            change(metadata);
            Ok(())
        };
        try_change_metadata(self, owner, id, change).await
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

/// How many conversations are read at once.
const PAGE: usize = 1000;

/// Returns the conversations whose generated ids begin with a text.
async fn beginning_with<S: ConversationStore + ?Sized>(
    store: &S,
    owner: &Owner,
    start: &ConversationId,
    limit: usize,
) -> Result<Vec<ConversationSummary>> {
    let query = Query::default().sort(Sort::ascending(SortKey::Id));
    // No conversation is called just that, so those that begin with it are the first ones after it.
    let mut next = Some(query.cursor_after(Vec::new(), start.clone())?);
    let mut found = Vec::new();
    while let Some(cursor) = next {
        let page = store.list(owner, &query.clone().after(cursor).limit(limit.max(2))).await?;
        for summary in page.conversations {
            if !summary.record.id.as_str().starts_with(start.as_str()) || found.len() == limit {
                return Ok(found);
            }
            if is_generated(summary.record.id.as_str()) {
                found.push(summary);
            }
        }
        next = page.next;
    }
    Ok(found)
}

/// Returns the conversations whose generated ids end with a text.
async fn ending_with<S: ConversationStore + ?Sized>(
    store: &S,
    owner: &Owner,
    end: &str,
    limit: usize,
) -> Result<Vec<ConversationSummary>> {
    let mut query = Query::default().sort(Sort::ascending(SortKey::Id)).limit(PAGE);
    let mut found = Vec::new();
    loop {
        let page = store.list(owner, &query).await?;
        for summary in page.conversations {
            let id = summary.record.id.as_str();
            if id.ends_with(end) && is_generated(id) {
                found.push(summary);
            }
        }
        found.truncate(limit);
        match page.next {
            Some(cursor) if found.len() < limit => query = query.after(cursor),
            _ => return Ok(found),
        }
    }
}

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

/// Changes the metadata by a function that may fail, by compare-and-set. It tries again after another writer's change, and writes
/// nothing if nothing changed.
pub(crate) async fn try_change_metadata<S: ConversationStore + ?Sized>(
    store: &S,
    owner: &Owner,
    id: &ConversationId,
    change: impl Fn(&mut Map<String, Value>) -> Result<()>,
) -> Result<u64> {
    loop {
        let mut record = store.record(owner, id).await?;
        let before = record.metadata.clone();
        change(&mut record.metadata)?;
        if record.metadata == before {
            return Ok(record.revision);
        }
        match store.update_metadata(owner, id, record.revision, &record.metadata).await {
            Err(error) if error.is_conflict() => {}
            outcome => return outcome,
        }
    }
}
