//! A store that writes to several, so that all of them hold the same ids and the same times.

use std::sync::Arc;
use std::time::Duration;

use alloquy_core::media::Digest;
use alloquy_core::search::SearchPage;
use alloquy_core::store::{
    ConversationPage, ConversationRecord, ConversationStore, ConversationSummary, HeadMove,
};
use alloquy_core::tree::Tree;
use alloquy_core::{ConversationId, Node, NodeId, Owner, Query, Result};
use async_trait::async_trait;
use serde_json::{Map, Value};

/// Writes to every store, and reads from the first.
#[derive(Debug)]
pub(super) struct Tee {
    pub(super) first: Arc<dyn ConversationStore>,
    pub(super) others: Vec<Arc<dyn ConversationStore>>,
}

#[async_trait]
impl ConversationStore for Tee {
    async fn create(&self, owner: &Owner, record: &ConversationRecord) -> Result<()> {
        for store in &self.others {
            store.create(owner, record).await?;
        }
        self.first.create(owner, record).await
    }

    async fn append(&self, owner: &Owner, id: &ConversationId, nodes: &[Node]) -> Result<()> {
        for store in &self.others {
            store.append(owner, id, nodes).await?;
        }
        self.first.append(owner, id, nodes).await
    }

    async fn set_head(
        &self,
        owner: &Owner,
        id: &ConversationId,
        from: Option<NodeId>,
        to: Option<NodeId>,
    ) -> Result<()> {
        for store in &self.others {
            store.set_head(owner, id, from, to).await?;
        }
        self.first.set_head(owner, id, from, to).await
    }

    async fn append_and_move(
        &self,
        owner: &Owner,
        id: &ConversationId,
        nodes: &[Node],
        from: Option<NodeId>,
        to: Option<NodeId>,
    ) -> Result<HeadMove> {
        for store in &self.others {
            store.append_and_move(owner, id, nodes, from, to).await?;
        }
        self.first.append_and_move(owner, id, nodes, from, to).await
    }

    async fn update_metadata(
        &self,
        owner: &Owner,
        id: &ConversationId,
        revision: u64,
        metadata: &Map<String, Value>,
    ) -> Result<u64> {
        for store in &self.others {
            store.update_metadata(owner, id, revision, metadata).await?;
        }
        self.first.update_metadata(owner, id, revision, metadata).await
    }

    async fn prune(&self, owner: &Owner, id: &ConversationId, node: NodeId) -> Result<()> {
        for store in &self.others {
            store.prune(owner, id, node).await?;
        }
        self.first.prune(owner, id, node).await
    }

    async fn compact(&self, owner: &Owner, id: &ConversationId) -> Result<()> {
        for store in &self.others {
            store.compact(owner, id).await?;
        }
        self.first.compact(owner, id).await
    }

    async fn summary(&self, owner: &Owner, id: &ConversationId) -> Result<ConversationSummary> {
        self.first.summary(owner, id).await
    }

    async fn load(&self, owner: &Owner, id: &ConversationId) -> Result<(ConversationRecord, Tree)> {
        self.first.load(owner, id).await
    }

    async fn load_path(&self, owner: &Owner, id: &ConversationId, node: NodeId) -> Result<Vec<Node>> {
        self.first.load_path(owner, id, node).await
    }

    async fn list(&self, owner: &Owner, query: &Query) -> Result<ConversationPage> {
        self.first.list(owner, query).await
    }

    async fn count(&self, owner: &Owner, query: &Query) -> Result<usize> {
        self.first.count(owner, query).await
    }

    async fn search(&self, owner: &Owner, query: &Query) -> Result<SearchPage> {
        self.first.search(owner, query).await
    }

    async fn delete(&self, owner: &Owner, id: &ConversationId) -> Result<()> {
        for store in &self.others {
            store.delete(owner, id).await?;
        }
        self.first.delete(owner, id).await
    }

    async fn delete_matching(&self, owner: &Owner, query: &Query) -> Result<Vec<ConversationId>> {
        for store in &self.others {
            store.delete_matching(owner, query).await?;
        }
        self.first.delete_matching(owner, query).await
    }

    async fn put_blob(&self, owner: &Owner, bytes: &Arc<[u8]>) -> Result<Digest> {
        for store in &self.others {
            store.put_blob(owner, bytes).await?;
        }
        self.first.put_blob(owner, bytes).await
    }

    async fn get_blob(&self, owner: &Owner, digest: Digest) -> Result<Option<Arc<[u8]>>> {
        self.first.get_blob(owner, digest).await
    }

    async fn collect_blobs(&self, owner: &Owner, grace: Duration) -> Result<usize> {
        for store in &self.others {
            store.collect_blobs(owner, grace).await?;
        }
        self.first.collect_blobs(owner, grace).await
    }
}
