//! Append-only files in a folder. Knows calls; what they do to the folder is in `folder`.

mod blobs;
mod cache;
mod disk;
mod folder;
mod line;
mod lock;
mod log;
mod name;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use alloquy_core::{
    ConversationId, ConversationRecord, ConversationStore, ConversationSummary, Digest, Node, NodeId, Query,
    Result, Tree,
};
use async_trait::async_trait;

use self::folder::Folder;
use crate::failure::Failure;
use crate::worker::Worker;

/// Keeps conversations in a folder: a log of JSON lines for each, and a file for each blob.
///
/// Any number of stores, in any number of processes of one machine, may use a folder at once; its writers take
/// turns. Every call is on the disk when it returns.
///
/// ```
/// use alloquy_core::{ConversationRecord, ConversationStore, Preface};
/// use alloquy_storage::FileStore;
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("chats");
/// # pollster::block_on(async {
/// let store = FileStore::open(&path).await?;
/// store.create(&ConversationRecord::new("tea".parse()?, Preface::default())).await?;
/// drop(store);
/// assert_eq!(FileStore::open(&path).await?.count().await?, 1);
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
        let path = path.as_ref().to_owned();
        let root = path.clone();
        let worker = Worker::start(move || Folder::open(&root)).await?;
        Ok(Self { worker, path })
    }

    /// Returns the folder.
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

#[async_trait]
impl ConversationStore for FileStore {
    async fn create(&self, record: &ConversationRecord) -> Result<()> {
        let record = record.clone();
        self.run(move |folder| folder.create(record)).await
    }

    async fn append(&self, id: &ConversationId, nodes: &[Node]) -> Result<()> {
        let (id, nodes) = (id.clone(), nodes.to_vec());
        self.run(move |folder| folder.append(&id, &nodes)).await
    }

    async fn set_head(&self, id: &ConversationId, from: Option<NodeId>, to: Option<NodeId>) -> Result<()> {
        let id = id.clone();
        self.run(move |folder| folder.set_head(&id, from, to)).await
    }

    async fn record(&self, id: &ConversationId) -> Result<ConversationRecord> {
        let id = id.clone();
        self.run(move |folder| Ok(folder.read(&id)?.record.clone())).await
    }

    async fn load(&self, id: &ConversationId) -> Result<(ConversationRecord, Tree)> {
        let id = id.clone();
        self.run(move |folder| {
            let log = folder.read(&id)?;
            Ok((log.record.clone(), log.tree.clone()))
        })
        .await
    }

    async fn load_path(&self, id: &ConversationId, node: NodeId) -> Result<Vec<Node>> {
        let id = id.clone();
        self.run(move |folder| {
            let path = folder.read(&id)?.tree.path(Some(node))?;
            Ok(path.into_iter().cloned().collect())
        })
        .await
    }

    async fn list(&self, query: &Query) -> Result<Vec<ConversationSummary>> {
        let query = query.clone();
        self.run(move |folder| folder.list(&query)).await
    }

    async fn count(&self) -> Result<usize> {
        self.run(|folder| folder.count()).await
    }

    async fn delete(&self, id: &ConversationId) -> Result<()> {
        let id = id.clone();
        self.run(move |folder| folder.delete(&id)).await
    }

    async fn put_blob(&self, bytes: &Arc<[u8]>) -> Result<Digest> {
        let bytes = Arc::clone(bytes);
        self.run(move |folder| folder.put_blob(&bytes)).await
    }

    async fn get_blob(&self, digest: Digest) -> Result<Option<Arc<[u8]>>> {
        self.run(move |folder| folder.get_blob(digest)).await
    }
}
