//! Objects in a bucket, a folder or memory. Knows calls and what they decide; what objects hold is in the folder.

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
use crate::failure::Failure;
use crate::private;
use crate::tasks::Tasks;

/// Keeps conversations as objects: in a bucket of S3 or of another cloud, in a folder, or in memory.
///
/// A conversation is a log: each change is an object of its own, whose name is the next number. It is put where there is
/// none, so that of several writers on any number of machines one has the number and the others try the next. A turn
/// writes as much as it says, however large the tree.
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
    /// Uses the objects below a prefix of an object store, which must know a put that creates or fails.
    ///
    /// # Errors
    /// [`ErrorKind::Store`] when no thread can be started.
    pub async fn new(objects: Arc<dyn ObjectStore>, prefix: &str) -> Result<Self> {
        Self::start(objects, prefix, false).await
    }

    /// Uses the objects below a prefix for reading alone: calls that change something are refused. A prefix with nothing below
    /// it is a store without conversations.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub async fn new_for_reading(objects: Arc<dyn ObjectStore>, prefix: &str) -> Result<Self> {
        Self::start(objects, prefix, true).await
    }

    async fn start(objects: Arc<dyn ObjectStore>, prefix: &str, is_for_reading: bool) -> Result<Self> {
        let (name, prefix) = (format!("object store {objects}, prefix {prefix:?}"), prefix.to_owned());
        let open = async move || Ok(Bucket::new(Objects { store: objects, is_for_reading }, prefix));
        Ok(Self { tasks: Tasks::start(&name, open).await?, name })
    }

    /// Uses objects in a folder, which is created where there is none, each one synced to the disk. A folder that is created
    /// here is readable by its owner alone; the files in it are as the umask says.
    ///
    /// # Errors
    /// [`ErrorKind::Store`] for a folder that cannot be used.
    pub async fn in_folder(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let cannot = |source: std::io::Error| {
            Error::new(ErrorKind::Store, format!("cannot create folder {path:?}")).with_source(source)
        };
        private::make_folder(path).map_err(cannot)?;
        let folder = PrivateFolder::new(path).map_err(Failure::Objects)?;
        Self::new(Arc::new(folder), "").await
    }

    /// Uses objects in memory, which end with the store.
    ///
    /// # Errors
    /// [`ErrorKind::Store`] when no thread can be started.
    pub async fn in_memory() -> Result<Self> {
        Self::new(Arc::new(InMemory::new()), "").await
    }

    /// Uses the bucket and the prefix that a URL names: `s3://BUCKET/PREFIX?endpoint=URL&region=NAME`.
    ///
    /// Credentials, and what the URL does not say, come from the environment as for other programs of AWS
    /// (`AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY`, `AWS_REGION`, `AWS_ENDPOINT_URL`).
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] for what is no such URL, [`ErrorKind::Store`] for what the client refuses.
    #[cfg(feature = "s3")]
    pub async fn open(url: &str) -> Result<Self> {
        let (objects, prefix) = place::of(url)?;
        Self::new(objects, &prefix).await
    }

    /// Uses the bucket and the prefix that a URL names, as [`open`](Self::open) does, for reading alone.
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

    /// Says which object store, where the error is about it.
    fn placed(&self, error: Error) -> Error {
        match error.kind() {
            ErrorKind::Store | ErrorKind::Corrupt => error.context(&self.name),
            _ => error,
        }
    }
}

