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
use alloquy_retrieval::{Embedder, Lookup, VectorFormat, WordOptions};
use async_trait::async_trait;
use deadpool_postgres::{Pool, Transaction};

pub use self::vector_search::VectorSearch;

use self::pgvector::Pgvector;
use super::place::Place;
use super::transaction;
use crate::failure::Failure;
use crate::passages::PassageDatabase;
use crate::passages::change::{Change, Changed};
use crate::passages::scores::Question;
use crate::passages::settings::{Settings, no_vectors};
use crate::passages::tables::{Hits, State, Tables};
use crate::tasks::Tasks;

/// How [`PassageDatabase::postgres`] keeps passages.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct PostgresPassageOptions {
    /// How words count.
    pub words: WordOptions,
    /// How vectors are compared.
    pub search: VectorSearch,
}

impl PassageDatabase {
    /// Connects to the PostgreSQL database that a URL names, of version 13 or newer, and creates the tables where there are none. Without
    /// an embedder it has no vectors.
    ///
    /// The URL is that of [`PostgresStore::open`](crate::PostgresStore::open), and may be the same. The tables are in a schema of their
    /// own: that of the URL, with `_passages` at its end.
    ///
    /// * Changes of one owner take turns.
    /// * The full-text search of PostgreSQL is not used: its ranks know nothing of how rare a word is.
    /// * Vectors need the extension `pgvector`, which is created where the role may do so. They are compared exactly, or by its index HNSW.
    ///
    /// # Errors
    /// * [`ErrorKind::Conflict`] for passages that were stored with another embedder or other words, with both.
    /// * [`ErrorKind::Invalid`] for a URL of another form, and for options that are not possible.
    /// * [`ErrorKind::Store`] when the server cannot be reached or refuses.
    /// * [`ErrorKind::Unsupported`] for tables of a newer version or of another program, for a server that is too old, and for an embedder
    ///   where `pgvector` is not installed or must be created by an administrator.
    ///
    /// ```no_run
    /// use std::sync::Arc;
    ///
    /// use alloquy_core::Owner;
    /// use alloquy_retrieval::{Lookup, NgramEmbedder, Passage};
    /// use alloquy_storage::{PassageDatabase, PostgresPassageOptions, VectorSearch};
    ///
    /// # pollster::block_on(async {
    /// let mut options = PostgresPassageOptions::default();
    /// options.search = VectorSearch::Hnsw { candidates: 100 };
    /// let url = "postgres://alloquy:secret@db.example/chats";
    /// let passages = PassageDatabase::postgres(url, options, Some(Arc::new(NgramEmbedder::default()))).await?;
    /// let owner = Owner::local();
    /// passages.add(&owner, vec![Passage::new("1", "Tea is grown in Assam.")]).await?;
    /// let found = passages.hybrid().find(&owner, &Lookup::new("Where is tea grown?")).await?;
    /// println!("{}", found.passages[0].text);
    /// # Ok::<(), alloquy_core::Error>(())
    /// # })?;
    /// # Ok::<(), alloquy_core::Error>(())
    /// ```
    pub async fn postgres(
        url: &str,
        options: PostgresPassageOptions,
        embedder: Option<Arc<dyn Embedder>>,
    ) -> Result<Self> {
        options.search.check()?;
        // The extension stores numbers as they are.
        let settings = Settings::of(options.words, embedder.as_deref(), VectorFormat::F32)?;
        let tables = PostgresTables::open(url, options.search, settings.clone()).await?;
        Ok(Self::new(tables, settings, embedder))
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
                return Err(no_vectors().into());
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
