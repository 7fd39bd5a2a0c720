//! Keeps passages in a PostgreSQL database, and finds them.

mod find;
mod owners;
mod pgvector;
mod tables;
mod vector_search;
mod write;

use std::collections::HashSet;
use std::sync::Arc;

use alloquy_core::media::Digest;
use alloquy_core::{Error, ErrorKind, Owner, Result};
use alloquy_retrieval::{Embedder, Found, Lookup, Passage, Retriever, VectorFormat, WordOptions};
use async_trait::async_trait;
use deadpool_postgres::{Pool, Transaction};

pub use self::vector_search::VectorSearch;

use self::pgvector::Pgvector;
use super::place::Place;
use super::transaction;
use crate::failure::Failure;
use crate::passages::Passages;
use crate::passages::change::{Change, Changed, PassageReport};
use crate::passages::scores::Question;
use crate::passages::settings::Settings;
use crate::passages::tables::{Hits, State, Tables};
use crate::tasks::Tasks;

/// How [`PostgresPassages`] are made.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct PostgresPassageOptions {
    /// How words count.
    pub words: WordOptions,
    /// How vectors are compared.
    pub search: VectorSearch,
}

/// Keeps passages in a PostgreSQL database of version 13 or newer, and finds them by words and by vectors.
///
/// Any number of processes, on any number of machines, may add and search at once. Each owner has passages of its own: neither what is
/// found by words nor its scores depend on those of others. Changes of one owner take turns.
///
/// * Words have the scores of a [`WordIndex`](alloquy_retrieval::WordIndex), to the last digit. The full-text search of PostgreSQL is not
///   used: its ranks know nothing of how rare a word is.
/// * Vectors need the extension `pgvector`, which is created where the role may do so. They are compared exactly, or by its index HNSW.
///
/// ```no_run
/// use std::sync::Arc;
///
/// use alloquy_core::Owner;
/// use alloquy_retrieval::{Lookup, NgramEmbedder, Passage};
/// use alloquy_storage::{PostgresPassageOptions, PostgresPassages, VectorSearch};
///
/// # pollster::block_on(async {
/// let mut options = PostgresPassageOptions::default();
/// options.search = VectorSearch::Hnsw { candidates: 100 };
/// let url = "postgres://alloquy:secret@db.example/chats";
/// let passages = PostgresPassages::open(url, options, Some(Arc::new(NgramEmbedder::default()))).await?;
/// let owner = Owner::local();
/// passages.add(&owner, vec![Passage::new("1", "Tea is grown in Assam.")]).await?;
/// let found = passages.hybrid().find(&owner, &Lookup::new("Where is tea grown?")).await?;
/// println!("{}", found.passages[0].text);
/// # Ok::<(), alloquy_core::Error>(())
/// # })?;
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct PostgresPassages {
    passages: Arc<Passages<PostgresTables>>,
}

impl PostgresPassages {
    /// Connects to the database that a URL names, and creates the tables where there are none. Without an embedder it has no vectors.
    ///
    /// The URL is that of [`PostgresStore::open`](crate::PostgresStore::open), and may be the same. The tables are in a schema of their
    /// own: that of the URL, with `_passages` at its end.
    ///
    /// # Errors
    /// * [`ErrorKind::Conflict`] for passages that were stored with another embedder or other words, with both.
    /// * [`ErrorKind::Invalid`] for a URL of another form, and for options that are not possible.
    /// * [`ErrorKind::Store`] when the server cannot be reached or refuses.
    /// * [`ErrorKind::Unsupported`] for tables of a newer version or of another program, for a server that is too old, and for an embedder
    ///   where `pgvector` is not installed or must be created by an administrator.
    pub async fn open(
        url: &str,
        options: PostgresPassageOptions,
        embedder: Option<Arc<dyn Embedder>>,
    ) -> Result<Self> {
        // The extension stores numbers as they are.
        let settings = Settings::of(options.words, embedder.as_deref(), VectorFormat::F32)?;
        let tables = PostgresTables::open(url, options.search, settings.clone()).await?;
        Ok(Self { passages: Passages::new(tables, settings, embedder) })
    }

