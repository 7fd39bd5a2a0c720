//! Keeps passages in a database, and finds them.

pub(crate) mod blocks;
pub(crate) mod change;
pub(crate) mod scores;
pub(crate) mod settings;
pub(crate) mod tables;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use alloquy_core::media::Digest;
use alloquy_core::{Error, ErrorKind, Owner, Result};
use alloquy_retrieval::{
    Embedder, Found, Hybrid, Lookup, Passage, Retriever, Vectors, embed_passages, embed_query,
};
use async_trait::async_trait;

use self::change::{Change, PassageReport, PreparedPassage, Removal};
use self::scores::Question;
use self::settings::{Settings, no_vectors};
use self::tables::Tables;

/// How many passages a transaction adds. Larger ones keep others waiting for longer.
const BATCH: usize = 2_048;

/// Keeps passages in a database, and finds them by words and by vectors.
///
/// `PassageDatabase::sqlite` opens one for the processes of one machine, `PassageDatabase::postgres` one for several machines. Any number
/// of them may add and search at once. Each owner has passages of its own: neither what is found by words nor its scores depend on those
/// of others. Words have the scores of a [`WordIndex`](alloquy_retrieval::WordIndex), to the last digit.
///
/// ```
/// use std::sync::Arc;
///
/// use alloquy_core::Owner;
/// use alloquy_retrieval::{Lookup, NgramEmbedder, Passage};
/// use alloquy_storage::{PassageDatabase, SqlitePassageOptions};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("passages.db");
/// # pollster::block_on(async {
/// let embedder = Arc::new(NgramEmbedder::default());
/// let passages = PassageDatabase::sqlite(&path, SqlitePassageOptions::default(), Some(embedder)).await?;
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
pub struct PassageDatabase {
    tables: Arc<dyn Tables>,
    settings: Arc<Settings>,
    embedder: Option<Arc<dyn Embedder>>,
}

impl PassageDatabase {
    pub(crate) fn new(tables: impl Tables, settings: Settings, embedder: Option<Arc<dyn Embedder>>) -> Self {
        Self { tables: Arc::new(tables), settings: Arc::new(settings), embedder }
    }

    /// Adds passages of an owner. One with the id of another replaces it. One that is there already stays, with its vector.
    ///
    /// Each 2,048 passages are one transaction. After an error those before it stay, and the same call again continues.
    ///
    /// # Errors
    /// Those of the embedder and of the database. [`ErrorKind::Invalid`] for a passage that is too large or whose metadata is nested too
    /// deeply.
    pub async fn add(&self, owner: &Owner, passages: Vec<Passage>) -> Result<PassageReport> {
        self.update(owner, passages, Removal::Nothing).await
    }