fn moved(log: &log::Log, change: impl FnMut(&mut ConversationRecord)) -> State {
    let mut state = log.state.clone();
    state.record.as_mut().into_iter().for_each(change);
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
            Ok(match new.is_empty() {
                true => Step::Done(()),
                false => Step::Write(Box::new(log.with(&new)), Change::Nodes(new), ()),
            })
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
            to.map(|node| log.tree.node(node)).transpose()?;
            match head == from {
                true => Ok(Step::Write(Box::new(moved(log, |record| record.head = to)), Change::Head, ())),
                false => Err(Failure::HeadMoved(id.clone())),
            }
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
            if let Some(record) = state.record.as_mut().filter(|_| moves) {
                record.head = to;
            }
            // One entry says both: it has the nodes, and its state the head.
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
            let state = moved(log, |record| {
                (record.metadata, record.revision) = (metadata.clone(), revision + 1);
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

/// Blobs that cannot be collected now are collected another time: the deletion itself is done.
async fn collect_after_deletion(bucket: &Bucket, owner: &Owner) {
    let _ = bucket.collect(owner, BLOB_GRACE).await;
}

#[async_trait]
impl ConversationStore for BucketStore {
    async fn create(&self, owner: &Owner, record: &ConversationRecord) -> Result<()> {
        let (owner, record) = (owner.clone(), record.clone());
        self.run(async move |bucket: &Bucket| create(bucket, &owner, &record).await).await
    }

    async fn append(&self, owner: &Owner, id: &ConversationId, nodes: &[Node]) -> Result<()> {
        let (owner, id, nodes) = (owner.clone(), id.clone(), nodes.to_vec());
        self.run(async move |bucket: &Bucket| append(bucket, &owner, &id, &nodes).await).await
    }

    async fn set_head(
        &self,
        owner: &Owner,
        id: &ConversationId,
        from: Option<NodeId>,
        to: Option<NodeId>,
    ) -> Result<()> {
        let (owner, id) = (owner.clone(), id.clone());
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
        let (owner, id, nodes) = (owner.clone(), id.clone(), nodes.to_vec());
        let call = async move |bucket: &Bucket| append_and_move(bucket, &owner, &id, &nodes, from, to).await;
        let done = self.tasks.complete(async move |bucket| call(&bucket).await).await;
        done.map_err(|error| self.placed(error))
    }

    async fn update_metadata(
        &self,
        owner: &Owner,
        id: &ConversationId,
        revision: u64,
        metadata: &Map<String, Value>,
    ) -> Result<u64> {
        let (owner, id, metadata) = (owner.clone(), id.clone(), metadata.clone());
        self.run(async move |bucket: &Bucket| update_metadata(bucket, &owner, &id, revision, &metadata).await)
            .await
    }

    async fn prune(&self, owner: &Owner, id: &ConversationId, node: NodeId) -> Result<()> {
        let (owner, id) = (owner.clone(), id.clone());
        self.run(async move |bucket: &Bucket| prune(bucket, &owner, &id, node).await).await
    }

    async fn compact(&self, owner: &Owner, id: &ConversationId) -> Result<()> {
        let (owner, id) = (owner.clone(), id.clone());
        self.run(async move |bucket: &Bucket| {
            bucket.compact(&owner, &id).await?;
            collect_after_deletion(bucket, &owner).await;
            Ok(())
        })
        .await
    }

    async fn summary(&self, owner: &Owner, id: &ConversationId) -> Result<ConversationSummary> {
        let (owner, id) = (owner.clone(), id.clone());
        self.run(async move |bucket: &Bucket| bucket.read(&owner, &id, |log| log.summary(&id)).await).await
    }

    async fn load(&self, owner: &Owner, id: &ConversationId) -> Result<(ConversationRecord, Tree)> {
        let (owner, id) = (owner.clone(), id.clone());
        self.run(async move |bucket: &Bucket| {
            bucket.read(&owner, &id, |log| Ok((log.record(&id)?.clone(), log.tree.clone()))).await
        })
        .await
    }

    async fn load_path(&self, owner: &Owner, id: &ConversationId, node: NodeId) -> Result<Vec<Node>> {
        let (owner, id) = (owner.clone(), id.clone());
        self.run(async move |bucket: &Bucket| {
            let path = |log: &log::Log| {
                log.record(&id)?;
                Ok(log.tree.path(Some(node))?.into_iter().cloned().collect())
            };
            bucket.read(&owner, &id, path).await
        })
        .await
    }

    async fn list(&self, owner: &Owner, query: &Query) -> Result<ConversationPage> {
        let (owner, query) = (owner.clone(), query.clone());
        self.run(async move |bucket: &Bucket| bucket.list(&owner, &query).await).await
    }

    async fn count(&self, owner: &Owner, query: &Query) -> Result<usize> {
        let (owner, query) = (owner.clone(), query.clone());
        self.run(async move |bucket: &Bucket| bucket.count(&owner, &query).await).await
    }

    async fn search(&self, owner: &Owner, query: &Query) -> Result<SearchPage> {
        let (owner, query) = (owner.clone(), query.clone());
        self.run(async move |bucket: &Bucket| bucket.search(&owner, &query).await).await
    }

    async fn delete(&self, owner: &Owner, id: &ConversationId) -> Result<()> {
        let (owner, id) = (owner.clone(), id.clone());
        self.run(async move |bucket: &Bucket| {
            bucket.delete(&owner, &id).await?;
            collect_after_deletion(bucket, &owner).await;
            Ok(())
        })
        .await
    }

    async fn delete_matching(&self, owner: &Owner, query: &Query) -> Result<Vec<ConversationId>> {
        query.must_be_filtered()?;
        let (owner, query) = (owner.clone(), query.clone());
        self.run(async move |bucket: &Bucket| {
            let page = bucket.list(&owner, &query).await?;
            let mut deleted = Vec::new();
            for summary in page.conversations {
                match bucket.delete(&owner, &summary.record.id).await {
                    Ok(()) => deleted.push(summary.record.id),
                    // Somebody else deleted it meanwhile.
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
        let (owner, bytes) = (owner.clone(), Arc::clone(bytes));
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
