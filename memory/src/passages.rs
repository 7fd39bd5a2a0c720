//! Notes as passages, for retrievers over notes.

use alloquy_core::{Owner, Result};
use alloquy_retrieval::{Lookup, Passage, Retriever, WordIndex, WordOptions};

use crate::note::StoredNote;

/// How much a word of one or two ASCII letters counts among a few notes.
const SHORT_WORDS: f64 = 0.25;

/// Returns the notes of an owner that share words with the text of a lookup, the best first.
pub(crate) async fn by_words(owner: &Owner, notes: &[StoredNote], lookup: &Lookup) -> Result<Vec<Passage>> {
    let mut options = WordOptions::default();
    options.short_words = SHORT_WORDS;
    let index = WordIndex::new(options)?;
    index.add(owner, notes.iter().map(|note| passage(note, 0.0)));
    Ok(index.find(owner, lookup).await?.passages)
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