    /// Makes these the only passages of a document: adds them as [`add`](Self::add) does, and removes all others with this
    /// [source](Passage::source).
    ///
    /// # Errors
    /// As [`add`](Self::add), and [`ErrorKind::Invalid`] for a passage with another source, [`ErrorKind::Conflict`] if another call has
    /// changed some of these passages meanwhile: the same call again completes it.
    ///
    /// ```
    /// use alloquy_core::Owner;
    /// use alloquy_retrieval::{Chunker, Document};
    /// use alloquy_storage::{PassageDatabase, SqlitePassageOptions};
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("passages.db");
    /// # pollster::block_on(async {
    /// let passages = PassageDatabase::sqlite(&path, SqlitePassageOptions::default(), None).await?;
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
        if let Some(other) = passages.iter().find(|passage| passage.source.as_deref() != Some(source)) {
            let message = format!(
                "passage {:?} has the source {:?}, not {source:?}: replace the passages of one document at a time",
                other.id, other.source
            );
            return Err(Error::new(ErrorKind::Invalid, message));
        }
        let source = Some(source.to_owned());
        self.update(owner, passages, Removal::Others { source }).await
    }

    /// Makes these the only passages of an owner: adds them as [`add`](Self::add) does, and removes all others.
    ///
    /// # Errors
    /// As [`add`](Self::add), and [`ErrorKind::Conflict`] as for [`replace`](Self::replace).
    pub async fn sync(&self, owner: &Owner, passages: Vec<Passage>) -> Result<PassageReport> {
        self.update(owner, passages, Removal::Others { source: None }).await
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
        let mut prepared = Vec::new();
        for (passage, vector) in passages {
            self.check_vector(&vector).map_err(|error| of_passage(error, &passage.id))?;
            let stored = self.prepared(&passage)?;
            prepared.push(stored.with_vector(vector));
        }
        let mut report = PassageReport::default();
        for batch in batches(prepared) {
            let (added, kept) = self.new_ones(owner, batch).await?;
            let change = Change { added, kept: Vec::new(), removal: Removal::Nothing };
            if !change.is_empty() {
                report.added += self.tables.change(owner, change).await?.added;
            }
            report.kept += kept;
        }
        Ok(report)
    }

    /// Removes passages of an owner, and returns how many there were.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn remove(&self, owner: &Owner, ids: &[&str]) -> Result<usize> {
        let ids = ids.iter().map(|&id| id.to_owned()).collect();
        let change = Change { added: Vec::new(), kept: Vec::new(), removal: Removal::Ids(ids) };
        Ok(self.tables.change(owner, change).await?.removed)
    }

    /// Returns how many passages an owner has.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn len(&self, owner: &Owner) -> Result<usize> {
        let passages = self.tables.state(owner).await?.passages;
        Ok(usize::try_from(passages).unwrap_or(usize::MAX))
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
    /// Those of the database, and [`ErrorKind::Invalid`] for a vector of another length, or with a number that is not finite;
    /// [`ErrorKind::Unsupported`] for a database without vectors.
    pub async fn nearest(&self, owner: &Owner, vector: &[f32], lookup: &Lookup) -> Result<Found> {
        self.check_vector(vector)?;
        let hits = self.tables.by_vector(owner, vector.to_vec(), lookup.clone()).await?;
        Ok(Found::new(hits.passages, self.version_of_vectors(hits.version)))
    }

    /// Returns the retriever by words, `words`.
    pub fn words(&self) -> Arc<dyn Retriever> {
        Arc::new(ByWords { database: self.clone() })
    }

    /// Returns the retriever by vectors, `vectors`.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`] for a database without vectors.
    pub fn vectors(&self) -> Result<Arc<dyn Retriever>> {
        let embedder = self.embedder.clone().ok_or_else(no_vectors)?;
        Ok(Arc::new(ByVectors { database: self.clone(), embedder }))
    }

    /// Returns the retriever by words and vectors with their usual weights; without an embedder, that by words.
    pub fn hybrid(&self) -> Arc<dyn Retriever> {
        match self.vectors() {
            Ok(vectors) => {
                let hybrid = Hybrid::default().retriever(Hybrid::WORDS, self.words());
                Arc::new(hybrid.retriever(Hybrid::VECTORS, vectors))
            }
            Err(_) => self.words(),
        }
    }

    /// Waits until the accepted calls are done, and closes the file or the connections. Later calls fail.
    pub async fn close(&self) {
        self.tables.close().await;
    }

    /// Adds passages in batches. The last one also removes others, so that a change of a few passages is one transaction.
    async fn update(&self, owner: &Owner, passages: Vec<Passage>, removal: Removal) -> Result<PassageReport> {
        let mut update = Update::default();
        let mut batches = batches(passages);
        let last = batches.pop().unwrap_or_default();
        for batch in batches {
            self.write(owner, &batch, Removal::Nothing, &mut update).await?;
        }
        self.write(owner, &last, removal, &mut update).await?;
        Ok(update.report)
    }

    async fn write(
        &self,
        owner: &Owner,
        passages: &[Passage],
        removal: Removal,
        update: &mut Update,
    ) -> Result<()> {
        let prepared = passages.iter().map(|passage| self.prepared(passage));
        let prepared: Vec<PreparedPassage> = prepared.collect::<Result<_>>()?;
        update.stored.extend(prepared.iter().map(|passage| (passage.id.clone(), passage.digest)));
        let (mut added, kept) = self.new_ones(owner, prepared).await?;
        let cut = self.embed(&mut added, passages).await?;
        let mut change = Change { added, kept: Vec::new(), removal };
        if matches!(change.removal, Removal::Others { .. }) {
            change.kept = update.kept_beside(&change.added);
        }
        if !change.is_empty() {
            let changed = self.tables.change(owner, change).await?;
            update.report.added += changed.added;
            update.report.removed += changed.removed;
        }
        update.report.kept += kept;
        update.report.cut.extend(cut);
        Ok(())
    }

    fn prepared(&self, passage: &Passage) -> Result<PreparedPassage> {
        let prepared = PreparedPassage::new(&self.settings.words, passage);
        prepared.map_err(|failure| of_passage(failure.into(), &passage.id))
    }

    /// Returns the passages that are not stored as they are, each id once, and how many are.
    async fn new_ones(
        &self,
        owner: &Owner,
        passages: Vec<PreparedPassage>,
    ) -> Result<(Vec<PreparedPassage>, usize)> {
        let mut seen = HashSet::new();
        let mut new = Vec::new();
        // Of those with one id the last one is stored.
        for passage in passages.into_iter().rev() {
            if seen.insert(passage.id.clone()) {
                new.push(passage);
            }
        }
        new.reverse();
        let names = new.iter().map(|passage| (passage.id.clone(), passage.digest)).collect();
        let known = self.tables.known(owner, names).await?;
        new.retain(|passage| !known.contains(&passage.id));
        Ok((new, known.len()))
    }

    /// Computes the vectors of new passages, and returns the ids of those that were cut.
    async fn embed(&self, new: &mut [PreparedPassage], passages: &[Passage]) -> Result<Vec<String>> {
        let Some(embedder) = &self.embedder else { return Ok(Vec::new()) };
        // The last one with an id is the one that is stored.
        let by_id: HashMap<&str, &Passage> =
            passages.iter().map(|passage| (passage.id.as_str(), passage)).collect();
        let mut wanted = Vec::new();
        for prepared in new.iter() {
            wanted.extend(by_id.get(prepared.id.as_str()).map(|&passage| passage.clone()));
        }
        let embeddings = embed_passages(&**embedder, &wanted).await?;
        for (prepared, vector) in new.iter_mut().zip(embeddings.vectors) {
            self.check_vector(&vector).map_err(|error| of_passage(error, &prepared.id))?;
            prepared.vector = Some(vector);
        }
        let cut = embeddings.cut.into_iter().filter_map(|index| wanted.get(index));
        Ok(cut.map(|passage| passage.id.clone()).collect())
    }

    fn check_vector(&self, vector: &[f32]) -> Result<()> {
        let settings = self.settings.vectors.as_ref().ok_or_else(no_vectors)?;
        Vectors::new(settings.dimensions, settings.format)?.push(vector)
    }

    fn version_of_vectors(&self, passages: Digest) -> Digest {
        self.settings.version_of_vectors(passages, &self.tables.vector_search())
    }
}

