//! A store in memory that notes which of its methods are called, and fails where a test says so.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use alloquy_core::media::Digest;
use alloquy_core::query::Query;
use alloquy_core::search::SearchPage;
use alloquy_core::store::{
    Archive, ConversationPage, ConversationRecord, ConversationStore, ConversationSummary, HeadMove,
    MemoryStore,
};
use alloquy_core::tree::Tree;
use alloquy_core::{ConversationId, Error, ErrorKind, Node, NodeId, Owner, Result};
use async_trait::async_trait;
use serde_json::{Map, Value};

/// A store in memory that notes its calls.
#[derive(Debug, Default)]
pub(crate) struct NotedStore {
    store: MemoryStore,
    calls: Mutex<Vec<&'static str>>,
    /// Whether replies cannot be stored.
    pub(crate) is_full: AtomicBool,
}

impl NotedStore {
    fn note(&self, method: &'static str) {
        self.calls.lock().unwrap().push(method);
    }

    fn must_write(&self) -> Result<()> {
        if self.is_full.load(Ordering::SeqCst) {
            return Err(Error::new(ErrorKind::Store, "the store is full, as ordered"));
        }
        Ok(())
    }

    /// The methods that were called since the last time.
    pub(crate) fn take_calls(&self) -> Vec<&'static str> {
        std::mem::take(&mut *self.calls.lock().unwrap())
    }

    /// Whether a method was called since the last time.
    pub(crate) fn was_called(&self, method: &str) -> bool {
        self.calls.lock().unwrap().contains(&method)
    }
}

#[deny(clippy::missing_trait_methods)]
#[async_trait]
impl ConversationStore for NotedStore {
    async fn create(&self, owner: &Owner, record: &ConversationRecord) -> Result<()> {
        self.note("create");
        self.store.create(owner, record).await
    }

    async fn append(&self, owner: &Owner, id: &ConversationId, nodes: &[Node]) -> Result<()> {
        self.note("append");
        self.store.append(owner, id, nodes).await
    }

    async fn set_head(
        &self,
        owner: &Owner,
        id: &ConversationId,
        from: Option<NodeId>,
        to: Option<NodeId>,
    ) -> Result<()> {
        self.note("set_head");
        self.store.set_head(owner, id, from, to).await
    }

    async fn append_and_move(
        &self,
        owner: &Owner,
        id: &ConversationId,
        nodes: &[Node],
        from: Option<NodeId>,
        to: Option<NodeId>,
    ) -> Result<HeadMove> {
        self.note("append_and_move");
        self.must_write()?;
        self.store.append_and_move(owner, id, nodes, from, to).await
    }

    async fn update_metadata(
        &self,
        owner: &Owner,
        id: &ConversationId,
        revision: u64,
        metadata: &Map<String, Value>,
    ) -> Result<u64> {
        self.note("update_metadata");
        self.store.update_metadata(owner, id, revision, metadata).await
    }

    async fn prune(&self, owner: &Owner, id: &ConversationId, node: NodeId) -> Result<()> {
        self.note("prune");
        self.store.prune(owner, id, node).await
    }

    async fn compact(&self, owner: &Owner, id: &ConversationId) -> Result<()> {
        self.note("compact");
        self.store.compact(owner, id).await
    }

    async fn summary(&self, owner: &Owner, id: &ConversationId) -> Result<ConversationSummary> {
        self.note("summary");
        self.store.summary(owner, id).await
    }

    async fn record(&self, owner: &Owner, id: &ConversationId) -> Result<ConversationRecord> {
        self.note("record");
        self.store.record(owner, id).await
    }

    async fn load(&self, owner: &Owner, id: &ConversationId) -> Result<(ConversationRecord, Tree)> {
        self.note("load");
        self.store.load(owner, id).await
    }

    async fn load_path(&self, owner: &Owner, id: &ConversationId, node: NodeId) -> Result<Vec<Node>> {
        self.note("load_path");
        self.store.load_path(owner, id, node).await
    }

    async fn load_node(&self, owner: &Owner, id: &ConversationId, node: NodeId) -> Result<Node> {
        self.note("load_node");
        self.store.load_node(owner, id, node).await
    }

    async fn list(&self, owner: &Owner, query: &Query) -> Result<ConversationPage> {
        self.note("list");
        self.store.list(owner, query).await
    }

    async fn count(&self, owner: &Owner, query: &Query) -> Result<usize> {
        self.note("count");
        self.store.count(owner, query).await
    }

    async fn search(&self, owner: &Owner, query: &Query) -> Result<SearchPage> {
        self.note("search");
        self.store.search(owner, query).await
    }

    async fn delete(&self, owner: &Owner, id: &ConversationId) -> Result<()> {
        self.note("delete");
        self.store.delete(owner, id).await
    }

    async fn delete_matching(&self, owner: &Owner, query: &Query) -> Result<Vec<ConversationId>> {
        self.note("delete_matching");
        self.store.delete_matching(owner, query).await
    }

    async fn put_blob(&self, owner: &Owner, bytes: &Arc<[u8]>) -> Result<Digest> {
        self.note("put_blob");
        self.store.put_blob(owner, bytes).await
    }

    async fn get_blob(&self, owner: &Owner, digest: Digest) -> Result<Option<Arc<[u8]>>> {
        self.note("get_blob");
        self.store.get_blob(owner, digest).await
    }

    async fn collect_blobs(&self, owner: &Owner, grace: Duration) -> Result<usize> {
        self.note("collect_blobs");
        self.store.collect_blobs(owner, grace).await
    }

    async fn close(&self) -> Result<()> {
        self.note("close");
        self.store.close().await
    }

    async fn import_all(&self, owner: &Owner, archives: Vec<Archive>) -> Vec<Result<()>> {
        self.note("import_all");
        self.store.import_all(owner, archives).await
    }
}
