//! Which passages a question finds by its words.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};

use alloquy_retrieval::{Bm25, WordOptions};

use super::blocks::{Block, Posting};
use crate::failure::Failure;

/// A question, counted by its words.
#[derive(Clone, Debug)]
pub(crate) struct Question {
    pub(crate) options: WordOptions,
    pub(crate) words: BTreeMap<String, u32>,
}

impl Question {
    pub(crate) fn new(options: WordOptions, text: &str) -> Self {
        Self { options, words: Bm25::counted(options.words(text)) }
    }
}

/// What is known of all passages of an owner together.
#[derive(Clone, Debug, Default)]
pub(crate) struct Totals {
    pub(crate) passages: u64,
    pub(crate) words: u64,
    /// The keys of removed passages, which blocks still have.
    pub(crate) removed: HashSet<i64>,
}

/// A passage and its score.
pub(crate) type Scored = (i64, f64);

/// Hashes the keys of rows, which the database chose: one multiplication takes a tenth of the time of a hash that no caller can foresee.
#[derive(Default)]
struct KeyHasher(u64);

impl Hasher for KeyHasher {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_i64((*byte).into());
        }
    }

    fn write_i64(&mut self, key: i64) {
        let mixed = (self.0 ^ key.cast_unsigned()).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        // A table uses the lowest and the highest bits.
        self.0 = mixed ^ (mixed >> 32);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// Returns the passages that have at least one of the words, given the blocks of each.
pub(crate) fn scores(
    question: &Question,
    totals: &Totals,
    mut blocks_of: impl FnMut(&str) -> Result<Vec<Block>, Failure>,
) -> Result<Vec<Scored>, Failure> {
    let bm25 = Bm25::new(&question.options, totals.passages, totals.words);
    let mut scores: HashMap<i64, f64, BuildHasherDefault<KeyHasher>> = HashMap::default();
    let mut postings: Vec<Posting> = Vec::new();
    for (word, times) in &question.words {
        postings.clear();
        for block in blocks_of(word)? {
            let read = block.read(&mut postings);
            read.ok_or_else(|| {
                Failure::damaged(format!("the word {word:?}"), "its passages are unreadable")
            })?;
        }
        if !totals.removed.is_empty() {
            postings.retain(|posting| !totals.removed.contains(&posting.passage));
        }
        let weight = bm25.weight(word, *times, postings.len() as u64);
        for posting in &postings {
            *scores.entry(posting.passage).or_insert(0.0) +=
                bm25.score(weight, posting.count, posting.length);
        }
    }
    Ok(scores.into_iter().filter(|(_, score)| *score > 0.0).collect())
}

/// Keeps the best passages: `limit`, and those whose score equals that of the last. Which of these are found depends on their ids.
pub(crate) fn best(mut scored: Vec<Scored>, limit: usize) -> Vec<Scored> {
    if limit < scored.len() {
        let (_, (_, least), _) =
            scored.select_nth_unstable_by(limit.saturating_sub(1), |left, right| right.1.total_cmp(&left.1));
        let least = *least;
        scored.retain(|(_, score)| *score >= least);
    }
    scored
}
