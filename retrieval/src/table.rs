//! The passages of one owner, numbered in the order in which they were added.

use std::cmp::Ordering;
use std::collections::{BinaryHeap, HashMap};
use std::sync::{Arc, OnceLock};

use alloquy_core::media::Digest;

use crate::{Lookup, Passage};

/// Fewer removed rows than these are not worth making a table again.
const FEW: usize = 1_000;

/// Passages by row and by id. A removed passage leaves an empty row.
#[derive(Clone, Debug, Default)]
pub(crate) struct PassageTable {
    rows: Vec<Option<Arc<Passage>>>,
    ids: HashMap<String, usize>,
    digest: OnceLock<Digest>,
}

impl PassageTable {
    /// Adds a row. A passage with this id must have been removed before.
    pub(crate) fn push(&mut self, passage: Arc<Passage>) {
        self.digest = OnceLock::new();
        self.ids.insert(passage.id.clone(), self.rows.len());
        self.rows.push(Some(passage));
    }

    /// Adds an empty row.
    pub(crate) fn push_empty(&mut self) {
        self.rows.push(None);
    }

    /// Empties the row of a passage.
    pub(crate) fn remove(&mut self, id: &str) -> Option<(usize, Arc<Passage>)> {
        let row = self.ids.remove(id)?;
        self.digest = OnceLock::new();
        let passage = self.rows.get_mut(row)?.take()?;
        Some((row, passage))
    }

    /// Returns the passage of a row.
    pub(crate) fn get(&self, row: usize) -> Option<&Passage> {
        self.rows.get(row)?.as_deref()
    }

    /// Returns the passages that are left, with their rows.
    pub(crate) fn passages(&self) -> impl Iterator<Item = (usize, &Arc<Passage>)> {
        self.rows.iter().enumerate().filter_map(|(row, passage)| Some((row, passage.as_ref()?)))
    }

    pub(crate) fn len(&self) -> usize {
        self.ids.len()
    }

    /// Returns whether most rows are empty, so that the table is to be made again.
    pub(crate) fn is_sparse(&self) -> bool {
        let empty = self.rows.len() - self.ids.len();
        empty > FEW && empty > self.ids.len()
    }

    /// Returns a digest of all passages, whatever their order.
    pub(crate) fn digest(&self) -> Digest {
        *self.digest.get_or_init(|| {
            let mut passages: Vec<_> = self.passages().map(|(_, passage)| passage).collect();
            passages.sort_by(|left, right| left.id.cmp(&right.id));
            let mut digests = Vec::new();
            for passage in passages {
                let fields = (&passage.id, &passage.text, &passage.source, &passage.metadata);
                // Texts and JSON always serialize.
                let bytes = serde_json::to_vec(&fields).unwrap_or_default();
                digests.extend(Digest::of(&bytes).as_bytes());
            }
            Digest::of(&digests)
        })
    }

    /// Returns the best passages of a lookup, given the scores of rows. A heap gives the best ones without sorting all.
    pub(crate) fn best(
        &self,
        lookup: &Lookup,
        scores: impl IntoIterator<Item = (usize, f64)>,
    ) -> Vec<Passage> {
        let mut candidates = Vec::new();
        for (row, score) in scores {
            if lookup.min_score.is_some_and(|least| score < least) {
                continue;
            }
            let Some(Some(passage)) = self.rows.get(row) else { continue };
            if lookup.filters.iter().all(|filter| filter.holds(&passage.metadata)) {
                candidates.push(Candidate { score, passage });
            }
        }
        let mut candidates = BinaryHeap::from(candidates);
        let mut best = Vec::new();
        while best.len() < lookup.limit.get() {
            let Some(candidate) = candidates.pop() else { break };
            best.push(Passage { score: candidate.score, ..Passage::clone(candidate.passage) });
        }
        best
    }
}

/// A passage that may be found. The greatest has the highest score, and of equal scores the first id.
struct Candidate<'a> {
    score: f64,
    passage: &'a Arc<Passage>,
}

impl Ord for Candidate<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.score.total_cmp(&other.score).then_with(|| other.passage.id.cmp(&self.passage.id))
    }
}

impl PartialOrd for Candidate<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Candidate<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Candidate<'_> {}
