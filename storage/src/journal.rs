//! A store in memory that writes each change to a journal of the host.

use std::fmt::Debug;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use alloquy_core::media::Digest;
use alloquy_core::search::SearchPage;
use alloquy_core::store::{
    ConversationPage, ConversationRecord, ConversationStore, ConversationSummary, HeadMove, MemoryStore,
};
use alloquy_core::tree::Tree;
use alloquy_core::{ConversationId, Error, ErrorKind, Node, NodeId, Owner, Query, Result};
use async_trait::async_trait;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures::FutureExt;
use futures::future::BoxFuture;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Keeps the lines of a [`JournaledStore`]: a file, a table of the host's database, the storage of a browser.
///
/// [`JournaledStore`] has an example.
pub trait Journal: Send + Debug + 'static {
    /// Stores one more line durably. A line contains no line break. The call blocks until the line is stored.
    ///
    /// # Errors
    /// When the line is not stored. No part of it may then be read again.
    fn write(&mut self, line: &str) -> Result<()>;
}

/// Keeps conversations in memory, and writes each change to a [`Journal`] before it makes it.
///
/// It is the shortest way to a store of your own that survives the process. Opening reads the whole journal, so the
/// conversations must fit into memory. A journal only grows, and one store at a time may use it.
///
/// ```
/// use alloquy_core::{Owner, Preface, Result};
/// use alloquy_core::store::{ConversationRecord, ConversationStore};
/// use alloquy_storage::{Journal, JournaledStore};
/// use std::sync::{Arc, Mutex};
///
/// #[derive(Clone, Debug, Default)]
/// struct Lines(Arc<Mutex<Vec<String>>>);
///
/// impl Journal for Lines {
///     fn write(&mut self, line: &str) -> Result<()> {
///         self.0.lock().unwrap().push(line.to_owned());
///         Ok(())
///     }
/// }
///
/// # pollster::block_on(async {
/// let (lines, owner) = (Lines::default(), Owner::local());
/// let store = JournaledStore::open([], lines.clone())?;
/// let record = ConversationRecord::new("tea".parse()?, Preface::default());
/// store.create(&owner, &record).await?;
///
/// let kept = lines.0.lock().unwrap().clone();
/// let again = JournaledStore::open(kept.into_iter().map(Ok), lines)?;
/// assert_eq!(again.record(&owner, &record.id).await?, record);
/// # Ok::<(), alloquy_core::Error>(())
/// # })?;
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Debug)]
pub struct JournaledStore<J> {
    maps: MemoryStore,
    journal: Mutex<J>,
}

/// A change, as a line of the journal stores it.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Change {
    Create(Box<ConversationRecord>),
    Append(ConversationId, Vec<Node>),
    SetHead(ConversationId, Option<NodeId>, Option<NodeId>),
    AppendAndMove(ConversationId, Vec<Node>, Option<NodeId>, Option<NodeId>),
    UpdateMetadata(ConversationId, u64, Map<String, Value>),
    Prune(ConversationId, NodeId),
    Delete(Vec<ConversationId>),
    /// In base 64.
    PutBlob(String),
}

impl<J: Journal> JournaledStore<J> {
    /// Opens a store from the lines that a journal has stored, in their order.
    ///
    /// # Errors
    /// The errors of `lines`, and [`ErrorKind::Corrupt`] for a line that no store has written.
    pub fn open(lines: impl IntoIterator<Item = Result<String>>, journal: J) -> Result<Self> {
        let maps = MemoryStore::default();
        for (index, line) in lines.into_iter().enumerate() {
            let (owner, change): (Owner, Change) = serde_json::from_str(&line?).map_err(|error| {
                let message = format!("line {} of the journal is no change to a store", index + 1);
                Error::new(ErrorKind::Corrupt, message).with_source(error)
            })?;
            // The journal also has changes that were refused after they were written, such as a second `create` of an id.
            // They meet the same conversations here, so they are refused again.
            let _ = apply(&maps, &owner, &change);
        }
        Ok(Self { maps, journal: Mutex::new(journal) })
    }

    /// Writes a change to the journal, then makes it. Changes take turns.
    fn change<T>(
        &self,
        owner: &Owner,
        change: &Change,
        make: impl FnOnce(&MemoryStore) -> Result<T>,
    ) -> Result<T> {
        // A panic of another thread leaves only whole lines, so a poisoned lock is no reason to stop.
        let mut journal = self.journal.lock().unwrap_or_else(PoisonError::into_inner);
        journal.write(&line(owner, change)?)?;
        make(&self.maps)
    }

    fn apply(&self, owner: &Owner, change: &Change) -> Result<()> {
        self.change(owner, change, |maps| apply(maps, owner, change))
    }
}

/// Writes a change as a line, and checks that the line reads back as the same change.
fn line(owner: &Owner, change: &Change) -> Result<String> {
    let line = serde_json::to_string(&(owner, change)).map_err(|error| inexact().with_source(error))?;
    let (_, again): (Owner, Change) =
        serde_json::from_str(&line).map_err(|error| inexact().with_source(error))?;
    if again == *change { Ok(line) } else { Err(inexact()) }
}

fn inexact() -> Error {
    Error::new(ErrorKind::Invalid, "this cannot be written as JSON and read back the same")
}

