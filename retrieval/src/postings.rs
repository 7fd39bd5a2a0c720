//! Which rows have a word, and how often: an inverted index.

use std::collections::{BTreeMap, HashMap};

use crate::bm25::Bm25;
use crate::words::WordOptions;

/// A row with a word, and how often it has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Posting {
    pub(crate) row: u32,
    pub(crate) count: u32,
}

/// The rows with a word.
#[derive(Clone, Debug, Default)]
struct Word {
    /// In the order of their rows; those of removed rows stay.
    postings: Vec<Posting>,
    /// How many of them are not removed.
    live: u32,
}

/// The words of numbered rows.
#[derive(Clone, Debug, Default)]
pub(crate) struct Postings {
    words: HashMap<String, Word>,
    /// How many words each row has; 0 after its removal.
    lengths: Vec<u32>,
    /// How many rows are not removed, and how many words they have.
    live: u64,
    total: u64,
}

impl Postings {
    /// Returns how many rows there are, with those that were removed.
    pub(crate) fn rows(&self) -> usize {
        self.lengths.len()
    }

    /// Adds a row with these words.
    pub(crate) fn push(&mut self, words: Vec<String>) {
        let row = as_u32(self.lengths.len());
        let length = as_u32(words.len());
        self.lengths.push(length);
        self.live += 1;
        self.total += u64::from(length);
        for (word, count) in Bm25::counted(words) {
            let word = self.words.entry(word).or_default();
            word.postings.push(Posting { row, count });
            word.live += 1;
        }
    }

    /// Removes a row, given the words that it was added with.
    pub(crate) fn remove(&mut self, row: usize, words: Vec<String>) {
        let Some(length) = self.lengths.get_mut(row) else { return };
        self.live = self.live.saturating_sub(1);
        self.total = self.total.saturating_sub(u64::from(*length));
        *length = 0;
        for (word, _) in Bm25::counted(words) {
            if let Some(word) = self.words.get_mut(&word) {
                word.live = word.live.saturating_sub(1);
            }
        }
    }

    /// Returns the rows that have at least one of the words, with their scores: [`Bm25`].
    pub(crate) fn scores(&self, options: &WordOptions, words: Vec<String>) -> Vec<(usize, f64)> {
        let mut scores = vec![0.0; self.lengths.len()];
        let bm25 = Bm25::new(options, self.live, self.total);
        for (name, times) in Bm25::counted(words) {
            let Some(word) = self.words.get(&name) else { continue };
            let weight = bm25.weight(&name, times, u64::from(word.live));
            for posting in &word.postings {
                let place = posting.row as usize;
                let (Some(score), Some(length)) = (scores.get_mut(place), self.lengths.get(place)) else {
                    continue;
                };
                *score += bm25.score(weight, posting.count, *length);
            }
        }
        let found = scores.into_iter().enumerate();
        found
            .filter(|(row, score)| *score > 0.0 && self.lengths.get(*row).is_some_and(|&length| length > 0))
            .collect()
    }

    /// Returns the words in their order with their postings, and the lengths of the rows, for a file.
    pub(crate) fn parts(&self) -> (BTreeMap<&str, &[Posting]>, &[u32]) {
        let words = self.words.iter().map(|(word, list)| (word.as_str(), list.postings.as_slice()));
        (words.collect(), &self.lengths)
    }

    /// Adds rows that a file has after those that are here: their lengths, then each word with its postings, whose rows count from
    /// the first of the file.
    pub(crate) fn extend_lengths(&mut self, lengths: &[u32]) {
        self.live += lengths.len() as u64;
        self.total += lengths.iter().map(|&length| u64::from(length)).sum::<u64>();
        self.lengths.extend(lengths);
    }

    /// Adds the postings of a word of a file: [`Postings::extend_lengths`].
    pub(crate) fn extend_word(&mut self, word: String, postings: impl Iterator<Item = Posting>) {
        let word = self.words.entry(word).or_default();
        let before = word.postings.len();
        word.postings.extend(postings);
        word.live += as_u32(word.postings.len() - before);
    }
}

/// Rows and counts are limited by memory long before this limit.
fn as_u32(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
