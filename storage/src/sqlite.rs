//! One SQLite database, shared by any number of processes. Knows calls and transactions; the SQL is in `tables`.

mod schema;
mod tables;

use std::path::Path;
use std::sync::Arc;

use alloquy_core::{
    ConversationId, ConversationRecord, ConversationStore, ConversationSummary, Digest, Error, ErrorKind,
    Node, NodeId, Query, Result, Tree,
};
use async_trait::async_trait;
use rusqlite::{Connection, OpenFlags, Transaction, TransactionBehavior};

use crate::failure::Failure;
use crate::worker::Worker;

/// Keeps conversations in a SQLite database.
///
/// Any number of stores, in any number of processes of one machine, may use a database at once. Every call is one
/// transaction, and is on the disk when it returns.
///
/// ```
/// use alloquy_core::{ConversationRecord, ConversationStore, Preface};
/// use alloquy_storage::SqliteStore;
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("chats.db");
/// # pollster::block_on(async {
/// let store = SqliteStore::open(&path).await?;
/// store.create(&ConversationRecord::new("tea".parse()?, Preface::default())).await?;
/// drop(store);
/// assert_eq!(SqliteStore::open(&path).await?.count().await?, 1);
/// # Ok::<(), alloquy_core::Error>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct SqliteStore {
    worker: Worker<Connection>,
    name: String,
}

impl SqliteStore {
    /// Opens the database at a path, and creates it where there is none.
    ///
    /// # Errors
    /// [`ErrorKind::Store`] for a path that cannot be opened, [`ErrorKind::Corrupt`] for a file that is no SQLite
    /// database, [`ErrorKind::Unsupported`] for one of a newer version or of another program.
    pub async fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref().to_owned();
        // Without `SQLITE_OPEN_URI`, so that a path is a path, whatever it begins with.
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
            | OpenFlags::SQLITE_OPEN_CREATE
            | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let name = format!("SQLite database {path:?}");
        Self::start(name, move || Connection::open_with_flags(path, flags)).await
    }

    /// Opens a database in memory, which ends with the store.
    ///
    /// # Errors
    /// [`ErrorKind::Store`] when SQLite refuses.
    pub async fn in_memory() -> Result<Self> {
        Self::start("SQLite database in memory".to_owned(), Connection::open_in_memory).await
    }

    async fn start(
        name: String,
        connect: impl FnOnce() -> rusqlite::Result<Connection> + Send + 'static,
    ) -> Result<Self> {
        let open = move || {
            let mut connection = connect()?;
            schema::prepare(&mut connection)?;
            Ok(connection)
        };
        match Worker::start(open).await {
            Ok(worker) => Ok(Self { worker, name }),
            Err(error) => Err(error.context(name)),
        }
    }

    /// Runs a change in a transaction that waits for its turn to write before it reads.
    async fn write<T: Send + 'static>(
        &self,
        change: impl FnOnce(&Transaction<'_>) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T> {
        self.transact(TransactionBehavior::Immediate, change).await
    }

    /// Runs a question in a transaction that sees one state of the database.
    async fn read<T: Send + 'static>(
        &self,
        question: impl FnOnce(&Transaction<'_>) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T> {
        self.transact(TransactionBehavior::Deferred, question).await
    }

    async fn transact<T: Send + 'static>(
        &self,
        behavior: TransactionBehavior,
        work: impl FnOnce(&Transaction<'_>) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T> {
        let job = move |connection: &mut Connection| {
            let transaction = connection.transaction_with_behavior(behavior)?;
            let outcome = work(&transaction)?;
            transaction.commit()?;
            Ok(outcome)
        };
        self.worker.run(job).await.map_err(|error| self.placed(error))
    }

    /// Says which database, where the error is about the database.
    fn placed(&self, error: Error) -> Error {
        match error.kind() {
            ErrorKind::Store | ErrorKind::Corrupt => error.context(&self.name),
            _ => error,
        }
    }
}

#[async_trait]
impl ConversationStore for SqliteStore {
    async fn create(&self, record: &ConversationRecord) -> Result<()> {
        let record = record.clone();
        self.write(move |transaction| tables::create(transaction, &record)).await
    }

    async fn append(&self, id: &ConversationId, nodes: &[Node]) -> Result<()> {
        let (id, nodes) = (id.clone(), nodes.to_vec());
        self.write(move |transaction| tables::append(transaction, &id, &nodes)).await
    }

    async fn set_head(&self, id: &ConversationId, from: Option<NodeId>, to: Option<NodeId>) -> Result<()> {
        let id = id.clone();
        self.write(move |transaction| tables::set_head(transaction, &id, from, to)).await
    }

    async fn record(&self, id: &ConversationId) -> Result<ConversationRecord> {
        let id = id.clone();
        self.read(move |transaction| Ok(tables::summary(transaction, &id)?.record)).await
    }

    async fn load(&self, id: &ConversationId) -> Result<(ConversationRecord, Tree)> {
        let id = id.clone();
        self.read(move |transaction| tables::load(transaction, &id)).await
    }

    async fn load_path(&self, id: &ConversationId, node: NodeId) -> Result<Vec<Node>> {
        let id = id.clone();
        self.read(move |transaction| tables::path(transaction, &id, node)).await
    }

    async fn list(&self, query: &Query) -> Result<Vec<ConversationSummary>> {
        let query = query.clone();
        self.read(move |transaction| tables::list(transaction, &query)).await
    }

    async fn count(&self) -> Result<usize> {
        self.read(tables::count).await
    }

    async fn delete(&self, id: &ConversationId) -> Result<()> {
        let id = id.clone();
        self.write(move |transaction| tables::delete(transaction, &id)).await
    }

    async fn put_blob(&self, bytes: &Arc<[u8]>) -> Result<Digest> {
        let bytes = Arc::clone(bytes);
        self.write(move |transaction| tables::put_blob(transaction, &bytes)).await
    }

    async fn get_blob(&self, digest: Digest) -> Result<Option<Arc<[u8]>>> {
        self.read(move |transaction| tables::get_blob(transaction, digest)).await
    }
}
