//! Which rows have a word, how often, and what that is worth: an inverted index with the scores of BM25.

use std::collections::{BTreeMap, HashMap};

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
        for (word, count) in counted(words) {
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
        for (word, _) in counted(words) {
            if let Some(word) = self.words.get_mut(&word) {
                word.live = word.live.saturating_sub(1);
            }
        }
    }

    /// Returns the rows that have at least one of the words, with their scores.
    ///
    /// The formula is BM25 as in S. Robertson and H. Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond" (2009), section
    /// 3.4, for each word
    ///
    /// ```text
    /// ln(1 + (N - n + 0.5) / (n + 0.5)) · f·(k1 + 1) / (f + k1·(1 - b + b·length/average))
    /// ```
    ///
    /// where N rows are there, n of them have the word, and f is how often this row has it. The 1 in the logarithm, which their formula
    /// lacks, keeps words of most rows above 0. A word counts as often as the question has it.
    pub(crate) fn scores(&self, options: &WordOptions, words: Vec<String>) -> Vec<(usize, f64)> {
        let mut scores = vec![0.0; self.lengths.len()];
        let average = as_f64(self.total) / as_f64(self.live.max(1));
        let of_length = options.k1 * options.b / average.max(1.0);
        for (word, times) in counted(words) {
            let importance = options.importance(&word);
            let Some(word) = self.words.get(&word) else { continue };
            let rows = f64::from(word.live);
            let rarity = (1.0 + (as_f64(self.live) - rows + 0.5) / (rows + 0.5)).ln();
            let weight = f64::from(times) * importance * rarity * (options.k1 + 1.0);
            for posting in &word.postings {
                let place = posting.row as usize;
                let (Some(score), Some(length)) = (scores.get_mut(place), self.lengths.get(place)) else {
                    continue;
                };
                let count = f64::from(posting.count);
                let saturation = options.k1 * (1.0 - options.b) + of_length * f64::from(*length);
                *score += weight * count / (count + saturation);
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

/// Counts words. The order is theirs, so that sums of scores are the same in each run.
fn counted(words: Vec<String>) -> BTreeMap<String, u32> {
    let mut counts = BTreeMap::new();
    for word in words {
        *counts.entry(word).or_insert(0) += 1;
    }
    counts
}

/// Rows and counts are limited by memory long before this limit.
fn as_u32(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// Counts are exact up to 2^53.
#[allow(clippy::cast_precision_loss)]
fn as_f64(number: u64) -> f64 {
    number as f64
}
