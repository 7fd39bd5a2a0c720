//! Stores conversations in a PostgreSQL database.

mod blobs;
mod conversations;
mod endings;
mod imports;
mod keys;
#[cfg(feature = "guards")]
mod limits;
mod nodes;
#[cfg(feature = "retrieval")]
mod passages;
mod place;
mod questions;
mod rows;
mod schema;
mod transaction;
mod words;

#[cfg(feature = "guards")]
pub use self::limits::PostgresLimits;
#[cfg(feature = "retrieval")]
pub use self::passages::{PostgresPassageOptions, VectorSearch};

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
use deadpool_postgres::{Pool, Transaction};
use serde_json::{Map, Value};

use self::endings::Endings;
use self::place::Place;
use crate::failure::{Failure, outcomes};
use crate::stored::milliseconds;
use crate::tasks::Tasks;

/// Keeps conversations in a PostgreSQL database, of version 13 or newer and with UTF-8 texts.
///
/// Any number of stores, on any number of machines, may use a database at once. Every call is one transaction. Where the
/// server ends a transaction to resolve a deadlock, or the connection is lost, the call is tried again for about ten
/// seconds. A call whose commit got no answer first asks the server what became of it, so that nothing is done twice.
///
/// ```no_run
/// use alloquy_core::{Owner, Query};
/// use alloquy_core::store::ConversationStore;
/// use alloquy_storage::PostgresStore;
///
/// # pollster::block_on(async {
/// let store = PostgresStore::open("postgres://alloquy:secret@db.example/chats?schema=support").await?;
/// println!("{}", store.count(&Owner::local(), &Query::default()).await?);
/// # Ok::<(), alloquy_core::Error>(())
/// # })?;
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Debug)]
pub struct PostgresStore {
    tasks: Tasks<Pool>,
    endings: Endings,
    name: String,
    is_for_reading: bool,
}

impl PostgresStore {
    /// Connects to the database that a URL names, and creates the tables where there are none.
    ///
    /// The URL is that of `libpq` (`postgres://USER:PASSWORD@HOST:PORT/DATABASE`) with one more parameter: `schema` names the
    /// schema of the tables, `alloquy` by default.
    ///
    /// The connection is encrypted where the server offers it. Then its certificate is checked against the root certificates
    /// in the PEM file `sslrootcert`, or else against those that the system trusts. `sslmode=require` refuses an unencrypted
    /// connection, `sslmode=disable` never encrypts.
    ///
    /// # Errors
    /// * [`ErrorKind::Invalid`] for a URL of another form.
    /// * [`ErrorKind::Store`] when the server cannot be reached or refuses.
    /// * [`ErrorKind::Unsupported`] for tables of a newer version or of another program, and for a server that is too old.
    pub async fn open(url: &str) -> Result<Self> {
        Self::start(url, false).await
    }

    /// Connects as [`open`](Self::open) does, for reading only: calls that change something are refused, and neither schema
    /// nor tables are created or migrated. A role that may only read suffices.
    ///
    /// # Errors
    /// As [`open`](Self::open), and [`ErrorKind::NotFound`] for a schema without conversations.
    pub async fn open_for_reading(url: &str) -> Result<Self> {
        Self::start(url, true).await
    }

    async fn start(url: &str, is_for_reading: bool) -> Result<Self> {
        let place = Place::of(url)?;
        let name = place.name();
        match Tasks::start(&name, move || connect(place, is_for_reading)).await {
            Ok(tasks) => Ok(Self { tasks, endings: Endings::default(), name, is_for_reading }),
            Err(error) => Err(error.context(name)),
        }
    }

    fn must_write(&self) -> Result<()> {
        if self.is_for_reading { Err(Failure::ForReading.into()) } else { Ok(()) }
    }

    /// Makes a change that may be repeated, because it has no effect the second time.
    async fn write<T: Send + 'static>(
        &self,
        change: impl AsyncFn(&Transaction<'_>) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T> {
        self.write_unless(change, never).await
    }

