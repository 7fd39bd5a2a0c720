//! Keeps passages in a SQLite database, and finds them.

mod find;
mod owners;
mod vector_cache;
mod write;

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

use alloquy_core::media::Digest;
use alloquy_core::{Error, ErrorKind, Owner, Result};
use alloquy_retrieval::{
    Embedder, Found, Lookup, Passage, Retriever, VectorFormat, VectorSettings, WordOptions,
};
use async_trait::async_trait;
use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior};

use self::vector_cache::VectorCache;
use super::database::{Contents, connect, open, transact};
use super::schema;
use crate::durability::Durability;
use crate::failure::Failure;
use crate::passages::Passages;
use crate::passages::change::{Change, Changed, PassageReport};
use crate::passages::scores::Question;
use crate::passages::settings::Settings;
use crate::passages::tables::{Hits, State, Tables};
use crate::worker::Worker;

const CONTENTS: Contents = Contents {
    what: "passages",
    // The bytes `Allp`.
    application: 0x416c_6c70,
    format: 1,
    tables: include_str!("passages/schema.sql"),
    // Five vectors of 384 numbers, or a block of words in one piece.
    page: 8_192,
};

/// How [`SqlitePassages`] are made.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct SqlitePassageOptions {
    /// How words count.
    pub words: WordOptions,
    /// How the numbers of vectors are stored.
    pub vectors: VectorFormat,
    /// What passages survive that were added.
    pub durability: Durability,
}

/// Keeps passages in a SQLite database, and finds them by words and by vectors.
///
/// Any number of processes of one machine may add and search at once. The database holds nothing else, and only the user who created it
/// can read it. Each owner has passages of its own: neither what is found nor its scores depend on those of others.
///
/// * Words have the scores of a [`WordIndex`](alloquy_retrieval::WordIndex), to the last digit. Nothing of them is in memory.
/// * The vector of a question is compared with all of its owner, so it misses none. Those of the owners who asked last are in memory.
/// * A search takes place on a thread of its own, and does not wait for changes.
///
/// ```
/// use std::sync::Arc;
///
/// use alloquy_core::Owner;
/// use alloquy_retrieval::{Lookup, NgramEmbedder, Passage};
/// use alloquy_storage::{SqlitePassageOptions, SqlitePassages};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("passages.db");
/// # pollster::block_on(async {
/// let embedder = Arc::new(NgramEmbedder::default());
/// let passages = SqlitePassages::open(&path, SqlitePassageOptions::default(), Some(embedder)).await?;
/// let owner = Owner::local();
/// let tea = Passage::new("1", "Tea is grown in Assam.").source("tea.md");
/// let report = passages.add(&owner, vec![tea.clone(), Passage::new("2", "Coffee is grown in Kona.")]).await?;
/// assert_eq!((report.added, report.kept), (2, 0));
///
/// let found = passages.hybrid().find(&owner, &Lookup::new("Where is tea grown?")).await?;
/// assert_eq!(found.passages[0].id, "1");
///
/// // Only the tea remains, and is not stored again.
/// let report = passages.sync(&owner, vec![tea]).await?;
/// assert_eq!((report.added, report.kept, report.removed), (0, 1, 1));
/// # Ok::<(), alloquy_core::Error>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct SqlitePassages {
    passages: Arc<Passages<SqliteTables>>,
}

