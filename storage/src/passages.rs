//! Passages in a database: what all databases share.

pub(crate) mod blocks;
pub(crate) mod change;
pub(crate) mod scores;
pub(crate) mod settings;
pub(crate) mod tables;

use std::collections::HashSet;
use std::sync::Arc;

use alloquy_core::media::Digest;
use alloquy_core::{Error, ErrorKind, Owner, Result};
use alloquy_retrieval::{
    Embedder, Found, Hybrid, Lookup, Passage, Retriever, Vectors, embed_passages, embed_query,
};
use async_trait::async_trait;

use self::change::{Change, PassageReport, PreparedPassage, Removal};
use self::scores::Question;
use self::settings::Settings;
use self::tables::Tables;

/// How many passages a transaction adds. Larger ones keep others waiting for longer.
const BATCH: usize = 2_048;

/// Passages in the tables of a database.
#[derive(Debug)]
pub(crate) struct Passages<T> {
    pub(crate) tables: T,
    settings: Settings,
    embedder: Option<Arc<dyn Embedder>>,
}

impl<T: Tables> Passages<T> {
    pub(crate) fn new(tables: T, settings: Settings, embedder: Option<Arc<dyn Embedder>>) -> Arc<Self> {
        Arc::new(Self { tables, settings, embedder })
    }

    pub(crate) async fn add(&self, owner: &Owner, passages: Vec<Passage>) -> Result<PassageReport> {
        self.update(owner, passages, Removal::Nothing).await
    }

    pub(crate) async fn replace(
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
        let kept = ids(&passages);
        let source = Some(source.to_owned());
        self.update(owner, passages, Removal::Others { source, kept }).await
    }

    pub(crate) async fn sync(&self, owner: &Owner, passages: Vec<Passage>) -> Result<PassageReport> {
        let kept = ids(&passages);
        self.update(owner, passages, Removal::Others { source: None, kept }).await
    }

    pub(crate) async fn remove(&self, owner: &Owner, ids: &[&str]) -> Result<usize> {
        let ids = ids.iter().map(|&id| id.to_owned()).collect();
        let change = Change { added: Vec::new(), removal: Removal::Ids(ids) };
        Ok(self.tables.change(owner, change).await?.removed)
    }

