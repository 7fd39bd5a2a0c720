//! Snapshots as objects in a bucket, which any number of machines may share.

use std::io::Cursor;
use std::sync::Arc;
use std::time::SystemTime;

use alloquy_core::{ConversationId, Error, ErrorKind, Owner, Result};
use alloquy_engine::decoder::{SavedSnapshot, Snapshot, SnapshotSource, SnapshotStore, SnapshotSummary};
use futures::executor::block_on;
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{GetOptions, GetRange, ObjectStore, ObjectStoreExt};

use super::objects::Objects;
use crate::failure::Failure;
use crate::snapshots::name;
use crate::tasks::Tasks;

/// How many bytes a snapshot may have by default: 1 GiB. It is in memory while it is read or written.
const LARGEST: u64 = 1 << 30;

/// How many bytes are read of a snapshot to know what it has: enough for 50,000 tokens. More of them take a second request.
const FIRST: u64 = 256 << 10;

/// Snapshots as objects in a bucket: one for each conversation, which the next snapshot replaces as a whole.
///
/// Any number of machines may share the bucket, also with a [`BucketStore`](crate::BucketStore) below the same prefix. The names of objects
/// are those of the files of a [`SnapshotFolder`](crate::SnapshotFolder). Nothing is removed for another snapshot: use a rule of the bucket
/// that expires objects whose names end in `.snapshot`.
///
/// ```
/// use alloquy_core::Owner;
/// use alloquy_engine::decoder::SnapshotStore;
/// use alloquy_storage::SnapshotBucket;
///
/// # pollster::block_on(async {
/// let snapshots = SnapshotBucket::in_memory().await?;
/// assert!(snapshots.open(&Owner::local(), &"tea".parse()?)?.is_none());
/// # Ok::<(), alloquy_core::Error>(())
/// # })?;
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Debug)]
pub struct SnapshotBucket {
    tasks: Tasks<Objects>,
    name: String,
    prefix: String,
    largest: u64,
}

impl SnapshotBucket {
    /// Uses the objects below a prefix of an object store.
    ///
    /// # Errors
    /// [`ErrorKind::Store`] when no thread can be started.
    pub async fn new(objects: Arc<dyn ObjectStore>, prefix: &str) -> Result<Self> {
        let name = format!("object store {objects}, prefix {prefix:?}");
        let started =
            Tasks::start(&name, async move || Ok(Objects { store: objects, is_for_reading: false }));
        let tasks = started.await?;
        Ok(Self { tasks, name, prefix: prefix.trim_matches('/').to_owned(), largest: LARGEST })
    }

    /// Uses objects in memory, which are dropped with the bucket.
    ///
    /// # Errors
    /// As [`SnapshotBucket::new`].
    pub async fn in_memory() -> Result<Self> {
        Self::new(Arc::new(InMemory::new()), "").await
    }

    /// Uses the bucket and the prefix that a URL names, as [`BucketStore::open`](crate::BucketStore::open) does.
    ///
    /// # Errors
    /// As [`BucketStore::open`](crate::BucketStore::open).
    #[cfg(feature = "s3")]
    pub async fn open(url: &str) -> Result<Self> {
        let (objects, prefix) = super::place::of(url)?;
        Self::new(objects, &prefix).await
    }

    /// Sets how many bytes a snapshot may have. The default is 1 GiB. A larger one is neither written nor read.
    #[must_use]
    pub fn largest(mut self, bytes: u64) -> Self {
        self.largest = bytes;
        self
    }

    fn key(&self, owner: &Owner, conversation: &ConversationId) -> Path {
        Path::from(format!("{}/{}", self.prefix, name(owner, conversation)))
    }

    /// Runs a call to its end. The thread of the bucket does the work.
    fn run<T: Send + 'static>(
        &self,
        call: impl AsyncFnOnce(&Objects) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T> {
        let done = block_on(self.tasks.run(async move |objects| call(&objects).await));
        done.map_err(|error| match error.kind() {
            ErrorKind::Store => error.context(&self.name),
            _ => error,
        })
    }
}

