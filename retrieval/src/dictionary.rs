//! Passages in memory, found by counting words.

use std::collections::HashMap;
use std::sync::Arc;

use alloquy_core::media::Digest;
use alloquy_core::{Owner, Result};
use async_trait::async_trait;

use crate::owners::Owners;
use crate::table::PassageTable;
use crate::words::WordOptions;
use crate::{Found, Lookup, Passage, Retriever};

/// Finds passages in memory by how many different words of the text they have, for tests and a few hundred passages.
///
/// [`WordIndex`](crate::WordIndex) finds better: a rare word counts as much as a frequent one here.
///
/// ```
/// use alloquy_core::Owner;
/// use alloquy_retrieval::{Lookup, MemoryRetriever, Passage, Retriever};
///
/// # pollster::block_on(async {
/// let passages = MemoryRetriever::default();
/// passages.add(&Owner::local(), [Passage::new("1", "Green tea"), Passage::new("2", "Black tea")]);
/// let found = passages.find(&Owner::local(), &Lookup::new("tea, black")).await?;
/// let found: Vec<_> = found.passages.iter().map(|passage| (passage.id.as_str(), passage.score)).collect();
/// assert_eq!(found, [("2", 2.0), ("1", 1.0)]);
/// # Ok::<(), alloquy_core::Error>(())
/// # }).unwrap();
/// ```
#[derive(Debug, Default)]
pub struct MemoryRetriever {
    owners: Owners<PassageTable>,
}

impl MemoryRetriever {
    /// Adds passages of an owner. One with the id of another replaces it.
    pub fn add(&self, owner: &Owner, passages: impl IntoIterator<Item = Passage>) {
        self.owners.change(owner, |table| {
            for passage in passages {
                table.remove(&passage.id);
                table.push(Arc::new(passage));
            }
        });
    }

    /// Removes passages of an owner, and returns how many there were.
    pub fn remove<'a>(&self, owner: &Owner, ids: impl IntoIterator<Item = &'a str>) -> usize {
        self.owners.change(owner, |table| ids.into_iter().filter_map(|id| table.remove(id)).count())
    }
}

#[async_trait]
impl Retriever for MemoryRetriever {
    fn name(&self) -> &str {
        "memory"
    }

    async fn version(&self, owner: &Owner) -> Result<Digest> {
        Ok(self.owners.read(owner, PassageTable::digest))
    }

    async fn find(&self, owner: &Owner, lookup: &Lookup) -> Result<Found> {
        let options = WordOptions::default();
        let wanted = options.words(&lookup.text);
        Ok(self.owners.read(owner, |table| {
            let mut scores = Vec::new();
            for (row, passage) in table.passages() {
                let score = different_words(&wanted, &options.words_of(passage));
                if score > 0 {
                    scores.push((row, f64::from(score)));
                }
            }
            Found::new(table.best(lookup, scores), table.digest())
        }))
    }
}

/// Returns how many different words of `wanted` there are in `words`.
fn different_words(wanted: &[String], words: &[String]) -> u32 {
    let mut found: HashMap<&String, bool> = wanted.iter().map(|word| (word, false)).collect();
    let mut number = 0;
    for word in words {
        if let Some(is_found) = found.get_mut(word)
            && !*is_found
        {
            *is_found = true;
            number += 1;
        }
    }
    number
}
