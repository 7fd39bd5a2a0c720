//! The laws of what remembers notes.

use alloquy_core::{Error, ErrorKind, Message, NodeId, Owner};
use futures::future::join_all;

use super::{must, stranger};
use crate::note::Note;
use crate::recall::{RecallRequest, Remember};

/// Runs every law. `notes` is empty, and recalls notes for a text with the same words.
///
/// ```
/// use std::sync::Arc;
///
/// use alloquy_core::Owner;
/// use alloquy_core::store::MemoryStore;
/// use alloquy_memory::{Notes, laws};
///
/// # pollster::block_on(async {
/// laws::remember::all(&Notes::new(Arc::new(MemoryStore::default())), &Owner::local()).await;
/// # });
/// ```
///
/// # Panics
/// When a law is broken.
pub async fn all(notes: &dyn Remember, owner: &Owner) {
    notes_are_recalled_until_they_are_forgotten(notes, owner).await;
    replacements_hide_what_they_replace(notes, owner).await;
    writers_lose_nothing(notes, owner).await;
    invalid_notes_are_refused(notes, owner).await;
    owners_are_separate(notes, owner).await;
}

/// The words that the notes of these laws share.
const WORDS: &str = "the teapot is on the shelf";

async fn remembered(notes: &dyn Remember, owner: &Owner, note: Note) -> NodeId {
    must(notes.remember(owner, note).await, "remembering a note")
}

async fn recalled(notes: &dyn Remember, owner: &Owner) -> Vec<NodeId> {
    let path = [Message::user(WORDS)];
    let request = RecallRequest::new(owner, &path).limit(usize::MAX);
    let recalled = must(notes.recall(request).await, "recalling notes");
    recalled.notes.iter().map(|note| note.id).collect()
}

async fn forgotten(notes: &dyn Remember, owner: &Owner, note: NodeId) {
    must(notes.forget(owner, note).await, "forgetting a note");
}

/// A note is recalled at once, and not after it is forgotten. Forgetting it again is `NotFound`.
///
/// [`all`] has an example.
///
/// # Panics
/// When the law is broken.
pub async fn notes_are_recalled_until_they_are_forgotten(notes: &dyn Remember, owner: &Owner) {
    let note = remembered(notes, owner, Note::new(WORDS)).await;
    assert!(recalled(notes, owner).await.contains(&note), "a note is not recalled after it was remembered");
    forgotten(notes, owner, note).await;
    assert!(!recalled(notes, owner).await.contains(&note), "a forgotten note is recalled");
    is_not_found(notes.forget(owner, note).await.err(), "forgetting a note again");
    let replacement = Note::new(WORDS).replacing(note);
    is_not_found(notes.remember(owner, replacement).await.err(), "replacing a forgotten note");
}

/// A replacement is recalled instead of what it replaces, and forgetting it forgets both.
///
/// [`all`] has an example.
///
/// # Panics
/// When the law is broken.
pub async fn replacements_hide_what_they_replace(notes: &dyn Remember, owner: &Owner) {
    let first = remembered(notes, owner, Note::new(WORDS)).await;
    let second = remembered(notes, owner, Note::new(WORDS).replacing(first)).await;
    let found = recalled(notes, owner).await;
    assert!(found.contains(&second), "a replacement is not recalled");
    assert!(!found.contains(&first), "a replaced note is recalled");
    forgotten(notes, owner, second).await;
    let found = recalled(notes, owner).await;
    assert!(!found.contains(&first), "a replaced note is recalled after its replacement is forgotten");
}

/// Notes of writers that work at once are all kept, also if they replace the same note.
///
/// [`all`] has an example.
///
/// # Panics
/// When the law is broken.
pub async fn writers_lose_nothing(notes: &dyn Remember, owner: &Owner) {
    let first = remembered(notes, owner, Note::new(WORDS)).await;
    let mut writers = Vec::new();
    for number in 0..8 {
        let note = Note::new(format!("{WORDS}, number {number}"));
        writers.push(remembered(notes, owner, if number < 2 { note.replacing(first) } else { note }));
    }
    let written = join_all(writers).await;
    let found = recalled(notes, owner).await;
    for note in &written {
        assert!(found.contains(note), "a note of a concurrent writer is lost");
    }
    for note in written {
        forgotten(notes, owner, note).await;
    }
    let left = recalled(notes, owner).await;
    assert!(!left.contains(&first), "a replaced note is recalled after both replacements are forgotten");
}

/// An empty note and one that is too long are `Invalid`.
///
/// [`all`] has an example.
///
/// # Panics
/// When the law is broken.
pub async fn invalid_notes_are_refused(notes: &dyn Remember, owner: &Owner) {
    for text in [String::new(), " \n".to_owned(), "a".repeat(Note::LONGEST + 1)] {
        let refused = notes.remember(owner, Note::new(text)).await.err().map(|error| error.kind());
        assert_eq!(refused, Some(ErrorKind::Invalid), "an invalid note was not refused as invalid");
    }
}

/// Another owner recalls none of the notes, and cannot replace or forget them.
///
/// [`all`] has an example.
///
/// # Panics
/// When the law is broken.
pub async fn owners_are_separate(notes: &dyn Remember, owner: &Owner) {
    let stranger = stranger();
    let note = remembered(notes, owner, Note::new(WORDS)).await;
    assert!(recalled(notes, &stranger).await.is_empty(), "notes of another owner were recalled");
    is_not_found(notes.forget(&stranger, note).await.err(), "forgetting a note of another owner");
    let replacement = Note::new(WORDS).replacing(note);
    is_not_found(notes.remember(&stranger, replacement).await.err(), "replacing a note of another owner");
    assert!(recalled(notes, owner).await.contains(&note), "another owner has changed a note");
    forgotten(notes, owner, note).await;
}

fn is_not_found(error: Option<Error>, what: &str) {
    let kind = error.map(|error| error.kind());
    assert_eq!(kind, Some(ErrorKind::NotFound), "{what} is not refused as not found");
}