impl SnapshotStore for SnapshotBucket {
    /// Reads the whole snapshot, so that nothing waits for the network while a session is restored.
    fn open(&self, owner: &Owner, conversation: &ConversationId) -> Result<Option<SnapshotSource>> {
        let key = self.key(owner, conversation);
        let largest = self.largest;
        let read = self.run(async move |objects| {
            let Some(found) = found(objects.store.get(&key).await)? else { return Ok(None) };
            let length = found.meta.size;
            if length > largest {
                return Ok(Some(Err(length)));
            }
            let bytes = found.bytes().await?;
            let length = bytes.len() as u64;
            Ok(Some(Ok(SnapshotSource::new(Cursor::new(bytes), length))))
        })?;
        match read {
            Some(Err(length)) => {
                let message = format!("a snapshot of {length} bytes is not read: at most {largest} are");
                Err(Error::new(ErrorKind::Store, message).context(&self.name))
            }
            Some(Ok(source)) => Ok(Some(source)),
            None => Ok(None),
        }
    }

    fn summary(&self, owner: &Owner, conversation: &ConversationId) -> Result<Option<SnapshotSummary>> {
        let key = self.key(owner, conversation);
        self.run(async move |objects| summary(objects, &key).await)
    }

    fn write(
        &self,
        owner: &Owner,
        conversation: &ConversationId,
        snapshot: &Snapshot,
    ) -> Result<SavedSnapshot> {
        let bytes = snapshot.bytes().len() as u64;
        if bytes > self.largest {
            self.remove(owner, conversation)?;
            return Ok(SavedSnapshot::TooLarge { bytes, quota: self.largest });
        }
        let key = self.key(owner, conversation);
        let bytes = snapshot.bytes().to_vec();
        self.run(async move |objects| objects.put(&key, bytes).await)?;
        Ok(SavedSnapshot::Kept { evicted: 0 })
    }

    fn remove(&self, owner: &Owner, conversation: &ConversationId) -> Result<bool> {
        let key = self.key(owner, conversation);
        self.run(async move |objects| {
            let existed = found(objects.store.head(&key).await)?.is_some();
            if existed {
                objects.remove(vec![key]).await?;
            }
            Ok(existed)
        })
    }
}

/// Reads the head of a snapshot, in one request unless it is long.
async fn summary(objects: &Objects, key: &Path) -> Result<Option<SnapshotSummary>, Failure> {
    let Some((mut bytes, length, saved)) = first(objects, key, FIRST).await? else { return Ok(None) };
    let head = Snapshot::head_length(&bytes, length).unwrap_or_default();
    if head > bytes.len() as u64 {
        match first(objects, key, head).await? {
            Some((longer, other, _)) if other == length => bytes = longer,
            // It was replaced or removed meanwhile, and this is what was there.
            _ => return Ok(None),
        }
    }
    let source = SnapshotSource::new(Cursor::new(bytes), length);
    Ok(Some(SnapshotSummary::read(source, saved)))
}

/// Reads the first bytes of an object, and returns them with its length and the time of its last change.
async fn first(
    objects: &Objects,
    key: &Path,
    count: u64,
) -> Result<Option<(Vec<u8>, u64, SystemTime)>, Failure> {
    let options = GetOptions { range: Some(GetRange::Bounded(0..count)), ..GetOptions::default() };
    let read = found(objects.store.get_opts(key, options).await);
    if read.is_err()
        && let Some(empty) = found(objects.store.head(key).await)?.filter(|known| known.size == 0)
    {
        // No range begins within it.
        return Ok(Some((Vec::new(), 0, empty.last_modified.into())));
    }
    let Some(found) = read? else { return Ok(None) };
    let (length, saved) = (found.meta.size, found.meta.last_modified.into());
    Ok(Some((found.bytes().await?.to_vec(), length, saved)))
}

/// Returns nothing where there is no object.
fn found<T>(outcome: object_store::Result<T>) -> Result<Option<T>, Failure> {
    match outcome {
        Ok(found) => Ok(Some(found)),
        Err(object_store::Error::NotFound { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}
