//! The laws of what recalls notes.

use std::collections::BTreeSet;

use alloquy_core::{Message, NodeId, Owner};

use super::{must, stranger};
use crate::note::StoredNote;
use crate::recall::{Recall, RecallRequest, Recalled};

/// Runs every law. `recall` finds at least two notes of `owner` for `question`, and no other owner has notes.
///
/// ```
/// use std::sync::Arc;
///
/// use alloquy_core::Owner;
/// use alloquy_core::store::MemoryStore;
/// use alloquy_memory::{Cue, Note, Notes, Remember, laws};
///
/// # pollster::block_on(async {
/// let notes = Notes::new(Arc::new(MemoryStore::default()));
/// for text in ["Ann lives in Oslo.", "Oslo is cold."] {
///     notes.remember(&Owner::local(), Note::new(text)).await?;
/// }
/// laws::recall::all(&Cue::new(notes), &Owner::local(), "What about Oslo?").await;
/// # Ok::<(), alloquy_core::Error>(())
/// # }).unwrap();
/// ```
///
/// # Panics
/// When a law is broken.
pub async fn all(recall: &dyn Recall, owner: &Owner, question: &str) {
    limits_hold(recall, owner, question).await;
    recalling_changes_nothing(recall, owner, question).await;
    owners_are_separate(recall, owner, question).await;
}

async fn recalled(recall: &dyn Recall, owner: &Owner, question: &str, limit: usize) -> Recalled {
    let path = [Message::user(question)];
    must(recall.recall(RecallRequest::new(owner, &path).limit(limit)).await, "recalling notes")
}

fn ids(notes: &[StoredNote]) -> Vec<NodeId> {
    notes.iter().map(|note| note.id).collect()
}

/// A smaller limit recalls the first notes of a larger one, each note once, and the number of notes to choose from stays the same.
///
/// [`all`] has an example.
///
/// # Panics
/// When the law is broken.
pub async fn limits_hold(recall: &dyn Recall, owner: &Owner, question: &str) {
    let all = recalled(recall, owner, question, usize::MAX).await;
    let whole = ids(&all.notes);
    assert!(whole.len() >= 2, "the laws need at least two notes, and {} were recalled", whole.len());
    assert_eq!(
        all.of,
        whole.len(),
        "without a limit, another number was recalled than there was to choose from"
    );
    let distinct: BTreeSet<_> = whole.iter().collect();
    assert_eq!(distinct.len(), whole.len(), "a note was recalled twice");
    for limit in 0..=whole.len() {
        let some = recalled(recall, owner, question, limit).await;
        let first: Vec<_> = whole.iter().copied().take(limit).collect();
        assert_eq!(ids(&some.notes), first, "a limit of {limit} recalls other notes than the first ones");
        assert_eq!(some.of, all.of, "a limit of {limit} changes the number of notes to choose from");
    }
}

/// The same request recalls the same notes.
///
/// [`all`] has an example.
///
/// # Panics
/// When the law is broken.
pub async fn recalling_changes_nothing(recall: &dyn Recall, owner: &Owner, question: &str) {
    let before = recalled(recall, owner, question, 3).await;
    recalled(recall, owner, "something else", 1).await;
    let after = recalled(recall, owner, question, 3).await;
    assert_eq!(before, after, "the same request recalls other notes the second time");
}

/// Another owner has none of these notes.
///
/// [`all`] has an example.
///
/// # Panics
/// When the law is broken.
pub async fn owners_are_separate(recall: &dyn Recall, owner: &Owner, question: &str) {
    let stranger = stranger();
    assert_ne!(&stranger, owner, "the laws need another owner");
    let found = recalled(recall, &stranger, question, usize::MAX).await;
    assert_eq!(ids(&found.notes), [], "notes of another owner were recalled");
    assert_eq!(found.of, 0, "notes of another owner were counted");
}
