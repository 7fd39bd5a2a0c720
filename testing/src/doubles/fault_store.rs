//! A store that fails chosen calls, and passes the others to the store that it wraps.

use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;
use std::time::Duration;

use alloquy_core::media::Digest;
use alloquy_core::search::SearchPage;
use alloquy_core::store::{
    Archive, ConversationPage, ConversationRecord, ConversationStore, ConversationSummary, HeadMove,
    import_each,
};
use alloquy_core::tree::Tree;
use alloquy_core::{ConversationId, Error, ErrorKind, Node, NodeId, Owner, Query, Result};
use async_trait::async_trait;
use serde_json::{Map, Value};

/// A call of [`ConversationStore`].
///
/// [`FaultStore`] has an example.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StoreCall {
    /// [`ConversationStore::create`].
    Create,
    /// [`ConversationStore::append`].
    Append,
    /// [`ConversationStore::set_head`].
    SetHead,
    /// [`ConversationStore::append_and_move`].
    AppendAndMove,
    /// [`ConversationStore::update_metadata`].
    UpdateMetadata,
    /// [`ConversationStore::prune`].
    Prune,
    /// [`ConversationStore::compact`].
    Compact,
    /// [`ConversationStore::record`] and [`ConversationStore::summary`].
    Record,
    /// [`ConversationStore::load`].
    Load,
    /// [`ConversationStore::load_path`] and [`ConversationStore::load_node`].
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
    /// [`ConversationStore::close`].
    Close,
}

/// Wraps a store, and fails or panics in chosen calls before they reach it.
///
/// A [slow](Self::slow) one also yields in each call, before the call reaches the store and before it returns.
///
/// ```
/// use alloquy_testing::{FaultStore, StoreCall};
/// use alloquy_core::{ErrorKind, Owner, Query};
/// use alloquy_core::store::{ConversationStore, MemoryStore};
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
    is_slow: bool,
    plan: Mutex<Plan>,
}

#[derive(Debug, Default)]
struct Plan {
    calls: Vec<StoreCall>,
    /// Which call of a kind fails, counted from the first one ever made, and how.
    faults: Vec<(StoreCall, usize, Fault)>,
}

#[derive(Clone, Copy, Debug)]
enum Fault {
    Error(ErrorKind),
    Panic,
}

impl<S> FaultStore<S> {
    /// Wraps a store. No call fails yet.
    pub fn new(inner: S) -> Self {
        Self { inner, is_slow: false, plan: Mutex::default() }
    }

    /// Makes it slow: no call completes at its first poll.
    #[must_use]
    pub fn slow(self) -> Self {
        Self { is_slow: true, ..self }
    }

    /// Passes `successes` calls of a kind from now on and fails the next one with [`ErrorKind::Store`], once.
    pub fn fail(&self, call: StoreCall, successes: usize) {
        self.fail_with(call, successes, ErrorKind::Store);
    }

    /// Fails as [`fail`](Self::fail) does, with an error of another kind.
    pub fn fail_with(&self, call: StoreCall, successes: usize, kind: ErrorKind) {
        self.plan().add(call, successes, Fault::Error(kind));
    }

    /// Passes `successes` calls of a kind from now on and panics in the next one, once.
    pub fn panic(&self, call: StoreCall, successes: usize) {
        self.plan().add(call, successes, Fault::Panic);
    }

    /// Passes every call from now on.
    pub fn recover(&self) {
        self.plan().faults.clear();
    }

    /// Returns every call so far in order, including failed ones.
    pub fn calls(&self) -> Vec<StoreCall> {
        self.plan().calls.clone()
    }

    /// Returns the wrapped store.
    pub fn inner(&self) -> &S {
        &self.inner
    }

    fn plan(&self) -> MutexGuard<'_, Plan> {
        self.plan.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn pass(&self, call: StoreCall) -> Result<&S> {
        self.pause().await;
        let (number, fault) = self.plan().note(call);
        let message = format!("{call:?} number {number} fails on purpose");
        match fault {
            None => Ok(&self.inner),
            Some(Fault::Error(kind)) => Err(Error::new(kind, message)),
            Some(Fault::Panic) => panic!("{message}"),
        }
    }

    /// Yields once, where the store is slow.
    async fn pause(&self) {
        let mut waits = self.is_slow;
        poll_fn(|context| {
            if !std::mem::take(&mut waits) {
                return Poll::Ready(());
            }
            context.waker().wake_by_ref();
            Poll::Pending
        })
        .await;
    }
}

impl Plan {
    fn made(&self, call: StoreCall) -> usize {
        self.calls.iter().filter(|&&made| made == call).count()
    }

    fn add(&mut self, call: StoreCall, successes: usize, fault: Fault) {
        let number = self.made(call) + successes;
        self.faults.push((call, number, fault));
    }

    /// Records a call, and returns its number among those of its kind and how it fails.
    fn note(&mut self, call: StoreCall) -> (usize, Option<Fault>) {
        let number = self.made(call);
        self.calls.push(call);
        let planned = self.faults.iter().find(|(planned, at, _)| (*planned, *at) == (call, number));
        (number, planned.map(|&(_, _, fault)| fault))
    }
}

