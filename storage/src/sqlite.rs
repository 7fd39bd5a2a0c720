//! Stores conversations in one SQLite database.

mod blobs;
mod conversations;
mod database;
mod imports;
mod keys;
#[cfg(feature = "guards")]
mod limits;
mod migrate;
mod nodes;
#[cfg(feature = "retrieval")]
mod passages;
mod questions;
pub(crate) mod reader;
#[cfg(feature = "guards")]
mod replies;
mod rows;
mod schema;
mod words;

#[cfg(feature = "guards")]
pub use self::limits::SqliteLimits;
#[cfg(feature = "retrieval")]
pub use self::passages::SqlitePassageOptions;
#[cfg(feature = "guards")]
pub use self::replies::SqliteReplies;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use alloquy_core::media::Digest;
use alloquy_core::search::SearchPage;
use alloquy_core::store::{
    Archive, ConversationPage, ConversationRecord, ConversationStore, ConversationSummary, HeadMove,
};
use alloquy_core::tree::Tree;
use alloquy_core::{ConversationId, Error, ErrorKind, Node, NodeId, Owner, Query, Result};
use async_trait::async_trait;
use rusqlite::{Connection, Transaction, TransactionBehavior};
use serde_json::{Map, Value};

use self::database::transact;
use self::reader::Reader;
use crate::durability::Durability;
use crate::failure::{Failure, outcomes};
use crate::worker::Worker;

/// Keeps conversations in a SQLite database.
///
/// Any number of stores, in any number of processes of one machine, may use a database at once. Every call is one
/// transaction. A change is on the disk when the call returns.
///
/// ```
/// use alloquy_core::{Owner, Preface};
/// use alloquy_core::store::{ConversationRecord, ConversationStore, ConversationStoreExt};
/// use alloquy_storage::SqliteStore;
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("chats.db");
/// # pollster::block_on(async {
/// let (store, owner) = (SqliteStore::open(&path).await?, Owner::local());
/// let record = ConversationRecord::new("tea".parse()?, Preface::default());
/// store.create(&owner, &record).await?;
/// drop(store);
/// assert!(SqliteStore::open(&path).await?.exists(&owner, &record.id).await?);
/// # Ok::<(), alloquy_core::Error>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct SqliteStore {
    worker: Worker<Access>,
    name: String,
}

/// How a database is used.
#[derive(Debug)]
enum Access {
    Writing(Connection),
    Reading(Reader),
}

impl Access {
    /// Runs a change in a transaction, unless the database was opened for reading only.
    fn write<T>(
        &mut self,
        change: impl FnOnce(&Transaction<'_>) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        match self {
            Self::Writing(connection) => transact(connection, TransactionBehavior::Immediate, change),
            Self::Reading(_) => Err(Failure::ForReading),
        }
    }
}