    pub(crate) async fn add_vectors(
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
            let change = Change { added, removal: Removal::Nothing };
            if !change.is_empty() {
                report.added += self.tables.change(owner, change).await?.added;
            }
            report.kept += kept;
        }
        Ok(report)
    }

    pub(crate) async fn len(&self, owner: &Owner) -> Result<usize> {
        let passages = self.tables.state(owner).await?.passages;
        Ok(usize::try_from(passages).unwrap_or(usize::MAX))
    }

    pub(crate) async fn nearest(&self, owner: &Owner, vector: &[f32], lookup: &Lookup) -> Result<Found> {
        self.check_vector(vector)?;
        let hits = self.tables.by_vector(owner, vector.to_vec(), lookup.clone()).await?;
        Ok(Found::new(hits.passages, self.version_of_vectors(hits.version)))
    }

    pub(crate) fn words(self: &Arc<Self>) -> Arc<dyn Retriever> {
        Arc::new(ByWords { passages: self.clone() })
    }

    pub(crate) fn vectors(self: &Arc<Self>) -> Result<Arc<dyn Retriever>> {
        let embedder = self.embedder.clone().ok_or_else(no_vectors)?;
        Ok(Arc::new(ByVectors { passages: self.clone(), embedder }))
    }

    pub(crate) fn hybrid(self: &Arc<Self>) -> Arc<dyn Retriever> {
        match self.vectors() {
            Ok(vectors) => {
                let hybrid = Hybrid::default().retriever(Hybrid::WORDS, self.words());
                Arc::new(hybrid.retriever(Hybrid::VECTORS, vectors))
            }
            Err(_) => self.words(),
        }
    }

    /// Adds passages in batches. The last one also removes others, so that a change of a few passages is one transaction.
    async fn update(&self, owner: &Owner, passages: Vec<Passage>, removal: Removal) -> Result<PassageReport> {
        let mut report = PassageReport::default();
        let mut batches = batches(passages);
        let last = batches.pop().unwrap_or_default();
        for batch in batches {
            self.write(owner, &batch, Removal::Nothing, &mut report).await?;
        }
        self.write(owner, &last, removal, &mut report).await?;
        Ok(report)
    }

    async fn write(
        &self,
        owner: &Owner,
        passages: &[Passage],
        removal: Removal,
        report: &mut PassageReport,
    ) -> Result<()> {
        let prepared = passages.iter().map(|passage| self.prepared(passage));
        let (mut added, kept) = self.new_ones(owner, prepared.collect::<Result<_>>()?).await?;
        let cut = self.embed(&mut added, passages).await?;
        let change = Change { added, removal };
        if !change.is_empty() {
            let changed = self.tables.change(owner, change).await?;
            report.added += changed.added;
            report.removed += changed.removed;
        }
        report.kept += kept;
        report.cut.extend(cut);
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
        let names = passages.iter().map(|passage| (passage.id.clone(), passage.digest)).collect();
        let known = self.tables.known(owner, names).await?;
        let mut seen = HashSet::new();
        let mut new = Vec::new();
        // Of those with one id the last one is stored.
        for passage in passages.into_iter().rev() {
            if seen.insert(passage.id.clone()) && !known.contains(&passage.id) {
                new.push(passage);
            }
        }
        new.reverse();
        let kept = seen.len() - new.len();
        Ok((new, kept))
    }

    /// Computes the vectors of new passages, and returns the ids of those that were cut.
    async fn embed(&self, new: &mut [PreparedPassage], passages: &[Passage]) -> Result<Vec<String>> {
        let Some(embedder) = &self.embedder else { return Ok(Vec::new()) };
        let mut wanted = Vec::new();
        for prepared in new.iter() {
            // The last one with an id is the one that is stored.
            wanted.extend(passages.iter().rfind(|passage| passage.id == prepared.id).cloned());
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

fn ids(passages: &[Passage]) -> HashSet<String> {
    passages.iter().map(|passage| passage.id.clone()).collect()
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

fn no_vectors() -> Error {
    let message =
        "the passages have no vectors: open a database of its own with an embedder, or search by words";
    Error::new(ErrorKind::Unsupported, message)
}

/// Finds passages by words.
#[derive(Debug)]
struct ByWords<T> {
    passages: Arc<Passages<T>>,
}

#[async_trait]
impl<T: Tables> Retriever for ByWords<T> {
    fn name(&self) -> &str {
        "words"
    }

    async fn version(&self, owner: &Owner) -> Result<Digest> {
        let state = self.passages.tables.state(owner).await?;
        Ok(self.passages.settings.version_of_words(state.version))
    }

    async fn find(&self, owner: &Owner, lookup: &Lookup) -> Result<Found> {
        let question = Question::new(self.passages.settings.words, &lookup.text);
        if question.words.is_empty() {
            return Ok(Found::new(Vec::new(), self.version(owner).await?));
        }
        let hits = self.passages.tables.by_words(owner, question, lookup.clone()).await?;
        Ok(Found::new(hits.passages, self.passages.settings.version_of_words(hits.version)))
    }
}

/// Finds passages by vectors.
#[derive(Debug)]
struct ByVectors<T> {
    passages: Arc<Passages<T>>,
    embedder: Arc<dyn Embedder>,
}

#[async_trait]
impl<T: Tables> Retriever for ByVectors<T> {
    fn name(&self) -> &str {
        "vectors"
    }

    async fn version(&self, owner: &Owner) -> Result<Digest> {
        let state = self.passages.tables.state(owner).await?;
        Ok(self.passages.version_of_vectors(state.version))
    }

    async fn find(&self, owner: &Owner, lookup: &Lookup) -> Result<Found> {
        if lookup.text.trim().is_empty() {
            return Ok(Found::new(Vec::new(), self.version(owner).await?));
        }
        let vector = embed_query(&*self.embedder, &lookup.text).await?;
        self.passages.nearest(owner, &vector, lookup).await
    }
}