    /// Makes a change that must not be repeated. Where a commit got no answer, `is_done` finds out whether it was made.
    async fn write_unless<T: Send + 'static>(
        &self,
        change: impl AsyncFn(&Transaction<'_>) -> Result<T, Failure> + Send + 'static,
        is_done: impl AsyncFn(&Transaction<'_>, &T) -> Result<bool, Failure> + Send + 'static,
    ) -> Result<T> {
        self.must_write()?;
        let done = self.tasks.run(async move |pool| transaction::write(&pool, &change, &is_done).await).await;
        done.map_err(|error| self.placed(error))
    }

    async fn read<T: Send + 'static>(
        &self,
        question: impl AsyncFn(&Transaction<'_>) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T> {
        let read = self.tasks.run(async move |pool| transaction::read(&pool, &question).await).await;
        read.map_err(|error| self.placed(error))
    }

    /// Adds the name of the database to an error about it.
    fn placed(&self, error: Error) -> Error {
        match error.kind() {
            ErrorKind::Store | ErrorKind::Corrupt => error.context(&self.name),
            _ => error,
        }
    }
}

async fn connect(place: Place, is_for_reading: bool) -> Result<Pool, Failure> {
    let pool = place.pool()?;
    if is_for_reading {
        schema::check(&pool, &place.schema).await?;
    } else {
        schema::prepare(&pool, &place.schema).await?;
    }
    Ok(pool)
}

/// Reports a change that may be repeated as not done, so that it is made again.
async fn never<T>(_: &Transaction<'_>, _: &T) -> Result<bool, Failure> {
    Ok(false)
}

/// Returns the record of a conversation; `None` where there is no such conversation.
async fn record_of(
    unit: &Transaction<'_>,
    owner: &Owner,
    id: &ConversationId,
) -> Result<Option<ConversationRecord>, Failure> {
    match keys::summary(unit, owner, id).await {
        Ok(summary) => Ok(Some(summary.record)),
        Err(Failure::NoConversation(_)) => Ok(None),
        Err(failure) => Err(failure),
    }
}

#[async_trait]
impl ConversationStore for PostgresStore {
    async fn create(&self, owner: &Owner, record: &ConversationRecord) -> Result<()> {
        let owner = owner.clone();
        let record = record.clone();
        let the_owner = owner.clone();
        let created = record.clone();
        self.write_unless(
            async move |unit: &Transaction<'_>| conversations::create(unit, &owner, &record).await,
            async move |unit: &Transaction<'_>, (): &()| {
                let found = record_of(unit, &the_owner, &created.id).await?;
                Ok(found.is_some_and(|found| {
                    milliseconds(found.created) == milliseconds(created.created)
                        && found.preface == created.preface
                }))
            },
        )
        .await
    }

    async fn append(&self, owner: &Owner, id: &ConversationId, nodes: &[Node]) -> Result<()> {
        let owner = owner.clone();
        let id = id.clone();
        let nodes = nodes.to_vec();
        self.write(async move |unit: &Transaction<'_>| nodes::append(unit, &owner, &id, &nodes).await).await
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
        let the_owner = owner.clone();
        let name = id.clone();
        self.write_unless(
            async move |unit: &Transaction<'_>| conversations::set_head(unit, &owner, &id, from, to).await,
            async move |unit: &Transaction<'_>, (): &()| {
                Ok(record_of(unit, &the_owner, &name).await?.is_some_and(|record| record.head == to))
            },
        )
        .await
    }

