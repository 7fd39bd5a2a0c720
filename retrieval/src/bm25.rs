//! The scores of words, by BM25.

use std::collections::BTreeMap;

use crate::words::WordOptions;

/// How much the words of a question count for a passage, by BM25.
///
/// The formula is that of S. Robertson and H. Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond" (2009), section 3.4,
/// for each word
///
/// ```text
/// ln(1 + (N - n + 0.5) / (n + 0.5)) · f·(k1 + 1) / (f + k1·(1 - b + b·length/average))
/// ```
///
/// where N passages are there, n of them have the word, and f is how often this passage has it. The 1 in the logarithm, which their
/// formula lacks, keeps words of most passages above 0. A word counts as often as the question has it.
///
/// A [`WordIndex`](crate::WordIndex) scores passages with it. A database that stores [words](WordOptions::words) can do the same:
///
/// ```
/// use alloquy_retrieval::{Bm25, WordOptions};
///
/// let options = WordOptions::default();
/// let question = Bm25::counted(options.words("Is green tea tea?"));
/// assert_eq!(question["tea"], 2);
///
/// // Of 3 passages with 12 words, one has "green", and two have "tea".
/// let bm25 = Bm25::new(&options, 3, 12);
/// let green = bm25.weight("green", question["green"], 1);
/// let tea = bm25.weight("tea", 1, 2);
/// assert!(green > tea);
/// // In a passage of 4 words, "green" occurs twice.
/// assert!(bm25.score(green, 2, 4) > bm25.score(green, 1, 4));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bm25 {
    options: WordOptions,
    passages: u64,
    /// The part of a word's saturation that is the same for all passages, and the part for each word of a passage.
    of_all: f64,
    of_length: f64,
}

impl Bm25 {
    /// Prepares the scores among `passages` passages that have `words` words together.
    pub fn new(options: &WordOptions, passages: u64, words: u64) -> Self {
        let average = as_f64(words) / as_f64(passages.max(1));
        let of_all = options.k1 * (1.0 - options.b);
        let of_length = options.k1 * options.b / average.max(1.0);
        Self { options: *options, passages, of_all, of_length }
    }

    /// Counts words. The order is theirs, so that sums of scores are the same in each run.
    pub fn counted(words: Vec<String>) -> BTreeMap<String, u32> {
        let mut counts = BTreeMap::new();
        for word in words {
            *counts.entry(word).or_insert(0) += 1;
        }
        counts
    }

    /// Returns how much a word counts that a question has `times` times, and that `passages` passages have.
    pub fn weight(&self, word: &str, times: u32, passages: u64) -> f64 {
        let with_word = as_f64(passages);
        let rarity = (1.0 + (as_f64(self.passages) - with_word + 0.5) / (with_word + 0.5)).ln();
        f64::from(times) * self.options.importance(word) * rarity * (self.options.k1 + 1.0)
    }

    /// Returns what a word with this weight adds to the score of a passage of `length` words that has it `count` times.
    pub fn score(&self, weight: f64, count: u32, length: u32) -> f64 {
        let count = f64::from(count);
        weight * count / (count + (self.of_all + self.of_length * f64::from(length)))
    }
}

/// Counts are exact up to 2^53.
#[allow(clippy::cast_precision_loss)]
fn as_f64(number: u64) -> f64 {
    number as f64
}
