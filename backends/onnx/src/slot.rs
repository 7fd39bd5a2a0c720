//! The tensors that a run takes and gives again: caches that grow with the positions, and states of fixed size.

use crate::cache_element::CacheElement;

/// One tensor of the cache: batch, heads, positions, width.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Slot {
    pub(crate) past: String,
    pub(crate) present: String,
    pub(crate) heads: usize,
    /// How many elements a head has for each position.
    pub(crate) width: usize,
    pub(crate) element: CacheElement,
}

/// How many numbers a cache tensor may have for a position: thousands of times as many as in any model.
pub(crate) const MOST_NUMBERS: usize = 1 << 26;

impl Slot {
    /// Returns how many bytes one position takes.
    pub(crate) fn bytes(&self) -> usize {
        self.heads * self.width * self.element.size()
    }
}

/// One state: a tensor whose size does not depend on the number of positions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StateSlot {
    pub(crate) past: String,
    pub(crate) present: String,
    /// The dimensions after the batch.
    pub(crate) shape: Vec<usize>,
    pub(crate) element: CacheElement,
}

impl StateSlot {
    /// Returns how many bytes it takes.
    pub(crate) fn bytes(&self) -> usize {
        self.shape.iter().product::<usize>() * self.element.size()
    }
}
