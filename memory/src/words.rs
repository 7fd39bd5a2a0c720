//! Scores notes by the words that they share with a text.

use std::collections::{BTreeSet, HashMap};

use alloquy_core::Message;
use alloquy_core::search::SearchText;

use crate::note::StoredNote;

/// How soon more occurrences of a word add nothing.
const K1: f64 = 1.2;

/// How much a long note is worth less than a short one with the same words.
const B: f64 = 0.75;

/// How much a word of one or two ASCII letters counts. In few notes words such as "in" and "is" are as rare as names.
const SHORT_WORD: f64 = 0.25;

/// A note and how well it matches.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scored<'a> {
    pub(crate) note: &'a StoredNote,
    pub(crate) score: f64,
}

/// Returns the notes with at least one word of `text`, the best first. Of equal ones, the newer is first.
///
/// The score is BM25 (Robertson and Zaragoza, The Probabilistic Relevance Framework, 2009) over these notes.
pub(crate) fn by_words<'a>(text: &str, notes: &'a [StoredNote]) -> Vec<Scored<'a>> {
    let wanted = words(text);
    let wanted: BTreeSet<&str> = wanted.split_whitespace().collect();
    let mut counted = Vec::with_capacity(notes.len());
    let mut notes_with: HashMap<&str, usize> = HashMap::new();
    let mut all_words = 0;
    for note in notes {
        let words = words(&note.note.text);
        let mut counts: HashMap<&str, usize> = HashMap::new();
        let mut length = 0;
        for word in words.split_whitespace() {
            length += 1;
            if let Some(word) = wanted.get(word) {
                *counts.entry(*word).or_default() += 1;
            }
        }
        for word in counts.keys() {
            *notes_with.entry(*word).or_default() += 1;
        }
        all_words += length;
        counted.push((note, counts, length));
    }
    let average = (all_words as f64 / notes.len().max(1) as f64).max(1.0);
    let mut found = Vec::new();
    for (note, counts, length) in &counted {
        let length = 1.0 - B + B * (*length as f64) / average;
        let mut score = 0.0;
        // In a fixed order, so that equal notes have exactly equal scores.
        for word in &wanted {
            let Some(times) = counts.get(word) else { continue };
            let times = *times as f64;
            let with = notes_with.get(word).copied().unwrap_or_default() as f64;
            let rarity = (1.0 + (notes.len() as f64 - with + 0.5) / (with + 0.5)).ln();
            score += importance(word) * rarity * times * (K1 + 1.0) / (times + K1 * length);
        }
        if score > 0.0 {
            found.push(Scored { note, score });
        }
    }
    found.sort_by(|left, right| right.score.total_cmp(&left.score).then(right.note.id.cmp(&left.note.id)));
    found
}

/// Returns how much a word counts, whatever the notes are.
fn importance(word: &str) -> f64 {
    let is_short = word.len() <= 2 && word.bytes().all(|byte| byte.is_ascii_alphabetic());
    if is_short { SHORT_WORD } else { 1.0 }
}

/// Returns the words of a text without case and accents, separated by spaces.
fn words(text: &str) -> String {
    SearchText::index(&Message::user(text))
}