impl SqliteStore {
    /// Opens the database at a path, and creates it where there is none.
    ///
    /// # Errors
    /// [`ErrorKind::Store`] for a path that cannot be opened, [`ErrorKind::Corrupt`] for a file that is not a SQLite
    /// database, [`ErrorKind::Unsupported`] for a database of a newer version or of another program.
    pub async fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::open_with(path, Durability::default()).await
    }

    /// Opens a database as [`open`](Self::open) does; `durability` sets what acknowledged changes survive.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    ///
    /// ```
    /// use alloquy_storage::{Durability, SqliteStore};
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # pollster::block_on(async {
    /// let store = SqliteStore::open_with(folder.path().join("scratch.db"), Durability::Crash).await?;
    /// # Ok::<(), alloquy_core::Error>(())
    /// # })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub async fn open_with(path: impl AsRef<Path>, durability: Durability) -> Result<Self> {
        let path = path.as_ref().to_owned();
        let name = format!("SQLite database {path:?}");
        Self::start(name, durability, move || database::connect(&path)).await
    }

    /// Opens the database at a path for reading only: calls that change something are refused, and neither the database nor
    /// a file beside it is created. It works where nothing may be written, and while others write.
    ///
    /// The write-ahead log of a killed writer is read with the database. A database of an older format is read as one of
    /// the newest format, and is not changed.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] for a database that does not exist or is empty, [`ErrorKind::Store`] for one that cannot be
    /// read, and otherwise as [`open`](Self::open).
    ///
    /// ```
    /// use alloquy_core::{ErrorKind, Owner, Query};
    /// use alloquy_core::store::ConversationStore;
    /// use alloquy_storage::SqliteStore;
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("chats.db");
    /// # pollster::block_on(async {
    /// assert_eq!(SqliteStore::open_for_reading(&path).await.unwrap_err().kind(), ErrorKind::NotFound);
    /// drop(SqliteStore::open(&path).await?);
    /// let store = SqliteStore::open_for_reading(&path).await?;
    /// assert_eq!(store.count(&Owner::local(), &Query::default()).await?, 0);
    /// # Ok::<(), alloquy_core::Error>(())
    /// # })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub async fn open_for_reading(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref().to_owned();
        let name = format!("SQLite database {path:?}");
        match Worker::start(&name, move || Reader::open(&path).map(Access::Reading)).await {
            Ok(worker) => Ok(Self { worker, name }),
            Err(error) => Err(error.context(name)),
        }
    }

    /// Opens a database in memory, which is dropped with the store.
    ///
    /// # Errors
    /// [`ErrorKind::Store`] when SQLite refuses.
    pub async fn in_memory() -> Result<Self> {
        let name = "SQLite database in memory".to_owned();
        Self::start(name, Durability::default(), Connection::open_in_memory).await
    }

    async fn start(
        name: String,
        durability: Durability,
        connect: impl FnOnce() -> rusqlite::Result<Connection> + Send + 'static,
    ) -> Result<Self> {
        let started = Worker::start(&name, move || {
            let mut connection = connect()?;
            schema::prepare(&mut connection, durability)?;
            Ok(Access::Writing(connection))
        });
        match started.await {
            Ok(worker) => Ok(Self { worker, name }),
            Err(error) => Err(error.context(name)),
        }
    }

    /// Runs a change in a transaction that waits for its turn to write before it reads.
    async fn write<T: Send + 'static>(
        &self,
        change: impl FnOnce(&Transaction<'_>) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T> {
        let done = self.worker.run(move |access| access.write(change));
        done.await.map_err(|error| self.placed(error))
    }

    /// Runs a query in a transaction that sees one state of the database. It may run more than once.
    async fn read<T: Send + 'static>(
        &self,
        question: impl Fn(&Transaction<'_>) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T> {
        let read = self.worker.run(move |access| match access {
            Access::Writing(connection) => transact(connection, TransactionBehavior::Deferred, question),
            Access::Reading(reader) => reader.ask(&question),
        });
        read.await.map_err(|error| self.placed(error))
    }

    /// Adds the name of the database to an error about it.
    fn placed(&self, error: Error) -> Error {
        match error.kind() {
            ErrorKind::Store | ErrorKind::Corrupt => error.context(&self.name),
            _ => error,
        }
    }
}

#[async_trait]
impl ConversationStore for SqliteStore {
    async fn create(&self, owner: &Owner, record: &ConversationRecord) -> Result<()> {
        let owner = owner.clone();
        let record = record.clone();
        self.write(move |transaction| conversations::create(transaction, &owner, &record).map(drop)).await
    }

    async fn append(&self, owner: &Owner, id: &ConversationId, nodes: &[Node]) -> Result<()> {
        let owner = owner.clone();
        let id = id.clone();
        let nodes = nodes.to_vec();
        self.write(move |transaction| nodes::append(transaction, &owner, &id, &nodes)).await
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
        self.write(move |transaction| conversations::set_head(transaction, &owner, &id, from, to)).await
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
        let done = self.worker.complete(move |access| {
            access.write(|transaction| {
                conversations::append_and_move(transaction, &owner, &id, &nodes, from, to)
            })
        });
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
        self.write(move |transaction| {
            conversations::update_metadata(transaction, &owner, &id, revision, metadata)
        })
        .await
    }

    async fn prune(&self, owner: &Owner, id: &ConversationId, node: NodeId) -> Result<()> {
        let owner = owner.clone();
        let id = id.clone();
        self.write(move |transaction| nodes::prune(transaction, &owner, &id, node)).await
    }

    async fn compact(&self, owner: &Owner, id: &ConversationId) -> Result<()> {
        let owner = owner.clone();
        let id = id.clone();
        self.write(move |transaction| nodes::compact(transaction, &owner, &id)).await
    }

    async fn summary(&self, owner: &Owner, id: &ConversationId) -> Result<ConversationSummary> {
        let owner = owner.clone();
        let id = id.clone();
        self.read(move |transaction| keys::summary(transaction, &owner, &id)).await
    }

    async fn load(&self, owner: &Owner, id: &ConversationId) -> Result<(ConversationRecord, Tree)> {
        let owner = owner.clone();
        let id = id.clone();
        self.read(move |transaction| nodes::load(transaction, &owner, &id)).await
    }

    async fn load_path(&self, owner: &Owner, id: &ConversationId, node: NodeId) -> Result<Vec<Node>> {
        let owner = owner.clone();
        let id = id.clone();
        self.read(move |transaction| nodes::path(transaction, &owner, &id, node)).await
    }