/// What a call has stored so far.
#[derive(Debug, Default)]
struct Update {
    report: PassageReport,
    /// The digests of its passages by their ids, in all of its batches.
    stored: HashMap<String, Digest>,
}

impl Update {
    /// Returns the passages of the call that its last change does not add.
    fn kept_beside(&self, added: &[PreparedPassage]) -> Vec<(String, Digest)> {
        let added: HashSet<&str> = added.iter().map(|passage| passage.id.as_str()).collect();
        let kept = self.stored.iter().filter(|(id, _)| !added.contains(id.as_str()));
        kept.map(|(id, digest)| (id.clone(), *digest)).collect()
    }
}

fn batches<P>(items: Vec<P>) -> Vec<Vec<P>> {
    let mut batches = Vec::new();
    let mut batch = Vec::new();
    for item in items {
        batch.push(item);
        if batch.len() == BATCH {
            batches.push(std::mem::take(&mut batch));
        }
    }
    if !batch.is_empty() {
        batches.push(batch);
    }
    batches
}

fn of_passage(error: Error, id: &str) -> Error {
    error.context(format!("passage {id:?}"))
}

/// Finds passages by words.
#[derive(Debug)]
struct ByWords {
    database: PassageDatabase,
}

#[async_trait]
impl Retriever for ByWords {
    fn name(&self) -> &str {
        "words"
    }

    async fn version(&self, owner: &Owner) -> Result<Digest> {
        let state = self.database.tables.state(owner).await?;
        Ok(self.database.settings.version_of_words(state.version))
    }

    async fn find(&self, owner: &Owner, lookup: &Lookup) -> Result<Found> {
        let question = Question::new(self.database.settings.words, &lookup.text);
        if question.words.is_empty() {
            return Ok(Found::new(Vec::new(), self.version(owner).await?));
        }
        let hits = self.database.tables.by_words(owner, question, lookup.clone()).await?;
        Ok(Found::new(hits.passages, self.database.settings.version_of_words(hits.version)))
    }
}

/// Finds passages by vectors.
#[derive(Debug)]
struct ByVectors {
    database: PassageDatabase,
    embedder: Arc<dyn Embedder>,
}

#[async_trait]
impl Retriever for ByVectors {
    fn name(&self) -> &str {
        "vectors"
    }

    async fn version(&self, owner: &Owner) -> Result<Digest> {
        let state = self.database.tables.state(owner).await?;
        Ok(self.database.version_of_vectors(state.version))
    }

    async fn find(&self, owner: &Owner, lookup: &Lookup) -> Result<Found> {
        if lookup.text.trim().is_empty() {
            return Ok(Found::new(Vec::new(), self.version(owner).await?));
        }
        let vector = embed_query(&*self.embedder, &lookup.text).await?;
        self.database.nearest(owner, &vector, lookup).await
    }
}