    async fn append_and_move(
        &self,
        owner: &Owner,
        id: &ConversationId,
        nodes: &[Node],
        from: Option<NodeId>,
        to: Option<NodeId>,
    ) -> Result<HeadMove> {
        self.must_write()?;
        let owner = owner.clone();
        let id = id.clone();
        let nodes = nodes.to_vec();
        let ending = self.endings.begin(&owner, &id);
        let done = self.tasks.complete(async move |pool| {
            let _ending = ending;
            transaction::write(
                &pool,
                &async |unit: &Transaction<'_>| {
                    conversations::append_and_move(unit, &owner, &id, &nodes, from, to).await
                },
                &never,
            )
            .await
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
        let the_owner = owner.clone();
        let name = id.clone();
        let wanted = metadata.clone();
        self.write_unless(
            async move |unit: &Transaction<'_>| {
                conversations::update_metadata(unit, &owner, &id, revision, &metadata).await
            },
            async move |unit: &Transaction<'_>, revision: &u64| {
                let record = record_of(unit, &the_owner, &name).await?;
                Ok(record.is_some_and(|record| record.revision == *revision && record.metadata == wanted))
            },
        )
        .await
    }

    async fn prune(&self, owner: &Owner, id: &ConversationId, node: NodeId) -> Result<()> {
        let owner = owner.clone();
        let id = id.clone();
        self.write(async move |unit: &Transaction<'_>| nodes::prune(unit, &owner, &id, node).await).await
    }

    async fn compact(&self, owner: &Owner, id: &ConversationId) -> Result<()> {
        let owner = owner.clone();
        let id = id.clone();
        self.write(async move |unit: &Transaction<'_>| nodes::compact(unit, &owner, &id).await).await
    }

    async fn summary(&self, owner: &Owner, id: &ConversationId) -> Result<ConversationSummary> {
        self.endings.wait(owner, id).await;
        let owner = owner.clone();
        let id = id.clone();
        self.read(async move |unit: &Transaction<'_>| keys::summary(unit, &owner, &id).await).await
    }

    async fn load(&self, owner: &Owner, id: &ConversationId) -> Result<(ConversationRecord, Tree)> {
        self.endings.wait(owner, id).await;
        let owner = owner.clone();
        let id = id.clone();
        self.read(async move |unit: &Transaction<'_>| nodes::load(unit, &owner, &id).await).await
    }

    async fn load_path(&self, owner: &Owner, id: &ConversationId, node: NodeId) -> Result<Vec<Node>> {
        self.endings.wait(owner, id).await;
        let owner = owner.clone();
        let id = id.clone();
        self.read(async move |unit: &Transaction<'_>| nodes::path(unit, &owner, &id, node).await).await
    }

    async fn load_node(&self, owner: &Owner, id: &ConversationId, node: NodeId) -> Result<Node> {
        self.endings.wait(owner, id).await;
        let owner = owner.clone();
        let id = id.clone();
        self.read(async move |unit: &Transaction<'_>| nodes::node(unit, &owner, &id, node).await).await
    }

    async fn list(&self, owner: &Owner, query: &Query) -> Result<ConversationPage> {
        let owner = owner.clone();
        let query = query.clone();
        self.read(async move |unit: &Transaction<'_>| questions::list(unit, &owner, &query).await).await
    }

    async fn count(&self, owner: &Owner, query: &Query) -> Result<usize> {
        let owner = owner.clone();
        let query = query.clone();
        self.read(async move |unit: &Transaction<'_>| questions::count(unit, &owner, &query).await).await
    }

    async fn search(&self, owner: &Owner, query: &Query) -> Result<SearchPage> {
        let owner = owner.clone();
        let query = query.clone();
        self.read(async move |unit: &Transaction<'_>| questions::search(unit, &owner, &query).await).await
    }

    async fn delete(&self, owner: &Owner, id: &ConversationId) -> Result<()> {
        let owner = owner.clone();
        let id = id.clone();
        let the_owner = owner.clone();
        let name = id.clone();
        self.write_unless(
            async move |unit: &Transaction<'_>| conversations::delete(unit, &owner, &id).await,
            async move |unit: &Transaction<'_>, (): &()| {
                Ok(record_of(unit, &the_owner, &name).await?.is_none())
            },
        )
        .await
    }

    async fn delete_matching(&self, owner: &Owner, query: &Query) -> Result<Vec<ConversationId>> {
        let owner = owner.clone();
        let query = query.clone();
        let the_owner = owner.clone();
        self.write_unless(
            async move |unit: &Transaction<'_>| conversations::delete_matching(unit, &owner, &query).await,
            async move |unit: &Transaction<'_>, deleted: &Vec<ConversationId>| {
                for id in deleted {
                    if record_of(unit, &the_owner, id).await?.is_some() {
                        return Ok(false);
                    }
                }
                Ok(true)
            },
        )
        .await
    }

    async fn put_blob(&self, owner: &Owner, bytes: &Arc<[u8]>) -> Result<Digest> {
        let owner = owner.clone();
        let bytes = Arc::clone(bytes);
        self.write(async move |unit: &Transaction<'_>| blobs::put(unit, &owner, &bytes).await).await
    }

    async fn get_blob(&self, owner: &Owner, digest: Digest) -> Result<Option<Arc<[u8]>>> {
        let owner = owner.clone();
        self.read(async move |unit: &Transaction<'_>| blobs::get(unit, &owner, digest).await).await
    }

    async fn collect_blobs(&self, owner: &Owner, grace: Duration) -> Result<usize> {
        let owner = owner.clone();
        self.write(async move |unit: &Transaction<'_>| blobs::collect(unit, &owner, grace).await).await
    }

    async fn close(&self) -> Result<()> {
        self.tasks.close().await;
        Ok(())
    }

    async fn import_all(&self, owner: &Owner, archives: Vec<Archive>) -> Vec<Result<()>> {
        let owner = owner.clone();
        let count = archives.len();
        let written =
            self.write(async move |unit: &Transaction<'_>| imports::all(unit, &owner, &archives).await).await;
        outcomes(written, count)
    }
}
