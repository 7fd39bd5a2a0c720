//! Reads, writes, lists and removes objects, and tries again what may succeed later.

use std::sync::Arc;
use std::time::{Duration, Instant};

use alloquy_core::NodeId;
use futures::stream::BoxStream;
use futures::{StreamExt, TryStreamExt};
use object_store::path::Path;
use object_store::{Error, ObjectMeta, ObjectStore, ObjectStoreExt, PutMode, PutPayload};
use tokio::time::sleep;

use super::entry::Entry;
use crate::failure::{Failure, is_too_large};

/// How often a failed request is tried again, in addition to the retries of the client, and the first pause between two tries.
const TRIES: u32 = 4;
const WAIT: Duration = Duration::from_millis(50);

/// The time during which a failing request is tried again.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);

/// How many requests for objects are under way at once.
pub(super) const AT_ONCE: usize = 16;

#[derive(Clone, Debug)]
pub(super) struct Objects {
    pub(super) store: Arc<dyn ObjectStore>,
    /// Nothing is put, and nothing is removed.
    pub(super) is_for_reading: bool,
}

impl Objects {
    pub(super) fn must_write(&self) -> Result<(), Failure> {
        if self.is_for_reading { Err(Failure::ForReading) } else { Ok(()) }
    }

    /// Reads an object; `None` where there is none.
    pub(super) async fn get(&self, key: &Path) -> Result<Option<Vec<u8>>, Failure> {
        let read = async { self.store.get(key).await?.bytes().await };
        match read.await {
            Ok(bytes) => Ok(Some(bytes.to_vec())),
            Err(Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    pub(super) async fn put(&self, key: &Path, bytes: Vec<u8>) -> Result<(), Failure> {
        self.must_write()?;
        let payload = PutPayload::from(bytes);
        let mut tries = 0;
        let began = Instant::now();
        loop {
            match self.store.put(key, payload.clone()).await {
                Ok(_) => return Ok(()),
                Err(error) if tries >= TRIES || began.elapsed() >= PATIENCE || is_too_large(&error) => {
                    return Err(error.into());
                }
                Err(_) => tries += 1,
            }
            sleep(WAIT * tries).await;
        }
    }

    /// Writes an entry where there is none, and returns whether the entry there is this one.
    pub(super) async fn commit(&self, key: &Path, entry: &Entry) -> Result<bool, Failure> {
        self.must_write()?;
        let payload = PutPayload::from(entry.bytes()?);
        let mut tries = 0;
        let began = Instant::now();
        loop {
            match self.store.put_opts(key, payload.clone(), PutMode::Create.into()).await {
                Ok(_) => return Ok(true),
                Err(Error::AlreadyExists { .. } | Error::Precondition { .. }) => {
                    return self.is_this(key, entry.id).await;
                }
                Err(error) if tries >= TRIES || began.elapsed() >= PATIENCE || is_too_large(&error) => {
                    return Err(error.into());
                }
                // The entry may have been written without an answer. Then the next try finds an object, which has its id.
                Err(_) => tries += 1,
            }
            sleep(WAIT * tries).await;
        }
    }

    async fn is_this(&self, key: &Path, id: NodeId) -> Result<bool, Failure> {
        let mut tries = 0;
        let began = Instant::now();
        loop {
            match self.get(key).await {
                Ok(Some(bytes)) => {
                    return Ok(Entry::read(&bytes, key.as_ref()).is_ok_and(|found| found.id == id));
                }
                Ok(None) => return Ok(false),
                Err(failure) if tries >= TRIES || began.elapsed() >= PATIENCE => return Err(failure),
                Err(_) => tries += 1,
            }
            sleep(WAIT * tries).await;
        }
    }

    /// Removes objects. A missing object counts as removed.
    pub(super) async fn remove(&self, keys: Vec<Path>) -> Result<(), Failure> {
        self.must_write()?;
        let removed = futures::stream::iter(keys).map(|key| async move {
            match self.store.delete(&key).await {
                Ok(()) | Err(Error::NotFound { .. }) => Ok(()),
                Err(error) => Err(Failure::Objects(error)),
            }
        });
        removed.buffer_unordered(AT_ONCE).try_collect().await
    }

    /// Lists the objects below a key, sorted.
    pub(super) async fn list(&self, below: &Path) -> Result<Vec<ObjectMeta>, Failure> {
        self.listed(|| self.store.list(Some(below))).await
    }

    /// Lists the objects below a key that follow another one, sorted.
    pub(super) async fn list_after(&self, below: &Path, key: &Path) -> Result<Vec<ObjectMeta>, Failure> {
        self.listed(|| self.store.list_with_offset(Some(below), key)).await
    }

    /// Reads a list to its end. A list that breaks off is read again, which the client does not do by itself.
    async fn listed<'a>(
        &self,
        list: impl Fn() -> BoxStream<'a, object_store::Result<ObjectMeta>>,
    ) -> Result<Vec<ObjectMeta>, Failure> {
        let mut tries = 0;
        let began = Instant::now();
        loop {
            match list().try_collect::<Vec<_>>().await {
                Ok(mut found) => {
                    found.sort_by(|left, right| left.location.cmp(&right.location));
                    return Ok(found);
                }
                Err(error) if tries >= TRIES || began.elapsed() >= PATIENCE => return Err(error.into()),
                Err(_) => tries += 1,
            }
            sleep(WAIT * tries).await;
        }
    }
}
