//! Finds passages by their vectors.

use std::sync::Arc;

use alloquy_core::media::Digest;
use alloquy_core::{Owner, Result};
use async_trait::async_trait;

use crate::embedding::{BATCH, embed_batch, embed_query};
use crate::owners::Owners;
use crate::table::PassageTable;
use crate::vectors::{VectorFormat, Vectors};
use crate::{Embedder, Found, Lookup, Passage, Retriever};

/// Finds the passages whose vectors are nearest to that of a text: those that mean the same in other words.
///
/// It compares all vectors, so it misses none. Scores are cosines, from -1 to 1: it always finds something, unless
/// [`Lookup::min_score`] is set. It is in memory. [`Index`](crate::Index) keeps one in files. Beyond a million passages use a database
/// that implements [`Retriever`].
///
/// ```
/// use std::sync::Arc;
///
/// use alloquy_core::Owner;
/// use alloquy_retrieval::{Lookup, NgramEmbedder, Passage, Retriever, VectorFormat, VectorIndex};
///
/// # pollster::block_on(async {
/// let index = VectorIndex::new(Arc::new(NgramEmbedder::default()), VectorFormat::F32)?;
/// let owner = Owner::local();
/// index.add(&owner, vec![Passage::new("1", "Where tea grows"), Passage::new("2", "Where coffee grows")]).await?;
/// let found = index.find(&owner, &Lookup::new("growing teas").limit(1)).await?;
/// assert_eq!(found.passages[0].id, "1");
/// # Ok::<(), alloquy_core::Error>(())
/// # }).unwrap();
/// ```
#[derive(Debug)]
pub struct VectorIndex {
    embedder: Arc<dyn Embedder>,
    format: VectorFormat,
    owners: Owners<Option<VectorTable>>,
}

impl VectorIndex {
    /// Creates an empty index.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`](alloquy_core::ErrorKind::Invalid) for an embedder whose vectors are empty or too long.
    pub fn new(embedder: Arc<dyn Embedder>, format: VectorFormat) -> Result<Self> {
        Vectors::new(embedder.dimensions(), format)?;
        Ok(Self { embedder, format, owners: Owners::default() })
    }

    /// Computes the vectors of passages and adds them. One with the id of another replaces it. It returns the ids of passages that
    /// are longer than the model reads: their ends have no effect.
    ///
    /// # Errors
    /// Those of the embedder; then some passages may have been added.
    pub async fn add(&self, owner: &Owner, passages: Vec<Passage>) -> Result<Vec<String>> {
        let mut cut = Vec::new();
        for batch in passages.chunks(BATCH) {
            let embeddings = embed_batch(&*self.embedder, batch).await?;
            let ids = embeddings.cut.iter().filter_map(|&index| batch.get(index));
            cut.extend(ids.map(|passage| passage.id.clone()));
            self.add_vectors(owner, batch.iter().cloned().zip(embeddings.vectors).collect())?;
        }
        Ok(cut)
    }

    /// Adds passages whose vectors are known.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`](alloquy_core::ErrorKind::Invalid) for a vector of another length, or with a number that is not finite; then no passage is added.
    pub fn add_vectors(&self, owner: &Owner, passages: Vec<(Passage, Vec<f32>)>) -> Result<()> {
        let dimensions = self.embedder.dimensions();
        let mut added = Vectors::new(dimensions, self.format)?;
        for (passage, vector) in &passages {
            added.push(vector).map_err(|error| error.context(format!("passage {:?}", passage.id)))?;
        }
        let empty = VectorTable {
            passages: PassageTable::default(),
            vectors: Vectors::new(dimensions, self.format)?,
        };
        self.owners.change(owner, |table| {
            let table = table.get_or_insert(empty);
            for (row, (passage, _)) in passages.into_iter().enumerate() {
                table.passages.remove(&passage.id);
                table.vectors.push_row(&added, row);
                table.passages.push(Arc::new(passage));
            }
            table.repack();
        });
        Ok(())
    }

    /// Removes passages of an owner, and returns how many there were.
    pub fn remove<'a>(&self, owner: &Owner, ids: impl IntoIterator<Item = &'a str>) -> usize {
        self.owners.change(owner, |table| {
            let Some(table) = table else { return 0 };
            let removed = ids.into_iter().filter_map(|id| table.passages.remove(id)).count();
            table.repack();
            removed
        })
    }

    /// Returns how many passages an owner has.
    pub fn len(&self, owner: &Owner) -> usize {
        self.owners.read(owner, |table| table.as_ref().map_or(0, |table| table.passages.len()))
    }

    /// Returns whether an owner has no passages.
    pub fn is_empty(&self, owner: &Owner) -> bool {
        self.len(owner) == 0
    }

    /// Finds the passages nearest to a vector; the text of the lookup is not read.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`](alloquy_core::ErrorKind::Invalid) for a vector of another length, or with a number that is not finite.
    pub fn nearest(&self, owner: &Owner, vector: &[f32], lookup: &Lookup) -> Result<Found> {
        self.owners.read(owner, |table| {
            let version = self.version_of(table.as_ref());
            let Some(table) = table else { return Ok(Found::new(Vec::new(), version)) };
            let similarities = table.vectors.similarities(vector)?;
            let scores = similarities.into_iter().map(f64::from).enumerate();
            Ok(Found::new(table.passages.best(lookup, scores), version))
        })
    }

    fn version_of(&self, table: Option<&VectorTable>) -> Digest {
        let mut bytes = format!("{:?}", self.format).into_bytes();
        bytes.extend(self.embedder.digest().as_bytes());
        let passages =
            table.map_or_else(|| PassageTable::default().digest(), |table| table.passages.digest());
        bytes.extend(passages.as_bytes());
        Digest::of(&bytes)
    }
}

#[async_trait]
impl Retriever for VectorIndex {
    fn name(&self) -> &str {
        "vectors"
    }

    async fn version(&self, owner: &Owner) -> Result<Digest> {
        Ok(self.owners.read(owner, |table| self.version_of(table.as_ref())))
    }

    async fn find(&self, owner: &Owner, lookup: &Lookup) -> Result<Found> {
        if lookup.text.trim().is_empty() || self.is_empty(owner) {
            return Ok(Found::new(Vec::new(), self.version(owner).await?));
        }
        let vector = embed_query(&*self.embedder, &lookup.text).await?;
        self.nearest(owner, &vector, lookup)
    }
}

/// The passages of an owner, and their vectors in the same rows.
#[derive(Debug)]
struct VectorTable {
    passages: PassageTable,
    vectors: Vectors,
}

impl VectorTable {
    /// Makes the table again without its empty rows, if they are many.
    fn repack(&mut self) {
        if !self.passages.is_sparse() {
            return;
        }
        let Ok(mut vectors) = Vectors::new(self.vectors.dimensions(), self.vectors.format()) else { return };
        let mut passages = PassageTable::default();
        for (row, passage) in self.passages.passages() {
            if vectors.push_row(&self.vectors, row) {
                passages.push(passage.clone());
            }
        }
        *self = Self { passages, vectors };
    }
}