    /// Adds passages of an owner. One with the id of another replaces it. One that is there already stays, with its vector.
    ///
    /// Each 2,048 passages are one transaction. After an error those before it stay, and the same call again continues.
    ///
    /// # Errors
    /// Those of the embedder and of the database. [`ErrorKind::Invalid`] for a passage that is too large or whose metadata is nested too
    /// deeply.
    pub async fn add(&self, owner: &Owner, passages: Vec<Passage>) -> Result<PassageReport> {
        self.passages.add(owner, passages).await
    }

    /// Makes these the only passages of a document: adds them as [`add`](Self::add) does, and removes all others with this
    /// [source](Passage::source).
    ///
    /// # Errors
    /// As [`add`](Self::add), and [`ErrorKind::Invalid`] for a passage with another source.
    pub async fn replace(
        &self,
        owner: &Owner,
        source: &str,
        passages: Vec<Passage>,
    ) -> Result<PassageReport> {
        self.passages.replace(owner, source, passages).await
    }

    /// Makes these the only passages of an owner: adds them as [`add`](Self::add) does, and removes all others.
    ///
    /// # Errors
    /// As [`add`](Self::add).
    pub async fn sync(&self, owner: &Owner, passages: Vec<Passage>) -> Result<PassageReport> {
        self.passages.sync(owner, passages).await
    }

    /// Adds passages whose vectors are known, as [`add`](Self::add) does.
    ///
    /// # Errors
    /// As [`add`](Self::add), and [`ErrorKind::Invalid`] for a vector of another length, or with a number that is not finite;
    /// [`ErrorKind::Unsupported`] for a database without vectors.
    pub async fn add_vectors(
        &self,
        owner: &Owner,
        passages: Vec<(Passage, Vec<f32>)>,
    ) -> Result<PassageReport> {
        self.passages.add_vectors(owner, passages).await
    }

    /// Removes passages of an owner, and returns how many there were.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn remove(&self, owner: &Owner, ids: &[&str]) -> Result<usize> {
        self.passages.remove(owner, ids).await
    }

    /// Returns how many passages an owner has.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn len(&self, owner: &Owner) -> Result<usize> {
        self.passages.len(owner).await
    }

    /// Returns whether an owner has no passages.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn is_empty(&self, owner: &Owner) -> Result<bool> {
        Ok(self.len(owner).await? == 0)
    }

    /// Finds the passages nearest to a vector; the text of the lookup is not read.
    ///
    /// # Errors
    /// Those of the database, and [`ErrorKind::Invalid`] for a vector of another length, or with a number that is not finite.
    pub async fn nearest(&self, owner: &Owner, vector: &[f32], lookup: &Lookup) -> Result<Found> {
        self.passages.nearest(owner, vector, lookup).await
    }

    /// Returns the retriever by words, `words`.
    pub fn words(&self) -> Arc<dyn Retriever> {
        self.passages.words()
    }

    /// Returns the retriever by vectors, `vectors`.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`] for a database without vectors.
    pub fn vectors(&self) -> Result<Arc<dyn Retriever>> {
        self.passages.vectors()
    }

    /// Returns the retriever by words and vectors with their usual weights; without an embedder, that by words.
    pub fn hybrid(&self) -> Arc<dyn Retriever> {
        self.passages.hybrid()
    }

    /// Waits until the accepted calls are done, and closes the connections. Later calls fail.
    pub async fn close(&self) {
        self.passages.tables.close().await;
    }
}

/// The tables.
#[derive(Debug)]
struct PostgresTables {
    tasks: Tasks<Access>,
    search: VectorSearch,
    name: String,
}

/// The connections, and the extension for vectors where there are any.
#[derive(Debug)]
struct Access {
    pool: Pool,
    pgvector: Option<Pgvector>,
}

