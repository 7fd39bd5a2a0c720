//! A retriever that finds notes by vectors of their texts.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use alloquy_core::media::Digest;
use alloquy_core::{Error, ErrorKind, NodeId, Owner, Result};
use alloquy_retrieval::{Embedder, Found, Lookup, Retriever, TextKind};
use async_trait::async_trait;

use crate::note::StoredNote;
use crate::notes::{Notes, version_of};
use crate::passages::{passage, selected};

/// How many owners' vectors are kept. Those of more owners are computed again.
const OWNERS: usize = 256;

/// The vectors of the notes of one owner.
type Vectors = HashMap<NodeId, Arc<[f32]>>;

/// Finds notes whose meaning is near that of a text, by the vectors of an [`Embedder`]. A passage has the id of its note, and its
/// score is the cosine.
///
/// The vector of a note is computed once and kept in memory. Nothing is stored: vectors can be computed again.
///
/// ```
/// use std::sync::Arc;
///
/// use alloquy_core::store::MemoryStore;
/// use alloquy_memory::{Cue, NoteVectors, Notes};
/// use alloquy_retrieval::Embedder;
///
/// /// Searches by words and by meaning.
/// fn hybrid(notes: Notes, embedder: Arc<dyn Embedder>) -> Cue {
///     Cue::new(notes.clone()).retriever(NoteVectors::new(notes, embedder).min_score(0.3))
/// }
/// ```
#[derive(Debug)]
pub struct NoteVectors {
    notes: Notes,
    embedder: Arc<dyn Embedder>,
    min_score: Option<f64>,
    known: Mutex<HashMap<Owner, Vectors>>,
}

impl NoteVectors {
    /// Creates a retriever over notes.
    pub fn new(notes: Notes, embedder: Arc<dyn Embedder>) -> Self {
        Self { notes, embedder, min_score: None, known: Mutex::default() }
    }

    /// Sets the lowest cosine of a note that is found. Without it every note is found, however far its meaning is.
    #[must_use]
    pub fn min_score(mut self, cosine: f64) -> Self {
        self.min_score = Some(cosine);
        self
    }

    /// Returns the vectors of notes, in their order.
    async fn vectors(&self, owner: &Owner, notes: &[StoredNote]) -> Result<Vec<Arc<[f32]>>> {
        let mut vectors = self.lock().get(owner).cloned().unwrap_or_default();
        let missing: Vec<&StoredNote> = notes.iter().filter(|note| !vectors.contains_key(&note.id)).collect();
        if !missing.is_empty() {
            let texts: Vec<&str> = missing.iter().map(|note| note.note.text.as_str()).collect();
            let computed = self.embed(&texts, TextKind::Passage).await?;
            for (note, vector) in missing.iter().zip(computed) {
                vectors.insert(note.id, vector.into());
            }
        }
        let mut ordered = Vec::with_capacity(notes.len());
        let mut kept = Vectors::new();
        for note in notes {
            if let Some(vector) = vectors.get(&note.id) {
                ordered.push(Arc::clone(vector));
                kept.insert(note.id, Arc::clone(vector));
            }
        }
        let mut known = self.lock();
        if known.len() >= OWNERS && !known.contains_key(owner) {
            known.clear();
        }
        // Vectors of notes that were forgotten are dropped here.
        known.insert(owner.clone(), kept);
        Ok(ordered)
    }

    async fn embed(&self, texts: &[&str], kind: TextKind) -> Result<Vec<Vec<f32>>> {
        let vectors = self.embedder.embed(texts, kind).await?.vectors;
        let dimensions = self.embedder.dimensions();
        let is_whole =
            vectors.len() == texts.len() && vectors.iter().all(|vector| vector.len() == dimensions);
        if !is_whole {
            let message = format!(
                "the embedder returned {} vectors for {} notes, or some without {dimensions} numbers",
                vectors.len(),
                texts.len()
            );
            return Err(Error::new(ErrorKind::Backend, message));
        }
        Ok(vectors)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Owner, Vectors>> {
        // Every entry is complete, even if a thread panicked with the lock.
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Retriever for NoteVectors {
    fn name(&self) -> &str {
        "note_vectors"
    }

    async fn version(&self, owner: &Owner) -> Result<Digest> {
        Ok(self.version_with(&self.notes.list(owner).await?))
    }

    async fn find(&self, owner: &Owner, lookup: &Lookup) -> Result<Found> {
        let notes = self.notes.list(owner).await?;
        let version = self.version_with(&notes);
        if lookup.text.trim().is_empty() || notes.is_empty() {
            return Ok(Found::new(Vec::new(), version));
        }
        let vectors = self.vectors(owner, &notes).await?;
        let question = self.embed(&[&lookup.text], TextKind::Query).await?.pop().unwrap_or_default();
        let mut passages = Vec::with_capacity(notes.len());
        for (note, vector) in notes.iter().zip(&vectors) {
            let cosine = dot(&question, vector);
            if self.min_score.is_none_or(|least| cosine >= least) {
                passages.push(passage(note, cosine));
            }
        }
        Ok(Found::new(selected(passages, lookup), version))
    }
}

impl NoteVectors {
    fn version_with(&self, notes: &[StoredNote]) -> Digest {
        let parts = format!("{} {} {:?}", version_of(notes), self.embedder.digest(), self.min_score);
        Digest::of(parts.as_bytes())
    }
}

/// Returns the cosine of two vectors of length 1.
fn dot(left: &[f32], right: &[f32]) -> f64 {
    left.iter().zip(right).map(|(left, right)| f64::from(*left) * f64::from(*right)).sum()
}
