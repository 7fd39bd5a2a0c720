//! A retriever that finds notes by their words.

use alloquy_core::media::Digest;
use alloquy_core::{Owner, Result};
use alloquy_retrieval::{Found, Lookup, Retriever};
use async_trait::async_trait;

use crate::notes::{Notes, version_of};
use crate::passages::by_words;

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
        Ok(Found::new(by_words(owner, &notes, lookup).await?, version_of(&notes)))
    }
}