/// Makes a change in memory.
fn apply(maps: &MemoryStore, owner: &Owner, change: &Change) -> Result<()> {
    match change {
        Change::Create(record) => now(maps.create(owner, record)),
        Change::Append(id, nodes) => now(maps.append(owner, id, nodes)),
        Change::SetHead(id, from, to) => now(maps.set_head(owner, id, *from, *to)),
        Change::AppendAndMove(id, nodes, from, to) => {
            now(maps.append_and_move(owner, id, nodes, *from, *to)).map(drop)
        }
        Change::UpdateMetadata(id, revision, metadata) => {
            now(maps.update_metadata(owner, id, *revision, metadata)).map(drop)
        }
        Change::Prune(id, node) => now(maps.prune(owner, id, *node)),
        Change::Delete(ids) => {
            for id in ids {
                now(maps.delete(owner, id))?;
            }
            Ok(())
        }
        Change::PutBlob(text) => {
            let bytes = STANDARD.decode(text).map_err(|error| {
                Error::new(ErrorKind::Corrupt, "a blob of the journal is not in base 64").with_source(error)
            })?;
            now(maps.put_blob(owner, &bytes.into())).map(drop)
        }
    }
}

/// Runs a call of the store in memory, which never waits.
fn now<T>(call: BoxFuture<'_, Result<T>>) -> Result<T> {
    call.now_or_never()
        .unwrap_or_else(|| Err(Error::new(ErrorKind::Store, "maps in memory are waiting for something")))
}

#[async_trait]
impl<J: Journal> ConversationStore for JournaledStore<J> {
    async fn create(&self, owner: &Owner, record: &ConversationRecord) -> Result<()> {
        self.apply(owner, &Change::Create(Box::new(record.clone())))
    }

    async fn append(&self, owner: &Owner, id: &ConversationId, nodes: &[Node]) -> Result<()> {
        self.apply(owner, &Change::Append(id.clone(), nodes.to_vec()))
    }

    async fn set_head(
        &self,
        owner: &Owner,
        id: &ConversationId,
        from: Option<NodeId>,
        to: Option<NodeId>,
    ) -> Result<()> {
        self.apply(owner, &Change::SetHead(id.clone(), from, to))
    }

    async fn append_and_move(
        &self,
        owner: &Owner,
        id: &ConversationId,
        nodes: &[Node],
        from: Option<NodeId>,
        to: Option<NodeId>,
    ) -> Result<HeadMove> {
        let change = Change::AppendAndMove(id.clone(), nodes.to_vec(), from, to);
        self.change(owner, &change, |maps| now(maps.append_and_move(owner, id, nodes, from, to)))
    }

    async fn update_metadata(
        &self,
        owner: &Owner,
        id: &ConversationId,
        revision: u64,
        metadata: &Map<String, Value>,
    ) -> Result<u64> {
        let change = Change::UpdateMetadata(id.clone(), revision, metadata.clone());
        self.change(owner, &change, |maps| now(maps.update_metadata(owner, id, revision, metadata)))
    }

    async fn prune(&self, owner: &Owner, id: &ConversationId, node: NodeId) -> Result<()> {
        self.apply(owner, &Change::Prune(id.clone(), node))
    }

    async fn compact(&self, owner: &Owner, id: &ConversationId) -> Result<()> {
        self.maps.compact(owner, id).await
    }

    async fn record(&self, owner: &Owner, id: &ConversationId) -> Result<ConversationRecord> {
        self.maps.record(owner, id).await
    }

    async fn summary(&self, owner: &Owner, id: &ConversationId) -> Result<ConversationSummary> {
        self.maps.summary(owner, id).await
    }

    async fn load(&self, owner: &Owner, id: &ConversationId) -> Result<(ConversationRecord, Tree)> {
        self.maps.load(owner, id).await
    }

    async fn load_path(&self, owner: &Owner, id: &ConversationId, node: NodeId) -> Result<Vec<Node>> {
        self.maps.load_path(owner, id, node).await
    }

    async fn load_node(&self, owner: &Owner, id: &ConversationId, node: NodeId) -> Result<Node> {
        self.maps.load_node(owner, id, node).await
    }

    async fn list(&self, owner: &Owner, query: &Query) -> Result<ConversationPage> {
        self.maps.list(owner, query).await
    }

    async fn count(&self, owner: &Owner, query: &Query) -> Result<usize> {
        self.maps.count(owner, query).await
    }

    async fn search(&self, owner: &Owner, query: &Query) -> Result<SearchPage> {
        self.maps.search(owner, query).await
    }

    async fn delete(&self, owner: &Owner, id: &ConversationId) -> Result<()> {
        self.apply(owner, &Change::Delete(vec![id.clone()]))
    }

    async fn delete_matching(&self, owner: &Owner, query: &Query) -> Result<Vec<ConversationId>> {
        query.must_be_filtered()?;
        let mut journal = self.journal.lock().unwrap_or_else(PoisonError::into_inner);
        let found = now(self.maps.list(owner, query))?;
        let ids: Vec<_> = found.conversations.into_iter().map(|found| found.record.id).collect();
        let change = Change::Delete(ids.clone());
        journal.write(&line(owner, &change)?)?;
        apply(&self.maps, owner, &change)?;
        Ok(ids)
    }

    async fn put_blob(&self, owner: &Owner, bytes: &Arc<[u8]>) -> Result<Digest> {
        let change = Change::PutBlob(STANDARD.encode(bytes));
        self.change(owner, &change, |maps| now(maps.put_blob(owner, bytes)))
    }

    async fn get_blob(&self, owner: &Owner, digest: Digest) -> Result<Option<Arc<[u8]>>> {
        self.maps.get_blob(owner, digest).await
    }

    /// Removes blobs from memory. The journal still has them, so they are back after the next opening until they are
    /// collected again.
    async fn collect_blobs(&self, owner: &Owner, grace: Duration) -> Result<usize> {
        self.maps.collect_blobs(owner, grace).await
    }
}