impl PostgresTables {
    async fn open(url: &str, search: VectorSearch, settings: Settings) -> Result<Self> {
        let place = Place::of(url)?.beside("_passages")?;
        let name = format!("passages in {}", place.name());
        match Tasks::start(&name, move || connect(place, settings, search)).await {
            Ok(tasks) => Ok(Self { tasks, search, name }),
            Err(error) => Err(error.context(name)),
        }
    }

    async fn read<R: Send + 'static>(
        &self,
        question: impl AsyncFn(&Transaction<'_>, Option<&Pgvector>) -> Result<R, Failure> + Send + 'static,
    ) -> Result<R> {
        let read = self.tasks.run(async move |access| {
            let pgvector = access.pgvector.as_ref();
            transaction::read(&access.pool, &async |unit: &Transaction<'_>| question(unit, pgvector).await)
                .await
        });
        read.await.map_err(|error| self.placed(error))
    }

    /// Adds the name of the database to an error about it.
    fn placed(&self, error: Error) -> Error {
        match error.kind() {
            ErrorKind::Store | ErrorKind::Corrupt | ErrorKind::Busy => error.context(&self.name),
            _ => error,
        }
    }
}

async fn connect(place: Place, settings: Settings, search: VectorSearch) -> Result<Access, Failure> {
    let pool = place.pool()?;
    let is_indexed = search != VectorSearch::Exact;
    let pgvector = tables::prepare(&pool, &place.schema, &settings, is_indexed).await?;
    Ok(Access { pool, pgvector })
}

#[async_trait]
impl Tables for PostgresTables {
    async fn state(&self, owner: &Owner) -> Result<State> {
        let owner = owner.clone();
        self.read(async move |unit: &Transaction<'_>, _: Option<&Pgvector>| find::state(unit, &owner).await)
            .await
    }

    async fn known(&self, owner: &Owner, passages: Vec<(String, Digest)>) -> Result<HashSet<String>> {
        let owner = owner.clone();
        self.read(async move |unit: &Transaction<'_>, _: Option<&Pgvector>| {
            write::known(unit, &owner, &passages).await
        })
        .await
    }

    async fn change(&self, owner: &Owner, change: Change) -> Result<Changed> {
        let owner = owner.clone();
        let done = self.tasks.run(async move |access| {
            let pgvector = access.pgvector.as_ref();
            let (changed, _) = transaction::write(
                &access.pool,
                &async |unit: &Transaction<'_>| write::change(unit, &owner, &change, pgvector).await,
                // A commit without an answer was made if the version is that of this change.
                &async |unit: &Transaction<'_>, changed: &(Changed, Digest)| {
                    Ok(find::state(unit, &owner).await?.version == changed.1)
                },
            )
            .await?;
            Ok(changed)
        });
        done.await.map_err(|error| self.placed(error))
    }

    async fn by_words(&self, owner: &Owner, question: Question, lookup: Lookup) -> Result<Hits> {
        let owner = owner.clone();
        self.read(async move |unit: &Transaction<'_>, _: Option<&Pgvector>| {
            find::by_words(unit, &owner, &question, &lookup).await
        })
        .await
    }

    async fn by_vector(&self, owner: &Owner, vector: Vec<f32>, lookup: Lookup) -> Result<Hits> {
        let owner = owner.clone();
        let search = self.search;
        self.read(async move |unit: &Transaction<'_>, pgvector: Option<&Pgvector>| {
            let Some(pgvector) = pgvector else {
                let words = "the passages have no vectors: search by words";
                return Err(Error::new(ErrorKind::Unsupported, words).into());
            };
            find::by_vector(unit, &owner, pgvector, search, &vector, &lookup).await
        })
        .await
    }

    fn vector_search(&self) -> String {
        format!("{:?}", self.search)
    }

    async fn close(&self) {
        self.tasks.close().await;
    }
}
