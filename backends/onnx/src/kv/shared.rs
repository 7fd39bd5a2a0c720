//! A cache that the graph writes into: past and present are one buffer.
//!
//! The kernel (`GroupQueryAttention`) appends after the positions that the attention mask counts and reads
//! nothing beyond them, so a rewind only reduces the count. Layers with a sliding window get buffers of full
//! length too: a ring as short as the window would have overwritten positions that a rewind needs.

use std::sync::Arc;

use alloquy_core::Result;
use alloquy_engine::decoder::StateReader;

use super::batch::Batch;
use super::buffers::{CapacityNeed, FIRST_CAPACITY, Feed};
use super::lease::Lease;
use super::place::Place;
use super::run::Run;
use super::states::States;
use crate::decoder::{Decoder, last_rows};
use crate::slot::Slot;

/// A cache that the graph writes into.
#[derive(Debug)]
pub(crate) struct SharedCache {
    /// The row that holds it; `None` before the first run.
    lease: Option<Lease>,
    /// The least capacity, in positions.
    pub(super) least: usize,
    /// How many bytes were copied from row to row.
    copied: usize,
}

impl SharedCache {
    /// Creates an empty cache. It will have room for at least `least` positions.
    pub(super) fn new(least: usize) -> Self {
        Self { lease: None, least, copied: 0 }
    }

    /// Computes tokens, and replaces the states of the session, where there are any.
    pub(super) fn run(
        &mut self,
        decoder: &Decoder,
        run: &Run<'_>,
        states: Option<&mut States>,
        logits: &mut Vec<f32>,
    ) -> Result<()> {
        let Run { row, rows, options } = *run;
        let batch = self.alone(decoder, row.cached, row.end())?;
        let layout = &decoder.layout;
        let Some(states) = states else {
            let feed = Feed { rows: &[row], keep: rows, options, states: &[] };
            return batch.run_alone(decoder, &feed, |outputs| last_rows(outputs, layout, rows, logits));
        };
        let values = states.values();
        let feed = Feed { rows: &[row], keep: rows, options, states: &values };
        batch.run_alone(decoder, &feed, |outputs| {
            last_rows(outputs, layout, rows, logits)?;
            states.take(layout, row.end(), outputs)
        })
    }

    /// Returns a cache that reads the first `cached` positions in the same row.
    pub(super) fn fork(&self, cached: usize) -> Self {
        let lease = self.lease.as_ref().filter(|_| cached > 0);
        Self { lease: lease.map(|lease| lease.reading(cached)), ..Self::new(self.least) }
    }

    pub(super) fn snapshot(&self, cached: usize, slots: &[Slot], into: &mut Vec<u8>) -> Result<()> {
        match &self.lease {
            Some(lease) => lease.snapshot(cached, slots, into),
            None => Ok(()),
        }
    }

    /// Reads `cached` positions of a snapshot.
    pub(super) fn restored(
        mut self,
        decoder: &Decoder,
        cached: usize,
        state: &mut StateReader<'_>,
    ) -> Result<Self> {
        // With room for the next tokens, or the next run would copy everything again.
        let needed = (cached + FIRST_CAPACITY).min(decoder.context_length).max(cached);
        let batch = Batch::new(decoder, 1, CapacityNeed { needed, before: 0, least: self.least })?;
        let lease = Lease::take(&batch, cached)?;
        lease.restore(cached, &decoder.layout.slots, state)?;
        self.lease = Some(lease);
        Ok(self)
    }

    /// Returns the row if it may write there after the first `cached` positions.
    pub(super) fn writable(&mut self, cached: usize) -> Option<Place> {
        self.lease.as_mut()?.writable(cached).cloned()
    }

    /// Returns a batch with one row, which is its own, with room for `needed` positions; keeps the first `cached` positions. If
    /// there is no memory for them, nothing changes.
    fn alone(&mut self, decoder: &Decoder, cached: usize, needed: usize) -> Result<Arc<Batch>> {
        let own = self.writable(cached).filter(|place| place.batch.has_one_row());
        let before = match own {
            Some(place) if place.batch.capacity() >= needed => return Ok(place.batch),
            Some(place) => place.batch.capacity(),
            None => cached,
        };
        let batch = Batch::new(decoder, 1, CapacityNeed { needed, before, least: self.least })?;
        self.move_into(decoder, &batch, cached)?;
        Ok(batch)
    }

    /// Copies the first `cached` positions into a free row of a batch, and uses that row from now on. If that fails, nothing changes.
    pub(super) fn move_into(&mut self, decoder: &Decoder, batch: &Arc<Batch>, cached: usize) -> Result<()> {
        let taken = Lease::take(batch, cached)?;
        if let Some(before) = self.lease.as_ref().filter(|_| cached > 0) {
            before.copy_to(&taken, cached, &decoder.layout.slots)?;
            self.copied += cached * decoder.layout.bytes_per_position();
        }
        self.lease = Some(taken);
        Ok(())
    }

    pub(super) fn capacity(&self) -> usize {
        self.lease.as_ref().map_or(0, Lease::capacity)
    }

    /// Returns its part of the memory of its row, which it shares with forks.
    pub(super) fn bytes(&self, decoder: &Decoder) -> usize {
        let Some(lease) = &self.lease else { return 0 };
        lease.written() * decoder.layout.bytes_per_position() / lease.holders()
    }

    pub(super) fn copied(&self) -> usize {
        self.copied
    }
}
