//! Stores conversations as objects in a bucket, a folder or memory.

mod blobs;
mod entry;
mod folder;
mod key;
mod log;
mod logs;
mod objects;
#[cfg(feature = "s3")]
mod place;
mod questions;
mod snapshots;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use alloquy_core::media::Digest;
use alloquy_core::search::SearchPage;
use alloquy_core::store::{
    BLOB_GRACE, ConversationPage, ConversationRecord, ConversationStore, ConversationSummary, HeadMove,
    PartialDeletion,
};
use alloquy_core::tree::Tree;
use alloquy_core::{ConversationId, Error, ErrorKind, Node, NodeId, Owner, Query, Result};
use async_trait::async_trait;
use object_store::ObjectStore;
use object_store::memory::InMemory;
use serde_json::{Map, Value};

use self::entry::{Change, State, milliseconds};
use self::folder::PrivateFolder;
use self::logs::{Bucket, Step};
use self::objects::Objects;
pub use self::snapshots::SnapshotBucket;
use crate::failure::Failure;
use crate::private;
use crate::tasks::Tasks;

/// Keeps conversations as objects: in a bucket of S3 or of another cloud, in a folder, or in memory.
///
/// A conversation is a log: each change is an object of its own, whose name is the next number. It is put only where there
/// is no such object. So of several writers, on any number of machines, one gets the number and the others try the next. A
/// turn writes its own content only, however large the tree.
///
/// ```
/// use alloquy_core::{Owner, Preface};
/// use alloquy_core::store::{ConversationRecord, ConversationStore, ConversationStoreExt};
/// use alloquy_storage::BucketStore;
///
/// # pollster::block_on(async {
/// let store = BucketStore::in_memory().await?;
/// let record = ConversationRecord::new("tea".parse()?, Preface::default());
/// store.create(&Owner::local(), &record).await?;
/// assert!(store.exists(&Owner::local(), &record.id).await?);
/// # Ok::<(), alloquy_core::Error>(())
/// # })?;
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Debug)]
pub struct BucketStore {
    tasks: Tasks<Bucket>,
    name: String,
}

impl BucketStore {
    /// Uses the objects below a prefix of an object store, which must support a put that fails where the object exists.
    ///
    /// # Errors
    /// [`ErrorKind::Store`] when no thread can be started.
    pub async fn new(objects: Arc<dyn ObjectStore>, prefix: &str) -> Result<Self> {
        Self::start(objects, prefix, false).await
    }

    /// Uses the objects below a prefix for reading only: calls that change something are refused. A prefix without objects is a
    /// store without conversations.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub async fn new_for_reading(objects: Arc<dyn ObjectStore>, prefix: &str) -> Result<Self> {
        Self::start(objects, prefix, true).await
    }

    async fn start(objects: Arc<dyn ObjectStore>, prefix: &str, is_for_reading: bool) -> Result<Self> {
        let name = format!("object store {objects}, prefix {prefix:?}");
        let prefix = prefix.to_owned();
        let tasks = Tasks::start(&name, async move || {
            Ok(Bucket::new(Objects { store: objects, is_for_reading }, prefix))
        });
        Ok(Self { tasks: tasks.await?, name })
    }

    /// Uses objects in a folder, which is created where there is none. Each object is synced to the disk. Only the owner of
    /// the folder may read the files and folders that are created in it.
    ///
    /// # Errors
    /// [`ErrorKind::Store`] for a folder that cannot be used.
    pub async fn in_folder(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        private::make_folder(path).map_err(|source| {
            Error::new(ErrorKind::Store, format!("cannot create folder {path:?}")).with_source(source)
        })?;
        let folder = PrivateFolder::new(path).map_err(Failure::Objects)?;
        Self::new(Arc::new(folder), "").await
    }

    /// Uses objects in memory, which are dropped with the store.
    ///
    /// # Errors
    /// [`ErrorKind::Store`] when no thread can be started.
    pub async fn in_memory() -> Result<Self> {
        Self::new(Arc::new(InMemory::new()), "").await
    }

    /// Uses the bucket and the prefix that a URL names: `s3://BUCKET/PREFIX?endpoint=URL&region=NAME`.
    ///
    /// Credentials, and what the URL leaves out, come from the environment as for other AWS clients (`AWS_ACCESS_KEY_ID`,
    /// `AWS_SECRET_ACCESS_KEY`, `AWS_REGION`, `AWS_ENDPOINT_URL`).
    ///
    /// ```no_run
    /// # pollster::block_on(async {
    /// let store = alloquy_storage::BucketStore::open("s3://chats/prod?region=eu-central-1").await?;
    /// # Ok::<(), alloquy_core::Error>(())
    /// # })?;
    /// # Ok::<(), alloquy_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] for a URL of another form, [`ErrorKind::Store`] when the client refuses the settings.
    #[cfg(feature = "s3")]
    pub async fn open(url: &str) -> Result<Self> {
        let (objects, prefix) = place::of(url)?;
        Self::new(objects, &prefix).await
    }

    /// Uses the bucket and the prefix that a URL names, as [`open`](Self::open) does, for reading only.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    #[cfg(feature = "s3")]
    pub async fn open_for_reading(url: &str) -> Result<Self> {
        let (objects, prefix) = place::of(url)?;
        Self::new_for_reading(objects, &prefix).await
    }

    async fn run<T: Send + 'static>(
        &self,
        call: impl AsyncFnOnce(&Bucket) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T> {
        let done = self.tasks.run(async move |bucket| call(&bucket).await).await;
        done.map_err(|error| self.placed(error))
    }

    /// Adds the name of the object store to an error about it.
    fn placed(&self, error: Error) -> Error {
        match error.kind() {
            ErrorKind::Store | ErrorKind::Corrupt => error.context(&self.name),
            _ => error,
        }
    }
}

