//! Recalls the notes that fit a question.

use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::sync::Arc;

use alloquy_core::{NodeId, Result};
use alloquy_retrieval::{Lookup, Retriever};
use async_trait::async_trait;

use crate::fusion::{Ranking, fused, must_be_a_weight};
use crate::note::StoredNote;
use crate::note_words::NoteWords;
use crate::notes::Notes;
use crate::recall::{FailedRecall, Recall, RecallRequest, Recalled};

/// Recalls the notes that fit the question: those that share words with it, or that another retriever finds.
///
/// With several retrievers it joins their results by rank. A retriever over notes gives its passages the ids of their notes, as
/// [`NoteWords`] and [`NoteVectors`](crate::NoteVectors) do. Passages that are no notes of the owner any more are ignored.
///
/// ```
/// use std::sync::Arc;
///
/// use alloquy_core::store::MemoryStore;
/// use alloquy_core::{Message, Owner};
/// use alloquy_memory::{Cue, Note, Notes, Recall, RecallRequest, Remember};
///
/// # pollster::block_on(async {
/// let notes = Notes::new(Arc::new(MemoryStore::default()));
/// let owner = Owner::local();
/// for text in ["Ann lives in Oslo.", "Ann drinks tea."] {
///     notes.remember(&owner, Note::new(text)).await?;
/// }
/// let path = [Message::user("Which tea do I like?")];
/// let recalled = Cue::new(notes).recall(RecallRequest::new(&owner, &path)).await?;
/// assert_eq!((recalled.notes[0].note.text.as_str(), recalled.of), ("Ann drinks tea.", 1));
/// # Ok::<(), alloquy_core::Error>(())
/// # }).unwrap();
/// ```
#[derive(Clone, Debug)]
pub struct Cue {
    notes: Notes,
    retrievers: Vec<(Arc<dyn Retriever>, f64)>,
}

impl Cue {
    /// Creates a recall of notes by their words.
    pub fn new(notes: Notes) -> Self {
        let words: Arc<dyn Retriever> = Arc::new(NoteWords::new(notes.clone()));
        Self { notes, retrievers: vec![(words, 1.0)] }
    }

    /// Creates a recall by one retriever alone.
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use alloquy_core::store::MemoryStore;
    /// use alloquy_memory::{Cue, NoteWords, Notes};
    ///
    /// let notes = Notes::new(Arc::new(MemoryStore::default()));
    /// let same = Cue::by(notes.clone(), NoteWords::new(notes));
    /// ```
    pub fn by(notes: Notes, retriever: impl Retriever + 'static) -> Self {
        Self { notes, retrievers: vec![(Arc::new(retriever), 1.0)] }
    }

    /// Adds a retriever, which counts as much as the words.
    #[must_use]
    pub fn retriever(mut self, retriever: impl Retriever + 'static) -> Self {
        self.retrievers.push((Arc::new(retriever), 1.0));
        self
    }

    /// Adds a retriever that counts more or less than the words, whose weight is 1.
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use alloquy_core::store::MemoryStore;
    /// use alloquy_memory::{Cue, NoteWords, Notes};
    ///
    /// let notes = Notes::new(Arc::new(MemoryStore::default()));
    /// let cue = Cue::new(notes.clone()).weighted(NoteWords::new(notes.clone()), 0.3)?;
    /// assert!(cue.weighted(NoteWords::new(notes), -1.0).is_err());
    /// # Ok::<(), alloquy_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`](alloquy_core::ErrorKind::Invalid) for a weight that is not a finite number above 0.
    pub fn weighted(mut self, retriever: impl Retriever + 'static, weight: f64) -> Result<Self> {
        must_be_a_weight(retriever.name(), weight)?;
        self.retrievers.push((Arc::new(retriever), weight));
        Ok(self)
    }
}

#[async_trait]
impl Recall for Cue {
    fn name(&self) -> &str {
        "cue"
    }

    async fn recall(&self, request: RecallRequest<'_>) -> Result<Recalled> {
        let text = request.text();
        let notes = self.notes.list(request.owner).await?;
        let mut recalled = Recalled::default();
        let Some(count) = NonZeroUsize::new(notes.len()).filter(|_| !text.trim().is_empty()) else {
            return Ok(recalled);
        };
        // All that match are found, so that the number of those beyond the limit is known.
        let lookup = Lookup::new(text).limit(count.get());
        let mut by_id: HashMap<NodeId, StoredNote> = notes.into_iter().map(|note| (note.id, note)).collect();
        let mut rankings = Vec::with_capacity(self.retrievers.len());
        for (retriever, weight) in &self.retrievers {
            let found = retriever.find(request.owner, &lookup).await?;
            for failed in found.failed {
                recalled.failed.push(FailedRecall { name: failed.name, reason: failed.error });
            }
            // An index may be older than the notes: what is no note of this owner is not recalled.
            let ids = found.passages.iter().filter_map(|passage| passage.id.parse::<NodeId>().ok());
            let notes = ids.filter(|id| by_id.contains_key(id)).collect();
            rankings.push(Ranking { notes, weight: *weight });
        }
        let ranked = fused(rankings);
        recalled.of = ranked.len();
        recalled.notes = ranked.iter().take(request.limit).filter_map(|id| by_id.remove(id)).collect();
        Ok(recalled)
    }
}
