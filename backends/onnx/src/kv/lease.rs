//! A row of buffers that one or several caches read, and who of them may write there. Runs nothing.
//!
//! A graph appends in place, so a fork needs no copy as long as nobody writes where it reads. The trunk goes on writing
//! behind what its forks read. Whoever else would write (a fork, or a trunk that went back to before a fork's end) takes
//! what it holds along to a row of its own first, unless nobody else is left to read this one.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use alloquy_core::Result;
use alloquy_engine::decoder::StateReader;

use super::batch::Batch;
use super::place::Place;
use crate::layout::Slot;

/// A row that is taken. It is free again when this is dropped.
#[derive(Debug)]
struct Taken {
    place: Place,
    /// Behind so many positions no fork reads. Only a fork of the one that writes here can move it outwards, and who forks
    /// does not write meanwhile.
    fence: AtomicUsize,
}

impl Drop for Taken {
    fn drop(&mut self) {
        self.place.batch.release(self.place.row);
    }
}

/// A cache's hold on a row.
#[derive(Debug)]
pub(super) struct Lease {
    taken: Arc<Taken>,
    /// Whether it is the one that writes here; at most one of those that hold on to a row is.
    writes: bool,
}

impl Lease {
    /// Takes a free row, in which `held` positions will count.
    pub(super) fn take(batch: &Arc<Batch>, held: usize) -> Result<Self> {
        let place = Place { row: batch.take(held)?, batch: Arc::clone(batch) };
        Ok(Self { taken: Arc::new(Taken { place, fence: AtomicUsize::new(0) }), writes: true })
    }

    /// Returns a hold on the same row that reads its first `held` positions.
    pub(super) fn reading(&self, held: usize) -> Self {
        self.taken.fence.fetch_max(held, Ordering::Relaxed);
        Self { taken: Arc::clone(&self.taken), writes: false }
    }

    /// Returns the row if writing there from position `start` on changes nothing that others read.
    pub(super) fn writable(&mut self, start: usize) -> Option<&Place> {
        if let Some(taken) = Arc::get_mut(&mut self.taken) {
            // Nobody else is left, and nobody can come but through this hold.
            *taken.fence.get_mut() = 0;
            self.writes = true;
        }
        let is_behind = start >= self.taken.fence.load(Ordering::Relaxed);
        (self.writes && is_behind).then_some(&self.taken.place)
    }

    /// Returns how many caches hold on to this row.
    pub(super) fn holders(&self) -> usize {
        Arc::strong_count(&self.taken)
    }

    /// Returns how many positions of its row were written to, at most.
    pub(super) fn written(&self) -> usize {
        self.taken.place.batch.written()
    }

    pub(super) fn capacity(&self) -> usize {
        self.taken.place.batch.capacity()
    }

    /// Writes down the first `held` positions.
    pub(super) fn snapshot(&self, held: usize, slots: &[Slot], into: &mut Vec<u8>) {
        let Place { batch, row } = &self.taken.place;
        slots.iter().enumerate().for_each(|slot| batch.write(*row, slot, held, into));
    }

    /// Takes in `held` positions that were written down.
    pub(super) fn restore(&self, held: usize, slots: &[Slot], state: &mut StateReader<'_>) -> Result<()> {
        let Place { batch, row } = &self.taken.place;
        batch.restore(*row, slots, held, state)
    }

    /// Copies the first `held` positions into another row: tensor by tensor, so that no two batches are locked at once, and
    /// both rows may be of the same one.
    pub(super) fn copy_to(&self, other: &Self, held: usize, slots: &[Slot]) -> Result<()> {
        let (from, to) = (&self.taken.place, &other.taken.place);
        to.batch.fetch(to.row, slots, held);
        let mut bytes = Vec::new();
        for slot in slots.iter().enumerate() {
            bytes.clear();
            from.batch.write(from.row, slot, held, &mut bytes);
            to.batch.read(to.row, slot, held, &mut StateReader::new(&mut bytes.as_slice()))?;
        }
        Ok(())
    }
}
