//! A store that fails when told to, and is the store it wraps otherwise.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;

use crate::{
    ConversationId, ConversationRecord, ConversationStore, ConversationSummary, Digest, Error, ErrorKind,
    Node, NodeId, Query, Result, Tree,
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
    /// [`ConversationStore::delete`].
    Delete,
    /// [`ConversationStore::put_blob`].
    PutBlob,
    /// [`ConversationStore::get_blob`].
    GetBlob,
}

/// Wraps a store and fails chosen calls with [`ErrorKind::Store`], before they reach it.
///
/// ```
/// use alloquy_core::testing::{FaultStore, StoreCall};
/// use alloquy_core::{ConversationStore, ErrorKind, MemoryStore};
///
/// # pollster::block_on(async {
/// let store = FaultStore::new(MemoryStore::default());
/// store.fail(StoreCall::Count, 1);
/// assert_eq!(store.count().await?, 0);
/// assert_eq!(store.count().await.unwrap_err().kind(), ErrorKind::Store);
/// assert_eq!(store.count().await?, 0);
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
    async fn create(&self, record: &ConversationRecord) -> Result<()> {
        self.pass(StoreCall::Create)?.create(record).await
    }

    async fn append(&self, id: &ConversationId, nodes: &[Node]) -> Result<()> {
        self.pass(StoreCall::Append)?.append(id, nodes).await
    }

    async fn set_head(&self, id: &ConversationId, from: Option<NodeId>, to: Option<NodeId>) -> Result<()> {
        self.pass(StoreCall::SetHead)?.set_head(id, from, to).await
    }

    async fn record(&self, id: &ConversationId) -> Result<ConversationRecord> {
        self.pass(StoreCall::Record)?.record(id).await
    }

    async fn load(&self, id: &ConversationId) -> Result<(ConversationRecord, Tree)> {
        self.pass(StoreCall::Load)?.load(id).await
    }

    async fn load_path(&self, id: &ConversationId, node: NodeId) -> Result<Vec<Node>> {
        self.pass(StoreCall::LoadPath)?.load_path(id, node).await
    }

    async fn list(&self, query: &Query) -> Result<Vec<ConversationSummary>> {
        self.pass(StoreCall::List)?.list(query).await
    }

    async fn count(&self) -> Result<usize> {
        self.pass(StoreCall::Count)?.count().await
    }

    async fn delete(&self, id: &ConversationId) -> Result<()> {
        self.pass(StoreCall::Delete)?.delete(id).await
    }

    async fn put_blob(&self, bytes: &Arc<[u8]>) -> Result<Digest> {
        self.pass(StoreCall::PutBlob)?.put_blob(bytes).await
    }

    async fn get_blob(&self, digest: Digest) -> Result<Option<Arc<[u8]>>> {
        self.pass(StoreCall::GetBlob)?.get_blob(digest).await
    }
}
