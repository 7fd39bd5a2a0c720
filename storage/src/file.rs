//! Stores conversations in append-only files in a folder.

mod blobs;
mod cache;
mod disk;
// Only the feature makes the faults public.
#[cfg_attr(not(feature = "testing"), allow(dead_code, unreachable_pub))]
mod faults;
mod folder;
mod fsck;
mod imports;
mod line;
mod lines;
mod lock;
mod log;
mod name;
mod place;
mod questions;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use alloquy_core::media::Digest;
use alloquy_core::search::SearchPage;
use alloquy_core::store::{
    Archive, ConversationPage, ConversationRecord, ConversationStore, ConversationSummary, HeadMove,
};
use alloquy_core::tree::Tree;
use alloquy_core::{ConversationId, Node, NodeId, Owner, Query, Result};
use async_trait::async_trait;
use serde_json::{Map, Value};

use self::disk::Disk;
#[cfg(feature = "testing")]
pub use self::faults::{DiskCall, DiskFault, DiskFaults};
use self::folder::Folder;
pub use self::fsck::{Defect, FsckFinding, FsckReport};
use crate::durability::Durability;
use crate::failure::{Failure, outcomes};
use crate::worker::Worker;

/// How long a call waits for the lock of another store by default: far longer than any call takes.
const PATIENCE: Duration = Duration::from_secs(60);

/// Keeps conversations in a folder: a log of JSON lines for each, and a file for each blob.
///
/// Any number of stores, in any number of processes of one machine, may use a folder at once. Writers of one conversation
/// take turns, and a writer that waits for longer than a minute gets [`ErrorKind::Busy`](alloquy_core::ErrorKind::Busy). A
/// change is on the disk when the call returns.
///
/// ```
/// use alloquy_core::{Owner, Preface};
/// use alloquy_core::store::{ConversationRecord, ConversationStore, ConversationStoreExt};
/// use alloquy_storage::FileStore;
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("chats");
/// # pollster::block_on(async {
/// let (store, owner) = (FileStore::open(&path).await?, Owner::local());
/// let record = ConversationRecord::new("tea".parse()?, Preface::default());
/// store.create(&owner, &record).await?;
/// drop(store);
/// assert!(FileStore::open(&path).await?.exists(&owner, &record.id).await?);
/// # Ok::<(), alloquy_core::Error>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct FileStore {
    worker: Worker<Folder>,
    path: PathBuf,
}

