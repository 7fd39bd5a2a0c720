//! A row of a batch that one or several caches read, and the right of one of them to write there.
//!
//! A graph appends in place, so a fork needs no copy as long as no positions change that it reads. The trunk continues to
//! write after the positions that its forks read. Other caches are forks, and a trunk that was rewound to before the end of a
//! fork. Before they write, they copy their positions to a row of their own. No copy is needed once no other cache reads the
//! row.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use alloquy_core::Result;
use alloquy_engine::decoder::StateReader;

use super::batch::Batch;
use super::place::Place;
use crate::slot::Slot;

/// A row in use. It is freed when this is dropped.
#[derive(Debug)]
struct Taken {
    place: Place,
    /// An upper bound of the positions that forks read; writing after them is safe. Only a fork of the writing cache can increase it,
    /// and that cache does not write while it is forked.
    fence: AtomicUsize,
}

impl Drop for Taken {
    fn drop(&mut self) {
        self.place.batch.release(self.place.row);
    }
}

/// A cache's use of a row.
#[derive(Debug)]
pub(super) struct Lease {
    taken: Arc<Taken>,
    /// Whether this cache may write; at most one of those that share a row may.
    writes: bool,
}

impl Lease {
    /// Takes a free row, in which `cached` positions will count.
    pub(super) fn take(batch: &Arc<Batch>, cached: usize) -> Result<Self> {
        let place = Place { row: batch.take(cached)?, batch: Arc::clone(batch) };
        Ok(Self { taken: Arc::new(Taken { place, fence: AtomicUsize::new(0) }), writes: true })
    }

    /// Returns a lease of the same row that only reads its first `cached` positions.
    pub(super) fn reading(&self, cached: usize) -> Self {
        self.taken.fence.fetch_max(cached, Ordering::Relaxed);
        Self { taken: Arc::clone(&self.taken), writes: false }
    }

    /// Returns the row if writing from position `start` on changes nothing that other caches read.
    pub(super) fn writable(&mut self, start: usize) -> Option<&Place> {
        if let Some(taken) = Arc::get_mut(&mut self.taken) {
            // No other cache has a lease, and new ones are only made from this one.
            *taken.fence.get_mut() = 0;
            self.writes = true;
        }
        let is_after = start >= self.taken.fence.load(Ordering::Relaxed);
        (self.writes && is_after).then_some(&self.taken.place)
    }

    /// Returns how many caches share this row.
    pub(super) fn holders(&self) -> usize {
        Arc::strong_count(&self.taken)
    }

    /// Returns up to which position its row was written.
    pub(super) fn written(&self) -> usize {
        self.taken.place.batch.written()
    }

    pub(super) fn capacity(&self) -> usize {
        self.taken.place.batch.capacity()
    }

    /// Appends a snapshot of the first `cached` positions.
    pub(super) fn snapshot(&self, cached: usize, slots: &[Slot], into: &mut Vec<u8>) -> Result<()> {
        let Place { batch, row } = &self.taken.place;
        for slot in slots.iter().enumerate() {
            batch.write(*row, slot, cached, into)?;
        }
        Ok(())
    }

    /// Reads `cached` positions of a snapshot.
    pub(super) fn restore(&self, cached: usize, slots: &[Slot], state: &mut StateReader<'_>) -> Result<()> {
        let Place { batch, row } = &self.taken.place;
        batch.restore(*row, slots, cached, state)
    }

    /// Copies the first `cached` positions into another row. It copies tensor by tensor through a buffer, on the device where the rows
    /// are there, so that two batches are never locked at once; both rows may belong to the same batch.
    pub(super) fn copy_to(&self, other: &Self, cached: usize, slots: &[Slot]) -> Result<()> {
        let from = &self.taken.place;
        let to = &other.taken.place;
        to.batch.fetch(to.row, slots, cached);
        let mut bytes = Vec::new();
        for slot in slots.iter().enumerate() {
            if let Some(part) = from.batch.part(from.row, slot, cached)? {
                to.batch.put(to.row, slot, cached, &part)?;
                continue;
            }
            bytes.clear();
            from.batch.write(from.row, slot, cached, &mut bytes)?;
            to.batch.read(to.row, slot, cached, &mut StateReader::new(&mut bytes.as_slice()))?;
        }
        Ok(())
    }
}
