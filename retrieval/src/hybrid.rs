//! Several retrievers at once.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use alloquy_core::media::Digest;
use alloquy_core::tool::Timer;
use alloquy_core::{Error, ErrorKind, Owner, Result};
use async_trait::async_trait;
use futures::future::join_all;

use crate::time_limit::{TimeLimit, within};
use crate::{FailedRetriever, Found, Lookup, Retriever, fuse};

/// Asks several retrievers at once and [joins](fuse()) what they find.
///
/// If some fail or take too long, the others' passages are the result, and [`Found::failed`] names the missing ones. If all fail, so
/// does the hybrid.
///
/// ```
/// use std::sync::Arc;
///
/// use alloquy_core::Owner;
/// use alloquy_retrieval::{Hybrid, Lookup, MemoryRetriever, Passage, Retriever, WordIndex, WordOptions};
///
/// # pollster::block_on(async {
/// let owner = Owner::local();
/// let words = WordIndex::new(WordOptions::default())?;
/// words.add(&owner, [Passage::new("1", "Green tea"), Passage::new("2", "Black tea")]);
/// let notes = MemoryRetriever::default();
/// notes.add(&owner, [Passage::new("note", "I like tea.")]);
///
/// let hybrid = Hybrid::default().retriever(1.0, Arc::new(words)).retriever(0.7, Arc::new(notes));
/// let found = hybrid.find(&owner, &Lookup::new("tea")).await?;
/// assert_eq!(found.passages.len(), 3);
/// assert!(found.failed.is_empty());
/// # Ok::<(), alloquy_core::Error>(())
/// # }).unwrap();
/// ```
#[derive(Clone, Debug)]
pub struct Hybrid {
    retrievers: Vec<(f64, Arc<dyn Retriever>)>,
    depth: NonZeroUsize,
    limit: Option<TimeLimit>,
}

impl Default for Hybrid {
    fn default() -> Self {
        Self { retrievers: Vec::new(), depth: Self::DEPTH, limit: None }
    }
}

impl Hybrid {
    /// How many passages of each retriever are joined.
    pub const DEPTH: NonZeroUsize = NonZeroUsize::MIN.saturating_add(99);
    /// The weight of a [`WordIndex`](crate::WordIndex) beside vectors.
    pub const WORDS: f64 = 1.0;
    /// The weight of a [`VectorIndex`](crate::VectorIndex) beside words. Vectors that find a fifth less than words make the result no worse
    /// with it, and better ones make it much better; vectors that find half as much do make it worse.
    pub const VECTORS: f64 = 0.7;

    /// Adds a retriever. The higher its weight, the more its ranks count; with 0 it is asked and has no effect.
    #[must_use]
    pub fn retriever(mut self, weight: f64, retriever: Arc<dyn Retriever>) -> Self {
        self.retrievers.push((weight, retriever));
        self
    }

    /// Sets how many passages of each retriever are joined; [`Hybrid::DEPTH`] otherwise. Zero counts as one.
    #[must_use]
    pub fn depth(mut self, depth: usize) -> Self {
        self.depth = NonZeroUsize::new(depth).unwrap_or(NonZeroUsize::MIN);
        self
    }

    /// Sets how long a retriever may take; one that takes longer has failed. `timer` is one of the host's runtime.
    #[must_use]
    pub fn time_limit(mut self, limit: Duration, timer: Arc<dyn Timer>) -> Self {
        self.limit = Some(TimeLimit { limit, timer });
        self
    }

    /// Returns the version of those that have one: each with its name and weight. Others leave a gap, so that a version with a gap never
    /// equals one without.
    fn version_of(&self, versions: &[Option<Digest>]) -> Digest {
        let mut fields = Vec::new();
        for ((weight, retriever), version) in self.retrievers.iter().zip(versions) {
            let version = version.map(|version| version.to_string());
            fields.push((weight.to_bits(), retriever.name(), version));
        }
        // Numbers and texts always serialize.
        Digest::of(&serde_json::to_vec(&(self.depth, fields)).unwrap_or_default())
    }

    /// Returns the results, of which some are missing, and why. If all are missing, it is an error.
    fn all<T>(&self, results: Vec<Result<T>>) -> Result<(Vec<Option<T>>, Vec<FailedRetriever>)> {
        let mut values = Vec::new();
        let mut failed = Vec::new();
        let mut last = None;
        for ((_, retriever), result) in self.retrievers.iter().zip(results) {
            match result {
                Ok(value) => values.push(Some(value)),
                Err(error) => {
                    values.push(None);
                    failed.push(FailedRetriever { name: retriever.name().to_owned(), error: error.whole() });
                    last = Some(error);
                }
            }
        }
        if self.retrievers.is_empty() {
            let message = "a hybrid without retrievers finds nothing: add one with `Hybrid::retriever`";
            return Err(Error::new(ErrorKind::Invalid, message));
        }
        match last {
            Some(error) if failed.len() == self.retrievers.len() => {
                let names: Vec<_> = failed.iter().map(|failed| failed.name.as_str()).collect();
                let sentence = format!("all retrievers of the hybrid failed ({})", names.join(", "));
                Err(error.context(sentence))
            }
            _ => Ok((values, failed)),
        }
    }
}

#[async_trait]
impl Retriever for Hybrid {
    fn name(&self) -> &str {
        "hybrid"
    }

    async fn version(&self, owner: &Owner) -> Result<Digest> {
        let limit = self.limit.as_ref();
        let versions = self.retrievers.iter().map(|(_, retriever)| within(limit, retriever.version(owner)));
        let (versions, _) = self.all(join_all(versions).await)?;
        Ok(self.version_of(&versions))
    }

    async fn find(&self, owner: &Owner, lookup: &Lookup) -> Result<Found> {
        // The lowest score is one of joined ranks.
        let deeper = Lookup { limit: self.depth.max(lookup.limit), min_score: None, ..lookup.clone() };
        let limit = self.limit.as_ref();
        let searches =
            self.retrievers.iter().map(|(_, retriever)| within(limit, retriever.find(owner, &deeper)));
        let (results, mut failed) = self.all(join_all(searches).await)?;
        let mut versions = Vec::new();
        let mut lists = Vec::new();
        for ((weight, _), found) in self.retrievers.iter().zip(results) {
            versions.push(found.as_ref().map(|found| found.version));
            if let Some(found) = found {
                failed.extend(found.failed);
                lists.push((*weight, found.passages));
            }
        }
        let mut passages = fuse(lists, usize::MAX);
        passages.retain(|passage| lookup.min_score.is_none_or(|least| passage.score >= least));
        passages.truncate(lookup.limit.get());
        Ok(Found { passages, version: self.version_of(&versions), failed })
    }
}