impl FileStore {
    /// Opens the folder at a path, and creates it where there is none.
    ///
    /// # Errors
    /// [`ErrorKind::Store`](alloquy_core::ErrorKind::Store) for a folder that cannot be created or written to.
    pub async fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::open_with_patience(path, PATIENCE).await
    }

    /// Opens the folder at a path as [`FileStore::open`] does; `durability` sets what acknowledged changes survive.
    ///
    /// # Errors
    /// As [`FileStore::open`].
    ///
    /// ```
    /// use alloquy_storage::{Durability, FileStore};
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # pollster::block_on(async {
    /// let store = FileStore::open_with(folder.path().join("scratch"), Durability::Crash).await?;
    /// # Ok::<(), alloquy_core::Error>(())
    /// # })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub async fn open_with(path: impl AsRef<Path>, durability: Durability) -> Result<Self> {
        Self::start(path.as_ref(), Disk { durability, ..Disk::default() }, PATIENCE).await
    }

    /// Opens the folder at a path as [`FileStore::open`] does; calls of this store wait for at most `patience` for the locks
    /// of other stores.
    ///
    /// # Errors
    /// As [`FileStore::open`].
    pub async fn open_with_patience(path: impl AsRef<Path>, patience: Duration) -> Result<Self> {
        Self::start(path.as_ref(), Disk::default(), patience).await
    }

    /// Opens the folder at a path as [`FileStore::open`] does, on a disk that fails where `faults` decides.
    ///
    /// # Errors
    /// As [`FileStore::open`], and the injected ones.
    #[cfg(feature = "testing")]
    pub async fn open_faulty(path: impl AsRef<Path>, faults: Arc<dyn DiskFaults>) -> Result<Self> {
        let disk = Disk { faults: Some(faults), ..Disk::default() };
        Self::start(path.as_ref(), disk, PATIENCE).await
    }

    /// Opens the folder at a path for reading only: calls that change something are refused, and neither a folder nor a lock
    /// is created. It works where nothing may be written, and while others write.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`](alloquy_core::ErrorKind::NotFound) for a folder that does not exist or has never held
    /// conversations, [`ErrorKind::Store`](alloquy_core::ErrorKind::Store) for one that cannot be read.
    ///
    /// ```
    /// use alloquy_core::{ErrorKind, Owner, Query};
    /// use alloquy_core::store::ConversationStore;
    /// use alloquy_storage::FileStore;
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("chats");
    /// # pollster::block_on(async {
    /// assert_eq!(FileStore::open_for_reading(&path).await.unwrap_err().kind(), ErrorKind::NotFound);
    /// drop(FileStore::open(&path).await?);
    /// let store = FileStore::open_for_reading(&path).await?;
    /// assert_eq!(store.count(&Owner::local(), &Query::default()).await?, 0);
    /// # Ok::<(), alloquy_core::Error>(())
    /// # })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub async fn open_for_reading(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref().to_owned();
        let root = path.clone();
        let name = folder_name(&path);
        let started =
            Worker::start(&name, move || Folder::open_for_reading(&root, Disk::default(), PATIENCE)).await;
        match started {
            Ok(worker) => Ok(Self { worker, path }),
            Err(error) => Err(error.context(name)),
        }
    }

    async fn start(path: &Path, disk: Disk, patience: Duration) -> Result<Self> {
        let path = path.to_owned();
        let root = path.clone();
        let name = folder_name(&path);
        let worker = Worker::start(&name, move || Folder::open(&root, disk, patience)).await?;
        Ok(Self { worker, path })
    }

    /// Reads everything in the folder, of every owner, and reports what is damaged or missing.
    ///
    /// It changes nothing. No store may write to the folder meanwhile.
    ///
    /// # Errors
    /// [`ErrorKind::Store`](alloquy_core::ErrorKind::Store) when the folder cannot be read.
    ///
    /// ```
    /// use alloquy_storage::FileStore;
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # pollster::block_on(async {
    /// let store = FileStore::open(folder.path()).await?;
    /// let report = store.fsck().await?;
    /// assert!(report.findings.is_empty());
    /// # Ok::<(), alloquy_core::Error>(())
    /// # })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub async fn fsck(&self) -> Result<FsckReport> {
        self.run(Folder::fsck).await
    }

    /// Returns the path of the folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    async fn run<T: Send + 'static>(
        &self,
        job: impl FnOnce(&mut Folder) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T> {
        self.worker.run(job).await
    }
}

fn folder_name(path: &Path) -> String {
    format!("folder {path:?}")
}

#[async_trait]
impl ConversationStore for FileStore {
    async fn create(&self, owner: &Owner, record: &ConversationRecord) -> Result<()> {
        let owner = owner.clone();
        let record = record.clone();
        self.run(move |folder| folder.create(&owner, record)).await
    }

    async fn append(&self, owner: &Owner, id: &ConversationId, nodes: &[Node]) -> Result<()> {
        let owner = owner.clone();
        let id = id.clone();
        let nodes = nodes.to_vec();
        self.run(move |folder| folder.append(&owner, &id, &nodes)).await
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
        self.run(move |folder| folder.set_head(&owner, &id, from, to)).await
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
        self.worker.complete(move |folder| folder.append_and_move(&owner, &id, &nodes, from, to)).await
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
        self.run(move |folder| folder.update_metadata(&owner, &id, revision, metadata)).await
    }