    async fn load_node(&self, owner: &Owner, id: &ConversationId, node: NodeId) -> Result<Node> {
        let owner = owner.clone();
        let id = id.clone();
        self.read(move |transaction| nodes::node(transaction, &owner, &id, node)).await
    }

    async fn list(&self, owner: &Owner, query: &Query) -> Result<ConversationPage> {
        let owner = owner.clone();
        let asked = query.clone();
        self.read(move |transaction| questions::list(transaction, &owner, &asked)).await
    }

    async fn count(&self, owner: &Owner, query: &Query) -> Result<usize> {
        let owner = owner.clone();
        let asked = query.clone();
        self.read(move |transaction| questions::count(transaction, &owner, &asked)).await
    }

    async fn search(&self, owner: &Owner, query: &Query) -> Result<SearchPage> {
        let owner = owner.clone();
        let asked = query.clone();
        self.read(move |transaction| questions::search(transaction, &owner, &asked)).await
    }

    async fn delete(&self, owner: &Owner, id: &ConversationId) -> Result<()> {
        let owner = owner.clone();
        let id = id.clone();
        self.write(move |transaction| conversations::delete(transaction, &owner, &id)).await
    }

    async fn delete_matching(&self, owner: &Owner, query: &Query) -> Result<Vec<ConversationId>> {
        let owner = owner.clone();
        let query = query.clone();
        self.write(move |transaction| conversations::delete_matching(transaction, &owner, &query)).await
    }

    async fn put_blob(&self, owner: &Owner, bytes: &Arc<[u8]>) -> Result<Digest> {
        let owner = owner.clone();
        let bytes = Arc::clone(bytes);
        self.write(move |transaction| blobs::put(transaction, &owner, &bytes)).await
    }

    async fn get_blob(&self, owner: &Owner, digest: Digest) -> Result<Option<Arc<[u8]>>> {
        let owner = owner.clone();
        self.read(move |transaction| blobs::get(transaction, &owner, digest)).await
    }

    async fn collect_blobs(&self, owner: &Owner, grace: Duration) -> Result<usize> {
        let owner = owner.clone();
        self.write(move |transaction| blobs::collect(transaction, &owner, grace)).await
    }

    async fn close(&self) -> Result<()> {
        self.worker.close().await;
        Ok(())
    }

    async fn import_all(&self, owner: &Owner, archives: Vec<Archive>) -> Vec<Result<()>> {
        let owner = owner.clone();
        let count = archives.len();
        let written = self.write(move |transaction| imports::all(transaction, &owner, &archives)).await;
        outcomes(written, count)
    }
}

#[cfg(test)]
mod tests {
    use alloquy_core::turn::TurnEnd;
    use alloquy_core::{Manager, Preface, Tool, ToolSpec};
    use alloquy_testing::ScriptedModel;
    use rusqlite::limits::Limit;
    use serde_json::json;

    use super::*;

    /// Returns more than the database of the test can store in a row.
    #[derive(Debug)]
    struct Large;

    #[async_trait]
    impl Tool for Large {
        fn spec(&self) -> ToolSpec {
            ToolSpec::new("large", "Gives much", json!({"type": "object"}))
        }
        async fn call(&self, _: &Value) -> Result<Value> {
            Ok("x".repeat(50_000).into())
        }
    }

    #[test]
    fn a_result_that_is_too_large_for_the_database_is_an_error_that_the_model_reads() {
        let script = [
            ("<user>Use it<end><assistant>", "call:large {}"),
            ("too big<end><assistant>", "It is too large."),
        ];
        pollster::block_on(async {
            let name = "SQLite database of a test".to_owned();
            let store = SqliteStore::start(name, Durability::default(), || {
                let connection = Connection::open_in_memory()?;
                connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, 20_000)?;
                Ok(connection)
            });
            let store = store.await.unwrap();
            let manager = Manager::builder(ScriptedModel::new(script))
                .tool(Large)
                .store(Arc::new(store))
                .build()
                .unwrap();
            let chat = manager.create(Preface::default()).await.unwrap();
            let reply = chat.send("Use it").finish().await.unwrap();
            assert_eq!((reply.end, reply.text().as_str()), (TurnEnd::Answered, "It is too large."));
            let history = chat.history().await.unwrap();
            let result = history[2].message.tool_results().next().unwrap();
            assert!(result.is_error, "{}", result.text());
            let sentence = "of 50000 characters, cannot be stored: SQLite error: string or blob too big";
            assert!(result.text().contains(sentence), "{}", result.text());
            // A message of the user that is too large is an error, because the user can shorten it.
            let error = chat.add("y".repeat(30_000)).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Invalid);
            assert_eq!(chat.history().await.unwrap().len(), 4, "what was refused left nothing");
        });
    }
}
