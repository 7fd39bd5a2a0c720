//! A retriever that finds notes by their words.

use alloquy_core::media::Digest;
use alloquy_core::{Owner, Result};
use alloquy_retrieval::{Found, Lookup, Passage, Retriever};
use async_trait::async_trait;

use crate::note::StoredNote;
use crate::notes::{Notes, version_of};
use crate::words::by_words;

/// Finds notes by the words that they share with a text. A passage has the id of its note.
///
/// The notes are read with each search, so a note is found as soon as it is stored, and no longer once it is forgotten.
///
/// ```
/// use std::sync::Arc;
///
/// use alloquy_core::Owner;
/// use alloquy_core::store::MemoryStore;
/// use alloquy_memory::{Note, NoteWords, Notes, Remember};
/// use alloquy_retrieval::{Lookup, Retriever};
///
/// # pollster::block_on(async {
/// let notes = Notes::new(Arc::new(MemoryStore::default()));
/// let owner = Owner::local();
/// let id = notes.remember(&owner, Note::new("Ann lives in Oslo.")).await?;
/// let found = NoteWords::new(notes).find(&owner, &Lookup::new("Oslo?")).await?;
/// assert_eq!(found.passages[0].id, id.to_string());
/// # Ok::<(), alloquy_core::Error>(())
/// # }).unwrap();
/// ```
#[derive(Clone, Debug)]
pub struct NoteWords {
    notes: Notes,
}

impl NoteWords {
    /// Creates a retriever over notes.
    pub fn new(notes: Notes) -> Self {
        Self { notes }
    }
}

#[async_trait]
impl Retriever for NoteWords {
    fn name(&self) -> &str {
        "note_words"
    }

    async fn version(&self, owner: &Owner) -> Result<Digest> {
        self.notes.version(owner).await
    }

    async fn find(&self, owner: &Owner, lookup: &Lookup) -> Result<Found> {
        let notes = self.notes.list(owner).await?;
        let mut passages = Vec::new();
        for scored in by_words(&lookup.text, &notes) {
            passages.push(passage(scored.note, scored.score));
        }
        Ok(Found::new(selected(passages, lookup), version_of(&notes)))
    }
}

/// Returns a note as a passage.
pub(crate) fn passage(note: &StoredNote, score: f64) -> Passage {
    let mut passage = Passage::new(note.id.to_string(), note.note.text.clone()).score(score);
    if let Some(source) = &note.note.source {
        passage.source = Some(source.conversation.as_str().to_owned());
        passage = passage.metadata("conversation", source.conversation.as_str());
        passage = passage.metadata("node", source.node.to_string());
    }
    passage
}

/// Returns the passages that a lookup selects, the best first.
pub(crate) fn selected(mut passages: Vec<Passage>, lookup: &Lookup) -> Vec<Passage> {
    passages.retain(|passage| {
        let is_good = lookup.min_score.is_none_or(|least| passage.score >= least);
        is_good && lookup.filters.iter().all(|filter| filter.holds(&passage.metadata))
    });
    passages.sort_by(|left, right| right.score.total_cmp(&left.score).then(left.id.cmp(&right.id)));
    passages.truncate(lookup.limit.get());
    passages
}