/// Returns the state of a log after a change of the record.
fn changed(log: &log::Log, change: impl FnOnce(&mut ConversationRecord)) -> State {
    let mut state = log.state.clone();
    if let Some(record) = &mut state.record {
        change(record);
    }
    state
}

async fn create(bucket: &Bucket, owner: &Owner, record: &ConversationRecord) -> Result<(), Failure> {
    record.must_be_new(owner)?;
    bucket
        .change(owner, &record.id, |log| {
            if log.state.record.is_some() {
                return Err(Failure::Exists(record.id.clone()));
            }
            let state =
                State { record: Some(record.clone()), nodes: 0, updated: milliseconds(record.created) };
            Ok(Step::Write(Box::new(state), Change::Created, ()))
        })
        .await
}

async fn append(bucket: &Bucket, owner: &Owner, id: &ConversationId, nodes: &[Node]) -> Result<(), Failure> {
    bucket
        .change(owner, id, |log| {
            log.record(id)?;
            let new = log.new_among(nodes)?;
            if new.is_empty() {
                return Ok(Step::Done(()));
            }
            Ok(Step::Write(Box::new(log.with(&new)), Change::Nodes(new), ()))
        })
        .await
}

async fn set_head(
    bucket: &Bucket,
    owner: &Owner,
    id: &ConversationId,
    from: Option<NodeId>,
    to: Option<NodeId>,
) -> Result<(), Failure> {
    bucket
        .change(owner, id, |log| {
            let head = log.record(id)?.head;
            if let Some(node) = to {
                log.tree.node(node)?;
            }
            if head != from {
                return Err(Failure::HeadMoved(id.clone()));
            }
            let state = changed(log, |record| record.head = to);
            Ok(Step::Write(Box::new(state), Change::Head, ()))
        })
        .await
}

async fn append_and_move(
    bucket: &Bucket,
    owner: &Owner,
    id: &ConversationId,
    nodes: &[Node],
    from: Option<NodeId>,
    to: Option<NodeId>,
) -> Result<HeadMove, Failure> {
    bucket
        .change(owner, id, |log| {
            let head = log.record(id)?.head;
            if let Some(node) = to.filter(|&to| nodes.iter().all(|node| node.id != to)) {
                log.tree.node(node)?;
            }
            let new = log.new_among(nodes)?;
            let moved = HeadMove::of(head, from, to);
            let moves = moved == HeadMove::Moved && head != to;
            if new.is_empty() && !moves {
                return Ok(Step::Done(moved));
            }
            let mut state = log.with(&new);
            if moves && let Some(record) = &mut state.record {
                record.head = to;
            }
            // One entry does both: it has the nodes, and its state has the head.
            let change = if new.is_empty() { Change::Head } else { Change::Nodes(new) };
            Ok(Step::Write(Box::new(state), change, moved))
        })
        .await
}

