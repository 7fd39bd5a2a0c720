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
use alloquy_retrieval::{Embedder, Lookup, VectorFormat, VectorSettings, WordOptions};
use async_trait::async_trait;
use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior};

use self::vector_cache::VectorCache;
use super::database::{Contents, connect, open, transact};
use super::schema;
use crate::durability::Durability;
use crate::failure::Failure;
use crate::passages::PassageDatabase;
use crate::passages::change::{Change, Changed};
use crate::passages::scores::Question;
use crate::passages::settings::{Settings, no_vectors};
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

/// How [`PassageDatabase::sqlite`] keeps passages.
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

impl PassageDatabase {
    /// Opens the SQLite database at a path, and creates it where there is none. Without an embedder it has no vectors.
    ///
    /// The database holds nothing else, and only the user who created it can read it.
    ///
    /// * Nothing of the words is in memory.
    /// * The vector of a question is compared with all of its owner, so it misses none. Those of the owners who asked last are in memory.
    /// * A search takes place on a thread of its own, and does not wait for changes.
    ///
    /// # Errors
    /// * [`ErrorKind::Conflict`] for a database that was made with another embedder or other words, with both.
    /// * [`ErrorKind::Invalid`] for options that are not possible.
    /// * [`ErrorKind::Store`] for a path that cannot be opened, [`ErrorKind::Corrupt`] for a file that is not a SQLite database,
    ///   [`ErrorKind::Unsupported`] for a database of a newer version or with other contents.
    ///
    /// [`PassageDatabase`] has an example.
    pub async fn sqlite(
        path: impl AsRef<Path>,
        options: SqlitePassageOptions,
        embedder: Option<Arc<dyn Embedder>>,
    ) -> Result<Self> {
        let settings = Settings::of(options.words, embedder.as_deref(), options.vectors)?;
        let tables = SqliteTables::open(path.as_ref(), options.durability, settings.clone()).await?;
        Ok(Self::new(tables, settings, embedder))
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
            return Err(no_vectors());
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
