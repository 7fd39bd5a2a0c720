//! Finds passages by their words.

use alloquy_core::media::Digest;
use alloquy_core::{Owner, Result};
use async_trait::async_trait;
use std::sync::Arc;

use crate::owners::Owners;
use crate::postings::Postings;
use crate::table::PassageTable;
use crate::words::WordOptions;
use crate::{Found, Lookup, Passage, Retriever};

/// Finds passages that have some of the words of a text, by BM25: rare words count more than frequent ones.
///
/// Words are those of any language (UAX #29), without case and accents; in scripts without spaces they are characters and pairs of
/// neighbours. The heading of a passage counts as its text: [`HEADING`](crate::HEADING). Scores are from 0 on.
///
/// It is in memory. [`Index`](crate::Index) keeps one in files.
///
/// ```
/// use alloquy_core::Owner;
/// use alloquy_retrieval::{Lookup, Passage, Retriever, WordIndex, WordOptions};
///
/// # pollster::block_on(async {
/// let index = WordIndex::new(WordOptions::default())?;
/// let owner = Owner::local();
/// index.add(&owner, [Passage::new("1", "Tea is grown in Assam."), Passage::new("2", "Coffee is grown in Kona.")]);
///
/// let found = index.find(&owner, &Lookup::new("Where is TEA grown?")).await?;
/// assert_eq!(found.passages[0].id, "1");
/// assert!(found.passages[0].score > found.passages[1].score);
/// # Ok::<(), alloquy_core::Error>(())
/// # }).unwrap();
/// ```
#[derive(Debug)]
pub struct WordIndex {
    options: WordOptions,
    owners: Owners<WordTable>,
}

impl WordIndex {
    /// Creates an empty index.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`](alloquy_core::ErrorKind::Invalid) for settings out of range,
    /// [`ErrorKind::Unsupported`](alloquy_core::ErrorKind::Unsupported) for stems without the feature `stems`.
    pub fn new(options: WordOptions) -> Result<Self> {
        options.check()?;
        Ok(Self { options, owners: Owners::default() })
    }

    /// Adds passages of an owner. One with the id of another replaces it.
    pub fn add(&self, owner: &Owner, passages: impl IntoIterator<Item = Passage>) {
        // Words are split before the index is locked.
        let mut rows = Vec::new();
        for passage in passages {
            let words = self.options.words_of(&passage);
            rows.push((Arc::new(passage), words));
        }
        self.owners.change(owner, |table| {
            for (passage, words) in rows {
                table.remove(&self.options, &passage.id);
                table.push(passage, words);
            }
        });
    }

    /// Removes passages of an owner, and returns how many there were.
    pub fn remove<'a>(&self, owner: &Owner, ids: impl IntoIterator<Item = &'a str>) -> usize {
        self.owners.change(owner, |table| {
            let before = table.passages.len();
            for id in ids {
                table.remove(&self.options, id);
            }
            before - table.passages.len()
        })
    }

    /// Returns how many passages an owner has.
    pub fn len(&self, owner: &Owner) -> usize {
        self.owners.read(owner, |table| table.passages.len())
    }

    /// Returns whether an owner has no passages.
    pub fn is_empty(&self, owner: &Owner) -> bool {
        self.len(owner) == 0
    }

    fn version_of(&self, table: &WordTable) -> Digest {
        let mut bytes = format!("{:?}", self.options).into_bytes();
        bytes.extend(table.passages.digest().as_bytes());
        Digest::of(&bytes)
    }
}

#[async_trait]
impl Retriever for WordIndex {
    fn name(&self) -> &str {
        "words"
    }

    async fn version(&self, owner: &Owner) -> Result<Digest> {
        Ok(self.owners.read(owner, |table| self.version_of(table)))
    }

    async fn find(&self, owner: &Owner, lookup: &Lookup) -> Result<Found> {
        let words = self.options.words(&lookup.text);
        Ok(self.owners.read(owner, |table| {
            let scores = table.postings.scores(&self.options, words);
            Found::new(table.passages.best(lookup, scores), self.version_of(table))
        }))
    }
}

/// The passages of an owner, and their words.
#[derive(Debug, Default)]
struct WordTable {
    passages: PassageTable,
    postings: Postings,
}

impl WordTable {
    fn push(&mut self, passage: Arc<Passage>, words: Vec<String>) {
        self.passages.push(passage);
        self.postings.push(words);
    }

    fn remove(&mut self, options: &WordOptions, id: &str) {
        let Some((row, passage)) = self.passages.remove(id) else { return };
        self.postings.remove(row, options.words_of(&passage));
        if self.passages.is_sparse() {
            let mut table = Self::default();
            for (_, passage) in self.passages.passages() {
                table.push(passage.clone(), options.words_of(passage));
            }
            *self = table;
        }
    }
}