async fn update_metadata(
    bucket: &Bucket,
    owner: &Owner,
    id: &ConversationId,
    revision: u64,
    metadata: &Map<String, Value>,
) -> Result<u64, Failure> {
    bucket
        .change(owner, id, |log| {
            if log.record(id)?.revision != revision {
                return Err(Failure::MetadataChanged(id.clone()));
            }
            let state = changed(log, |record| {
                record.metadata = metadata.clone();
                record.revision = revision + 1;
            });
            Ok(Step::Write(Box::new(state), Change::Metadata, revision + 1))
        })
        .await
}

async fn prune(bucket: &Bucket, owner: &Owner, id: &ConversationId, node: NodeId) -> Result<(), Failure> {
    bucket
        .change(owner, id, |log| {
            let head = log.record(id)?.head;
            if log.tree.tombstones().any(|pruned| pruned == node) {
                return Ok(Step::Done(()));
            }
            log.tree.can_prune(node, head)?;
            let mut tree = log.tree.clone();
            tree.prune(node)?;
            let state = State { nodes: tree.len(), ..log.state.clone() };
            Ok(Step::Write(Box::new(state), Change::Pruned(node), ()))
        })
        .await
}

/// Collects blobs after a deletion. A failure is ignored, because the deletion is done: the next collection removes them.
async fn collect_after_deletion(bucket: &Bucket, owner: &Owner) {
    let _ = bucket.collect(owner, BLOB_GRACE).await;
}

#[async_trait]
impl ConversationStore for BucketStore {
    async fn create(&self, owner: &Owner, record: &ConversationRecord) -> Result<()> {
        let owner = owner.clone();
        let record = record.clone();
        self.run(async move |bucket: &Bucket| create(bucket, &owner, &record).await).await
    }

    async fn append(&self, owner: &Owner, id: &ConversationId, nodes: &[Node]) -> Result<()> {
        let owner = owner.clone();
        let id = id.clone();
        let nodes = nodes.to_vec();
        self.run(async move |bucket: &Bucket| append(bucket, &owner, &id, &nodes).await).await
    }

    async fn set_head(
        &self,
        owner: &Owner,
        id: &ConversationId,
        from: Option<NodeId>,
        to: Option<NodeId>,
    ) -> Result<()> {
        let owner = owner.clone();
        let id = id.clone();
        self.run(async move |bucket: &Bucket| set_head(bucket, &owner, &id, from, to).await).await
    }

    async fn append_and_move(
        &self,
        owner: &Owner,
        id: &ConversationId,
        nodes: &[Node],
        from: Option<NodeId>,
        to: Option<NodeId>,
    ) -> Result<HeadMove> {
        let owner = owner.clone();
        let id = id.clone();
        let nodes = nodes.to_vec();
        let done = self
            .tasks
            .complete(async move |bucket| append_and_move(&bucket, &owner, &id, &nodes, from, to).await);
        done.await.map_err(|error| self.placed(error))
    }

    async fn update_metadata(
        &self,
        owner: &Owner,
        id: &ConversationId,
        revision: u64,
        metadata: &Map<String, Value>,
    ) -> Result<u64> {
        let owner = owner.clone();
        let id = id.clone();
        let metadata = metadata.clone();
        self.run(async move |bucket: &Bucket| update_metadata(bucket, &owner, &id, revision, &metadata).await)
            .await
    }

    async fn prune(&self, owner: &Owner, id: &ConversationId, node: NodeId) -> Result<()> {
        let owner = owner.clone();
        let id = id.clone();
        self.run(async move |bucket: &Bucket| prune(bucket, &owner, &id, node).await).await
    }

    async fn compact(&self, owner: &Owner, id: &ConversationId) -> Result<()> {
        let owner = owner.clone();
        let id = id.clone();
        self.run(async move |bucket: &Bucket| {
            bucket.compact(&owner, &id).await?;
            collect_after_deletion(bucket, &owner).await;
            Ok(())
        })
        .await
    }

