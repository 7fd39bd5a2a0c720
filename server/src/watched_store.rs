//! The store of a server, which announces the changes that this process makes. Changes of other processes are found by reading. It also
//! removes the snapshots of what is deleted, whichever protocol deletes it.

use std::sync::Arc;
use std::time::Duration;

use alloquy_core::media::Digest;
use alloquy_core::query::Query;
use alloquy_core::search::SearchPage;
use alloquy_core::store::{
    Archive, ConversationPage, ConversationRecord, ConversationStore, ConversationSummary, HeadMove,
};
use alloquy_core::tree::Tree;
use alloquy_core::{ConversationId, Node, NodeId, Owner, Result};
use async_trait::async_trait;
use serde_json::{Map, Value};
use tokio::sync::broadcast;

use crate::snapshots::Snapshots;

/// How many announcements wait for a listener that is busy. One that misses some reads everything again.
const QUEUE: usize = 256;

/// A conversation that changed.
pub(crate) type Changed = (Owner, ConversationId);

/// A store that announces each change after it was made.
#[derive(Debug)]
pub(crate) struct WatchedStore {
    store: Arc<dyn ConversationStore>,
    changes: broadcast::Sender<Changed>,
    snapshots: Option<Snapshots>,
}

impl WatchedStore {
    pub(crate) fn new(store: Arc<dyn ConversationStore>, snapshots: Option<Snapshots>) -> Self {
        Self { store, changes: broadcast::channel(QUEUE).0, snapshots }
    }

    /// Removes the snapshot of a conversation of which something was deleted.
    async fn forget(&self, owner: &Owner, id: &ConversationId) {
        if let Some(snapshots) = &self.snapshots {
            snapshots.forget(owner, id).await;
        }
    }

    /// Returns the announcements from now on.
    pub(crate) fn changes(&self) -> broadcast::Receiver<Changed> {
        self.changes.subscribe()
    }

    fn announce(&self, owner: &Owner, id: &ConversationId) {
        if self.changes.receiver_count() > 0 && self.changes.send((owner.clone(), id.clone())).is_err() {
            tracing::trace!("the last listener has just gone");
        }
    }

    /// Announces a change if it was made.
    fn announced<T>(&self, owner: &Owner, id: &ConversationId, outcome: Result<T>) -> Result<T> {
        if outcome.is_ok() {
            self.announce(owner, id);
        }
        outcome
    }
}

#[deny(clippy::missing_trait_methods)]
#[async_trait]
impl ConversationStore for WatchedStore {
    async fn create(&self, owner: &Owner, record: &ConversationRecord) -> Result<()> {
        let created = self.store.create(owner, record).await;
        self.announced(owner, &record.id, created)
    }

    async fn append(&self, owner: &Owner, id: &ConversationId, nodes: &[Node]) -> Result<()> {
        let appended = self.store.append(owner, id, nodes).await;
        self.announced(owner, id, appended)
    }

    async fn set_head(
        &self,
        owner: &Owner,
        id: &ConversationId,
        from: Option<NodeId>,
        to: Option<NodeId>,
    ) -> Result<()> {
        let moved = self.store.set_head(owner, id, from, to).await;
        self.announced(owner, id, moved)
    }

    async fn append_and_move(
        &self,
        owner: &Owner,
        id: &ConversationId,
        nodes: &[Node],
        from: Option<NodeId>,
        to: Option<NodeId>,
    ) -> Result<HeadMove> {
        let moved = self.store.append_and_move(owner, id, nodes, from, to).await;
        self.announced(owner, id, moved)
    }

    async fn update_metadata(
        &self,
        owner: &Owner,
        id: &ConversationId,
        revision: u64,
        metadata: &Map<String, Value>,
    ) -> Result<u64> {
        let updated = self.store.update_metadata(owner, id, revision, metadata).await;
        self.announced(owner, id, updated)
    }

    async fn prune(&self, owner: &Owner, id: &ConversationId, node: NodeId) -> Result<()> {
        let pruned = self.store.prune(owner, id, node).await;
        if pruned.is_ok() {
            self.forget(owner, id).await;
        }
        self.announced(owner, id, pruned)
    }

    async fn compact(&self, owner: &Owner, id: &ConversationId) -> Result<()> {
        self.store.compact(owner, id).await
    }

    async fn summary(&self, owner: &Owner, id: &ConversationId) -> Result<ConversationSummary> {
        self.store.summary(owner, id).await
    }

    async fn record(&self, owner: &Owner, id: &ConversationId) -> Result<ConversationRecord> {
        self.store.record(owner, id).await
    }

    async fn load(&self, owner: &Owner, id: &ConversationId) -> Result<(ConversationRecord, Tree)> {
        self.store.load(owner, id).await
    }

    async fn load_path(&self, owner: &Owner, id: &ConversationId, node: NodeId) -> Result<Vec<Node>> {
        self.store.load_path(owner, id, node).await
    }

    async fn load_node(&self, owner: &Owner, id: &ConversationId, node: NodeId) -> Result<Node> {
        self.store.load_node(owner, id, node).await
    }

    async fn list(&self, owner: &Owner, query: &Query) -> Result<ConversationPage> {
        self.store.list(owner, query).await
    }

    async fn count(&self, owner: &Owner, query: &Query) -> Result<usize> {
        self.store.count(owner, query).await
    }

    async fn search(&self, owner: &Owner, query: &Query) -> Result<SearchPage> {
        self.store.search(owner, query).await
    }

    async fn delete(&self, owner: &Owner, id: &ConversationId) -> Result<()> {
        let deleted = self.store.delete(owner, id).await;
        if deleted.is_ok() {
            self.forget(owner, id).await;
        }
        self.announced(owner, id, deleted)
    }

    async fn delete_matching(&self, owner: &Owner, query: &Query) -> Result<Vec<ConversationId>> {
        let deleted = self.store.delete_matching(owner, query).await?;
        for id in &deleted {
            self.forget(owner, id).await;
            self.announce(owner, id);
        }
        Ok(deleted)
    }

    async fn put_blob(&self, owner: &Owner, bytes: &Arc<[u8]>) -> Result<Digest> {
        self.store.put_blob(owner, bytes).await
    }

    async fn get_blob(&self, owner: &Owner, digest: Digest) -> Result<Option<Arc<[u8]>>> {
        self.store.get_blob(owner, digest).await
    }

    async fn collect_blobs(&self, owner: &Owner, grace: Duration) -> Result<usize> {
        self.store.collect_blobs(owner, grace).await
    }

    async fn import_all(&self, owner: &Owner, archives: Vec<Archive>) -> Vec<Result<()>> {
        let ids: Vec<_> = archives.iter().map(|archive| archive.record.id.clone()).collect();
        let outcomes = self.store.import_all(owner, archives).await;
        for (id, outcome) in ids.iter().zip(&outcomes) {
            if outcome.is_ok() {
                self.announce(owner, id);
            }
        }
        outcomes
    }

    async fn close(&self) -> Result<()> {
        self.store.close().await
    }
}
