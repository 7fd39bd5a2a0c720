//! A store around another one that turns panics into errors.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Map, Value};

use super::{
    Archive, ConversationId, ConversationPage, ConversationRecord, ConversationStore, ConversationSummary,
    HeadMove, Owner,
};
use crate::media::Digest;
use crate::panics::caught;
use crate::query::Query;
use crate::search::SearchPage;
use crate::tree::{Node, NodeId, Tree};
use crate::{Error, ErrorKind, Result};

/// The subject of the error for a panic.
const STORE: &str = "the store";

/// The store of a manager: a call that panics returns an error.
///
/// The first poll of a call polls the call of the inner store.
#[derive(Debug)]
pub(crate) struct Guarded(pub(crate) Arc<dyn ConversationStore>);

#[deny(clippy::missing_trait_methods)]
#[async_trait]
impl ConversationStore for Guarded {
    async fn create(&self, owner: &Owner, record: &ConversationRecord) -> Result<()> {
        caught(ErrorKind::Store, STORE, async { self.0.create(owner, record).await }).await
    }

    async fn append(&self, owner: &Owner, id: &ConversationId, nodes: &[Node]) -> Result<()> {
        caught(ErrorKind::Store, STORE, async { self.0.append(owner, id, nodes).await }).await
    }

    async fn set_head(
        &self,
        owner: &Owner,
        id: &ConversationId,
        from: Option<NodeId>,
        to: Option<NodeId>,
    ) -> Result<()> {
        caught(ErrorKind::Store, STORE, async { self.0.set_head(owner, id, from, to).await }).await
    }

    async fn append_and_move(
        &self,
        owner: &Owner,
        id: &ConversationId,
        nodes: &[Node],
        from: Option<NodeId>,
        to: Option<NodeId>,
    ) -> Result<HeadMove> {
        caught(ErrorKind::Store, STORE, async { self.0.append_and_move(owner, id, nodes, from, to).await })
            .await
    }

    async fn update_metadata(
        &self,
        owner: &Owner,
        id: &ConversationId,
        revision: u64,
        metadata: &Map<String, Value>,
    ) -> Result<u64> {
        caught(ErrorKind::Store, STORE, async { self.0.update_metadata(owner, id, revision, metadata).await })
            .await
    }

    async fn prune(&self, owner: &Owner, id: &ConversationId, node: NodeId) -> Result<()> {
        caught(ErrorKind::Store, STORE, async { self.0.prune(owner, id, node).await }).await
    }

    async fn compact(&self, owner: &Owner, id: &ConversationId) -> Result<()> {
        caught(ErrorKind::Store, STORE, async { self.0.compact(owner, id).await }).await
    }

    async fn summary(&self, owner: &Owner, id: &ConversationId) -> Result<ConversationSummary> {
        caught(ErrorKind::Store, STORE, async { self.0.summary(owner, id).await }).await
    }

    async fn record(&self, owner: &Owner, id: &ConversationId) -> Result<ConversationRecord> {
        caught(ErrorKind::Store, STORE, async { self.0.record(owner, id).await }).await
    }

    async fn load(&self, owner: &Owner, id: &ConversationId) -> Result<(ConversationRecord, Tree)> {
        caught(ErrorKind::Store, STORE, async { self.0.load(owner, id).await }).await
    }

    async fn load_path(&self, owner: &Owner, id: &ConversationId, node: NodeId) -> Result<Vec<Node>> {
        caught(ErrorKind::Store, STORE, async { self.0.load_path(owner, id, node).await }).await
    }

    async fn load_node(&self, owner: &Owner, id: &ConversationId, node: NodeId) -> Result<Node> {
        caught(ErrorKind::Store, STORE, async { self.0.load_node(owner, id, node).await }).await
    }

    async fn list(&self, owner: &Owner, query: &Query) -> Result<ConversationPage> {
        caught(ErrorKind::Store, STORE, async { self.0.list(owner, query).await }).await
    }

    async fn count(&self, owner: &Owner, query: &Query) -> Result<usize> {
        caught(ErrorKind::Store, STORE, async { self.0.count(owner, query).await }).await
    }

    async fn search(&self, owner: &Owner, query: &Query) -> Result<SearchPage> {
        caught(ErrorKind::Store, STORE, async { self.0.search(owner, query).await }).await
    }

    async fn delete(&self, owner: &Owner, id: &ConversationId) -> Result<()> {
        caught(ErrorKind::Store, STORE, async { self.0.delete(owner, id).await }).await
    }

    async fn delete_matching(&self, owner: &Owner, query: &Query) -> Result<Vec<ConversationId>> {
        caught(ErrorKind::Store, STORE, async { self.0.delete_matching(owner, query).await }).await
    }

    async fn put_blob(&self, owner: &Owner, bytes: &Arc<[u8]>) -> Result<Digest> {
        caught(ErrorKind::Store, STORE, async { self.0.put_blob(owner, bytes).await }).await
    }

    async fn get_blob(&self, owner: &Owner, digest: Digest) -> Result<Option<Arc<[u8]>>> {
        caught(ErrorKind::Store, STORE, async { self.0.get_blob(owner, digest).await }).await
    }

    async fn collect_blobs(&self, owner: &Owner, grace: Duration) -> Result<usize> {
        caught(ErrorKind::Store, STORE, async { self.0.collect_blobs(owner, grace).await }).await
    }

    async fn close(&self) -> Result<()> {
        caught(ErrorKind::Store, STORE, async { self.0.close().await }).await
    }

    async fn import_all(&self, owner: &Owner, archives: Vec<Archive>) -> Vec<Result<()>> {
        let count = archives.len();
        let imported =
            caught(ErrorKind::Store, STORE, async { Ok(self.0.import_all(owner, archives).await) });
        match imported.await {
            Ok(outcomes) => outcomes,
            // It is unknown which of them are stored: importing again adds the missing ones.
            Err(panic) => (0..count).map(|_| Err(Error::new(panic.kind(), panic.to_string()))).collect(),
        }
    }
}