impl SqlitePassages {
    /// Opens the database at a path, and creates it where there is none. Without an embedder it has no vectors.
    ///
    /// # Errors
    /// * [`ErrorKind::Conflict`] for a database that was made with another embedder or other words, with both.
    /// * [`ErrorKind::Invalid`] for options that are not possible.
    /// * [`ErrorKind::Store`] for a path that cannot be opened, [`ErrorKind::Corrupt`] for a file that is not a SQLite database,
    ///   [`ErrorKind::Unsupported`] for a database of a newer version or with other contents.
    pub async fn open(
        path: impl AsRef<Path>,
        options: SqlitePassageOptions,
        embedder: Option<Arc<dyn Embedder>>,
    ) -> Result<Self> {
        let settings = Settings::of(options.words, embedder.as_deref(), options.vectors)?;
        let tables = SqliteTables::open(path.as_ref(), options.durability, settings.clone()).await?;
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
    ///
    /// ```
    /// use alloquy_core::Owner;
    /// use alloquy_retrieval::{Chunker, Document};
    /// use alloquy_storage::{SqlitePassageOptions, SqlitePassages};
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("passages.db");
    /// # pollster::block_on(async {
    /// let passages = SqlitePassages::open(&path, SqlitePassageOptions::default(), None).await?;
    /// for text in ["# Tea\n\nGreen.\n\n# Coffee\n\nBlack.", "# Tea\n\nGreen."] {
    ///     let document = Document::markdown("drinks.md", text);
    ///     passages.replace(&Owner::local(), "drinks.md", Chunker::default().passages(&document)).await?;
    /// }
    /// assert_eq!(passages.len(&Owner::local()).await?, 1);
    /// # Ok::<(), alloquy_core::Error>(())
    /// # })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
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

    /// Waits until the accepted calls are done, and closes the file. Later calls fail.
    pub async fn close(&self) {
        self.passages.tables.close().await;
    }
}

/// The tables, with one connection that changes them and one that searches.
#[derive(Debug)]
struct SqliteTables {
    writer: Worker<Connection>,
    searcher: Worker<Searcher>,
    vectors: Option<VectorSettings>,
    name: String,
}

/// A connection that searches.
#[derive(Debug)]
struct Searcher {
    connection: Connection,
    cache: VectorCache,
}

impl SqliteTables {
    async fn open(path: &Path, durability: Durability, settings: Settings) -> Result<Self> {
        let name = format!("passages in SQLite database {path:?}");
        let vectors = settings.vectors.clone();
        let written = path.to_owned();
        let writer = Worker::start(&name, move || {
            let mut connection = open(&written, CONTENTS, durability)?;
            transact(&mut connection, TransactionBehavior::Immediate, |unit| check(unit, &settings))?;
            Ok(connection)
        });
        let writer = writer.await.map_err(|error| error.context(name.clone()))?;
        let path = path.to_owned();
        let searcher = Worker::start(&name, move || {
            let connection = connect(&path)?;
            connection.busy_timeout(schema::PATIENCE)?;
            connection.pragma_update(None, "query_only", true)?;
            connection.pragma_update(None, "cache_size", schema::CACHE)?;
            Ok(Searcher { connection, cache: VectorCache::default() })
        });
        let searcher = searcher.await.map_err(|error| error.context(name.clone()))?;
        Ok(Self { writer, searcher, vectors, name })
    }

    async fn search<R: Send + 'static>(
        &self,
        question: impl FnOnce(&Transaction<'_>, &mut VectorCache) -> Result<R, Failure> + Send + 'static,
    ) -> Result<R> {
        let done = self.searcher.run(move |searcher| {
            let cache = &mut searcher.cache;
            transact(&mut searcher.connection, TransactionBehavior::Deferred, |unit| question(unit, cache))
        });
        done.await.map_err(|error| self.placed(error))
    }

    /// Adds the name of the database to an error about it.
    fn placed(&self, error: Error) -> Error {
        match error.kind() {
            ErrorKind::Store | ErrorKind::Corrupt | ErrorKind::Busy => error.context(&self.name),
            _ => error,
        }
    }
}

/// Stores the settings of a new database, and compares them with those of another.
fn check(unit: &Transaction<'_>, settings: &Settings) -> Result<(), Failure> {
    let stored: Option<String> =
        unit.query_row("SELECT json FROM settings", [], |row| row.get(0)).optional()?;
    match stored {
        Some(stored) => settings.check(&stored)?,
        None => {
            unit.execute("INSERT INTO settings (json) VALUES (?1)", [settings.json()])?;
        }
    }
    Ok(())
}

#[async_trait]
impl Tables for SqliteTables {
    async fn state(&self, owner: &Owner) -> Result<State> {
        let owner = owner.clone();
        self.search(move |unit, _| find::state(unit, &owner)).await
    }

    async fn known(&self, owner: &Owner, passages: Vec<(String, Digest)>) -> Result<HashSet<String>> {
        let owner = owner.clone();
        self.search(move |unit, _| write::known(unit, &owner, &passages)).await
    }

    async fn change(&self, owner: &Owner, change: Change) -> Result<Changed> {
        let owner = owner.clone();
        let vectors = self.vectors.clone();
        let done = self.writer.run(move |connection| {
            transact(connection, TransactionBehavior::Immediate, |unit| {
                write::change(unit, &owner, &change, vectors.as_ref())
            })
        });
        done.await.map_err(|error| self.placed(error))
    }

    async fn by_words(&self, owner: &Owner, question: Question, lookup: Lookup) -> Result<Hits> {
        let owner = owner.clone();
        self.search(move |unit, _| find::by_words(unit, &owner, &question, &lookup)).await
    }

    async fn by_vector(&self, owner: &Owner, vector: Vec<f32>, lookup: Lookup) -> Result<Hits> {
        let Some(settings) = self.vectors.clone() else {
            return Err(Error::new(ErrorKind::Unsupported, "the passages have no vectors: search by words"));
        };
        let owner = owner.clone();
        self.search(move |unit, cache| find::by_vector(unit, cache, &owner, &settings, &vector, &lookup))
            .await
    }

    fn vector_search(&self) -> String {
        "exact".to_owned()
    }

    async fn close(&self) {
        self.searcher.close().await;
        self.writer.close().await;
    }
}