    async fn prune(&self, owner: &Owner, id: &ConversationId, node: NodeId) -> Result<()> {
        let owner = owner.clone();
        let id = id.clone();
        self.run(move |folder| folder.prune(&owner, &id, node)).await
    }

    async fn compact(&self, owner: &Owner, id: &ConversationId) -> Result<()> {
        let owner = owner.clone();
        let id = id.clone();
        self.run(move |folder| folder.compact(&owner, &id)).await
    }

    async fn summary(&self, owner: &Owner, id: &ConversationId) -> Result<ConversationSummary> {
        let owner = owner.clone();
        let id = id.clone();
        self.run(move |folder| Ok(folder.read(&owner, &id)?.summary())).await
    }

    async fn load(&self, owner: &Owner, id: &ConversationId) -> Result<(ConversationRecord, Tree)> {
        let owner = owner.clone();
        let id = id.clone();
        self.run(move |folder| {
            let log = folder.read(&owner, &id)?;
            Ok((log.record.clone(), log.tree.clone()))
        })
        .await
    }

    async fn load_path(&self, owner: &Owner, id: &ConversationId, node: NodeId) -> Result<Vec<Node>> {
        let owner = owner.clone();
        let id = id.clone();
        self.run(move |folder| {
            Ok(folder.read(&owner, &id)?.tree.path(Some(node))?.into_iter().cloned().collect())
        })
        .await
    }

    async fn load_node(&self, owner: &Owner, id: &ConversationId, node: NodeId) -> Result<Node> {
        let owner = owner.clone();
        let id = id.clone();
        self.run(move |folder| Ok(folder.read(&owner, &id)?.tree.node(node)?.clone())).await
    }

    async fn list(&self, owner: &Owner, query: &Query) -> Result<ConversationPage> {
        let owner = owner.clone();
        let query = query.clone();
        self.run(move |folder| folder.list(&owner, &query)).await
    }

    async fn count(&self, owner: &Owner, query: &Query) -> Result<usize> {
        let owner = owner.clone();
        let query = query.clone();
        self.run(move |folder| folder.count(&owner, &query)).await
    }

    async fn search(&self, owner: &Owner, query: &Query) -> Result<SearchPage> {
        let owner = owner.clone();
        let query = query.clone();
        self.run(move |folder| folder.search(&owner, &query)).await
    }

    async fn delete(&self, owner: &Owner, id: &ConversationId) -> Result<()> {
        let owner = owner.clone();
        let id = id.clone();
        self.run(move |folder| folder.delete(&owner, &id)).await
    }

    async fn delete_matching(&self, owner: &Owner, query: &Query) -> Result<Vec<ConversationId>> {
        let owner = owner.clone();
        let query = query.clone();
        self.run(move |folder| folder.delete_matching(&owner, &query)).await
    }

    async fn put_blob(&self, owner: &Owner, bytes: &Arc<[u8]>) -> Result<Digest> {
        let owner = owner.clone();
        let bytes = Arc::clone(bytes);
        self.run(move |folder| folder.put_blob(&owner, &bytes)).await
    }

    async fn get_blob(&self, owner: &Owner, digest: Digest) -> Result<Option<Arc<[u8]>>> {
        let owner = owner.clone();
        self.run(move |folder| folder.get_blob(&owner, digest)).await
    }

    async fn collect_blobs(&self, owner: &Owner, grace: Duration) -> Result<usize> {
        let owner = owner.clone();
        self.run(move |folder| folder.collect_blobs(&owner, grace)).await
    }

    async fn close(&self) -> Result<()> {
        self.worker.close().await;
        Ok(())
    }

    async fn import_all(&self, owner: &Owner, archives: Vec<Archive>) -> Vec<Result<()>> {
        let owner = owner.clone();
        let count = archives.len();
        outcomes(self.run(move |folder| Ok(folder.import_all(&owner, &archives))).await, count)
    }
}
