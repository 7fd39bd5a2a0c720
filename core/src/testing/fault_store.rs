//! A store that fails when told to, and is the store it wraps otherwise.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Map, Value};

use crate::{
    ConversationId, ConversationPage, ConversationRecord, ConversationStore, Digest, Error, ErrorKind, Node,
    NodeId, Owner, Query, Result, SearchPage, Tree,
};

/// A call of [`ConversationStore`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StoreCall {
    /// [`ConversationStore::create`].
    Create,
    /// [`ConversationStore::append`].
    Append,
    /// [`ConversationStore::set_head`].
    SetHead,
    /// [`ConversationStore::update_metadata`].
    UpdateMetadata,
    /// [`ConversationStore::prune`].
    Prune,
    /// [`ConversationStore::compact`].
    Compact,
    /// [`ConversationStore::record`].
    Record,
    /// [`ConversationStore::load`].
    Load,
    /// [`ConversationStore::load_path`].
    LoadPath,
    /// [`ConversationStore::list`].
    List,
    /// [`ConversationStore::count`].
    Count,
    /// [`ConversationStore::search`].
    Search,
    /// [`ConversationStore::delete`].
    Delete,
    /// [`ConversationStore::delete_matching`].
    DeleteMatching,
    /// [`ConversationStore::put_blob`].
    PutBlob,
    /// [`ConversationStore::get_blob`].
    GetBlob,
    /// [`ConversationStore::collect_blobs`].
    CollectBlobs,
}

/// Wraps a store and fails chosen calls with [`ErrorKind::Store`], before they reach it.
///
/// ```
/// use alloquy_core::testing::{FaultStore, StoreCall};
/// use alloquy_core::{ConversationStore, ErrorKind, MemoryStore, Owner, Query};
///
/// # pollster::block_on(async {
/// let (store, owner, all) = (FaultStore::new(MemoryStore::default()), Owner::local(), Query::default());
/// store.fail(StoreCall::Count, 1);
/// assert_eq!(store.count(&owner, &all).await?, 0);
/// assert_eq!(store.count(&owner, &all).await.unwrap_err().kind(), ErrorKind::Store);
/// assert_eq!(store.count(&owner, &all).await?, 0);
/// assert_eq!(store.calls(), [StoreCall::Count; 3]);
/// # Ok::<(), alloquy_core::Error>(())
/// # })?;
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Debug)]
pub struct FaultStore<S> {
    inner: S,
    plan: Mutex<Plan>,
}

#[derive(Debug, Default)]
struct Plan {
    calls: Vec<StoreCall>,
    /// Which call of all calls of its kind fails, counted from the first one ever made.
    faults: Vec<(StoreCall, usize)>,
}

impl<S> FaultStore<S> {
    /// Wraps a store; nothing fails yet.
    pub fn new(inner: S) -> Self {
        Self { inner, plan: Mutex::default() }
    }

    /// Lets `successes` calls of a kind through from now on and fails the next one, once.
    pub fn fail(&self, call: StoreCall, successes: usize) {
        let mut plan = self.plan();
        let made = plan.made(call);
        plan.faults.push((call, made + successes));
    }

    /// Returns every call so far in order, failed ones included.
    pub fn calls(&self) -> Vec<StoreCall> {
        self.plan().calls.clone()
    }

    /// Returns the store behind.
    pub fn inner(&self) -> &S {
        &self.inner
    }

    fn plan(&self) -> MutexGuard<'_, Plan> {
        self.plan.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn pass(&self, call: StoreCall) -> Result<&S> {
        let mut plan = self.plan();
        let number = plan.made(call);
        plan.calls.push(call);
        match plan.faults.contains(&(call, number)) {
            false => Ok(&self.inner),
            true => {
                let message = format!("{call:?} number {number} fails as it was told to");
                Err(Error::new(ErrorKind::Store, message))
            }
        }
    }
}

impl Plan {
    fn made(&self, call: StoreCall) -> usize {
        self.calls.iter().filter(|&&made| made == call).count()
    }
}

#[deny(clippy::missing_trait_methods)]
#[async_trait]
impl<S: ConversationStore> ConversationStore for FaultStore<S> {
    async fn create(&self, owner: &Owner, record: &ConversationRecord) -> Result<()> {
        self.pass(StoreCall::Create)?.create(owner, record).await
    }

    async fn append(&self, owner: &Owner, id: &ConversationId, nodes: &[Node]) -> Result<()> {
        self.pass(StoreCall::Append)?.append(owner, id, nodes).await
    }

    async fn set_head(
        &self,
        owner: &Owner,
        id: &ConversationId,
        from: Option<NodeId>,
        to: Option<NodeId>,
    ) -> Result<()> {
        self.pass(StoreCall::SetHead)?.set_head(owner, id, from, to).await
    }

    async fn update_metadata(
        &self,
        owner: &Owner,
        id: &ConversationId,
        revision: u64,
        metadata: &Map<String, Value>,
    ) -> Result<u64> {
        self.pass(StoreCall::UpdateMetadata)?.update_metadata(owner, id, revision, metadata).await
    }

    async fn prune(&self, owner: &Owner, id: &ConversationId, node: NodeId) -> Result<()> {
        self.pass(StoreCall::Prune)?.prune(owner, id, node).await
    }

    async fn compact(&self, owner: &Owner, id: &ConversationId) -> Result<()> {
        self.pass(StoreCall::Compact)?.compact(owner, id).await
    }

    async fn record(&self, owner: &Owner, id: &ConversationId) -> Result<ConversationRecord> {
        self.pass(StoreCall::Record)?.record(owner, id).await
    }

    async fn load(&self, owner: &Owner, id: &ConversationId) -> Result<(ConversationRecord, Tree)> {
        self.pass(StoreCall::Load)?.load(owner, id).await
    }

    async fn load_path(&self, owner: &Owner, id: &ConversationId, node: NodeId) -> Result<Vec<Node>> {
        self.pass(StoreCall::LoadPath)?.load_path(owner, id, node).await
    }

    async fn list(&self, owner: &Owner, query: &Query) -> Result<ConversationPage> {
        self.pass(StoreCall::List)?.list(owner, query).await
    }

    async fn count(&self, owner: &Owner, query: &Query) -> Result<usize> {
        self.pass(StoreCall::Count)?.count(owner, query).await
    }

    async fn search(&self, owner: &Owner, query: &Query) -> Result<SearchPage> {
        self.pass(StoreCall::Search)?.search(owner, query).await
    }

    async fn delete(&self, owner: &Owner, id: &ConversationId) -> Result<()> {
        self.pass(StoreCall::Delete)?.delete(owner, id).await
    }

    async fn delete_matching(&self, owner: &Owner, query: &Query) -> Result<Vec<ConversationId>> {
        self.pass(StoreCall::DeleteMatching)?.delete_matching(owner, query).await
    }

    async fn put_blob(&self, owner: &Owner, bytes: &Arc<[u8]>) -> Result<Digest> {
        self.pass(StoreCall::PutBlob)?.put_blob(owner, bytes).await
    }

    async fn get_blob(&self, owner: &Owner, digest: Digest) -> Result<Option<Arc<[u8]>>> {
        self.pass(StoreCall::GetBlob)?.get_blob(owner, digest).await
    }

    async fn collect_blobs(&self, owner: &Owner, grace: Duration) -> Result<usize> {
        self.pass(StoreCall::CollectBlobs)?.collect_blobs(owner, grace).await
    }
}