#[deny(clippy::missing_trait_methods)]
#[async_trait]
impl<S: ConversationStore> ConversationStore for FaultStore<S> {
    async fn create(&self, owner: &Owner, record: &ConversationRecord) -> Result<()> {
        let done = self.pass(StoreCall::Create).await?.create(owner, record).await;
        self.pause().await;
        done
    }

    async fn append(&self, owner: &Owner, id: &ConversationId, nodes: &[Node]) -> Result<()> {
        let done = self.pass(StoreCall::Append).await?.append(owner, id, nodes).await;
        self.pause().await;
        done
    }

    async fn set_head(
        &self,
        owner: &Owner,
        id: &ConversationId,
        from: Option<NodeId>,
        to: Option<NodeId>,
    ) -> Result<()> {
        let done = self.pass(StoreCall::SetHead).await?.set_head(owner, id, from, to).await;
        self.pause().await;
        done
    }

    async fn append_and_move(
        &self,
        owner: &Owner,
        id: &ConversationId,
        nodes: &[Node],
        from: Option<NodeId>,
        to: Option<NodeId>,
    ) -> Result<HeadMove> {
        let done =
            self.pass(StoreCall::AppendAndMove).await?.append_and_move(owner, id, nodes, from, to).await;
        self.pause().await;
        done
    }

    async fn update_metadata(
        &self,
        owner: &Owner,
        id: &ConversationId,
        revision: u64,
        metadata: &Map<String, Value>,
    ) -> Result<u64> {
        let done =
            self.pass(StoreCall::UpdateMetadata).await?.update_metadata(owner, id, revision, metadata).await;
        self.pause().await;
        done
    }

    async fn prune(&self, owner: &Owner, id: &ConversationId, node: NodeId) -> Result<()> {
        let done = self.pass(StoreCall::Prune).await?.prune(owner, id, node).await;
        self.pause().await;
        done
    }

    async fn compact(&self, owner: &Owner, id: &ConversationId) -> Result<()> {
        let done = self.pass(StoreCall::Compact).await?.compact(owner, id).await;
        self.pause().await;
        done
    }

    async fn summary(&self, owner: &Owner, id: &ConversationId) -> Result<ConversationSummary> {
        let done = self.pass(StoreCall::Record).await?.summary(owner, id).await;
        self.pause().await;
        done
    }

    async fn record(&self, owner: &Owner, id: &ConversationId) -> Result<ConversationRecord> {
        let done = self.pass(StoreCall::Record).await?.record(owner, id).await;
        self.pause().await;
        done
    }

    async fn load(&self, owner: &Owner, id: &ConversationId) -> Result<(ConversationRecord, Tree)> {
        let done = self.pass(StoreCall::Load).await?.load(owner, id).await;
        self.pause().await;
        done
    }

    async fn load_path(&self, owner: &Owner, id: &ConversationId, node: NodeId) -> Result<Vec<Node>> {
        let done = self.pass(StoreCall::LoadPath).await?.load_path(owner, id, node).await;
        self.pause().await;
        done
    }

    async fn load_node(&self, owner: &Owner, id: &ConversationId, node: NodeId) -> Result<Node> {
        let done = self.pass(StoreCall::LoadPath).await?.load_node(owner, id, node).await;
        self.pause().await;
        done
    }

    async fn list(&self, owner: &Owner, query: &Query) -> Result<ConversationPage> {
        let done = self.pass(StoreCall::List).await?.list(owner, query).await;
        self.pause().await;
        done
    }

    async fn count(&self, owner: &Owner, query: &Query) -> Result<usize> {
        let done = self.pass(StoreCall::Count).await?.count(owner, query).await;
        self.pause().await;
        done
    }

    async fn search(&self, owner: &Owner, query: &Query) -> Result<SearchPage> {
        let done = self.pass(StoreCall::Search).await?.search(owner, query).await;
        self.pause().await;
        done
    }

    async fn delete(&self, owner: &Owner, id: &ConversationId) -> Result<()> {
        let done = self.pass(StoreCall::Delete).await?.delete(owner, id).await;
        self.pause().await;
        done
    }

    async fn delete_matching(&self, owner: &Owner, query: &Query) -> Result<Vec<ConversationId>> {
        let done = self.pass(StoreCall::DeleteMatching).await?.delete_matching(owner, query).await;
        self.pause().await;
        done
    }

    async fn put_blob(&self, owner: &Owner, bytes: &Arc<[u8]>) -> Result<Digest> {
        let done = self.pass(StoreCall::PutBlob).await?.put_blob(owner, bytes).await;
        self.pause().await;
        done
    }

    async fn get_blob(&self, owner: &Owner, digest: Digest) -> Result<Option<Arc<[u8]>>> {
        let done = self.pass(StoreCall::GetBlob).await?.get_blob(owner, digest).await;
        self.pause().await;
        done
    }

    async fn collect_blobs(&self, owner: &Owner, grace: Duration) -> Result<usize> {
        let done = self.pass(StoreCall::CollectBlobs).await?.collect_blobs(owner, grace).await;
        self.pause().await;
        done
    }

    async fn import_all(&self, owner: &Owner, archives: Vec<Archive>) -> Vec<Result<()>> {
        // One after the other, so that each call of each import can fail.
        import_each(self, owner, &archives).await
    }

    async fn close(&self) -> Result<()> {
        self.pass(StoreCall::Close).await?.close().await
    }
}