    async fn summary(&self, owner: &Owner, id: &ConversationId) -> Result<ConversationSummary> {
        let owner = owner.clone();
        let id = id.clone();
        self.run(async move |bucket: &Bucket| bucket.read(&owner, &id, |log| log.summary(&id)).await).await
    }

    async fn load(&self, owner: &Owner, id: &ConversationId) -> Result<(ConversationRecord, Tree)> {
        let owner = owner.clone();
        let id = id.clone();
        self.run(async move |bucket: &Bucket| {
            bucket.read(&owner, &id, |log| Ok((log.record(&id)?.clone(), log.tree.clone()))).await
        })
        .await
    }

    async fn load_path(&self, owner: &Owner, id: &ConversationId, node: NodeId) -> Result<Vec<Node>> {
        let owner = owner.clone();
        let id = id.clone();
        self.run(async move |bucket: &Bucket| {
            let path = bucket.read(&owner, &id, |log| {
                log.record(&id)?;
                Ok(log.tree.path(Some(node))?.into_iter().cloned().collect())
            });
            path.await
        })
        .await
    }

    async fn load_node(&self, owner: &Owner, id: &ConversationId, node: NodeId) -> Result<Node> {
        let owner = owner.clone();
        let id = id.clone();
        self.run(async move |bucket: &Bucket| {
            let found = bucket.read(&owner, &id, |log| {
                log.record(&id)?;
                Ok(log.tree.node(node)?.clone())
            });
            found.await
        })
        .await
    }

    async fn list(&self, owner: &Owner, query: &Query) -> Result<ConversationPage> {
        let owner = owner.clone();
        let query = query.clone();
        self.run(async move |bucket: &Bucket| bucket.list(&owner, &query).await).await
    }

    async fn count(&self, owner: &Owner, query: &Query) -> Result<usize> {
        let owner = owner.clone();
        let query = query.clone();
        self.run(async move |bucket: &Bucket| bucket.count(&owner, &query).await).await
    }

    async fn search(&self, owner: &Owner, query: &Query) -> Result<SearchPage> {
        let owner = owner.clone();
        let query = query.clone();
        self.run(async move |bucket: &Bucket| bucket.search(&owner, &query).await).await
    }

    async fn delete(&self, owner: &Owner, id: &ConversationId) -> Result<()> {
        let owner = owner.clone();
        let id = id.clone();
        self.run(async move |bucket: &Bucket| {
            bucket.delete(&owner, &id).await?;
            collect_after_deletion(bucket, &owner).await;
            Ok(())
        })
        .await
    }

    async fn delete_matching(&self, owner: &Owner, query: &Query) -> Result<Vec<ConversationId>> {
        query.must_be_filtered()?;
        let owner = owner.clone();
        let query = query.clone();
        self.run(async move |bucket: &Bucket| {
            let page = bucket.list(&owner, &query).await?;
            let mut deleted = Vec::new();
            for summary in page.conversations {
                match bucket.delete(&owner, &summary.record.id).await {
                    Ok(()) => deleted.push(summary.record.id),
                    // Another caller deleted it meanwhile.
                    Err(Failure::NoConversation(_)) => {}
                    Err(failure) => return Err(PartialDeletion::error(deleted, failure.into()).into()),
                }
            }
            collect_after_deletion(bucket, &owner).await;
            Ok(deleted)
        })
        .await
    }

    async fn put_blob(&self, owner: &Owner, bytes: &Arc<[u8]>) -> Result<Digest> {
        let owner = owner.clone();
        let bytes = Arc::clone(bytes);
        self.run(async move |bucket: &Bucket| bucket.put_blob(&owner, &bytes).await).await
    }

    async fn get_blob(&self, owner: &Owner, digest: Digest) -> Result<Option<Arc<[u8]>>> {
        let owner = owner.clone();
        self.run(async move |bucket: &Bucket| bucket.get_blob(&owner, digest).await).await
    }

    async fn collect_blobs(&self, owner: &Owner, grace: Duration) -> Result<usize> {
        let owner = owner.clone();
        self.run(async move |bucket: &Bucket| {
            bucket.sweep_deleted(&owner).await?;
            bucket.collect(&owner, grace).await
        })
        .await
    }

    async fn close(&self) -> Result<()> {
        self.tasks.close().await;
        Ok(())
    }
}
