//! A cache that the graph writes into: past and present are one buffer.
//!
//! The kernel (`GroupQueryAttention`) appends behind the positions that the attention mask counts and reads
//! nothing beyond them, so going back is only counting less. Layers with a sliding window get buffers of full
//! length too: a ring as short as the window would have overwritten what a rewind needs.

use std::sync::Arc;

use alloquy_core::Result;
use alloquy_engine::decoder::StateReader;
use ort::session::SessionOutputs;

use super::batch::Batch;
use super::buffers::{FIRST_CAPACITY, Feed, Wish};
use super::lease::Lease;
use super::place::Place;
use super::run::Run;
use crate::decoder::{Decoder, last_rows};
use crate::layout::Slot;

/// A cache that the graph writes into.
#[derive(Debug)]
pub(crate) struct SharedCache {
    /// Where it is; nowhere before anything was computed.
    lease: Option<Lease>,
    /// For how many positions there must be room.
    pub(super) least: usize,
    /// How many bytes it has taken along from row to row.
    copied: usize,
}

impl SharedCache {
    /// Creates a cache without room; it will have room for at least `least` positions.
    pub(super) fn new(least: usize) -> Self {
        Self { lease: None, least, copied: 0 }
    }

    pub(super) fn run(&mut self, decoder: &Decoder, run: &Run<'_>, logits: &mut Vec<f32>) -> Result<()> {
        let Run { row, rows, options } = *run;
        let batch = self.alone(decoder, row.held, row.held + row.tokens.len())?;
        let read = |outputs: &SessionOutputs<'_>| last_rows(outputs, &decoder.layout, rows, logits);
        let feed = Feed { rows: &[row], keep: rows, options };
        batch.run_alone(decoder, &feed, read)
    }

    /// Returns a cache that reads the first `held` positions where they are.
    pub(super) fn fork(&self, held: usize) -> Self {
        let lease = self.lease.as_ref().filter(|_| held > 0);
        Self { lease: lease.map(|lease| lease.reading(held)), ..Self::new(self.least) }
    }

    pub(super) fn snapshot(&self, held: usize, slots: &[Slot], into: &mut Vec<u8>) {
        if let Some(lease) = &self.lease {
            lease.snapshot(held, slots, into);
        }
    }

    /// Takes in positions that were written down.
    pub(super) fn restored(
        mut self,
        decoder: &Decoder,
        held: usize,
        state: &mut StateReader<'_>,
    ) -> Result<Self> {
        // With room for what is asked next, or the first thing to do would be to copy it all again.
        let needed = (held + FIRST_CAPACITY).min(decoder.context_length).max(held);
        let batch = Batch::new(decoder, 1, Wish { needed, before: 0, least: self.least })?;
        let lease = Lease::take(&batch, held)?;
        lease.restore(held, &decoder.layout.slots, state)?;
        self.lease = Some(lease);
        Ok(self)
    }

    /// Returns where it may write behind the first `held` positions, if anywhere.
    pub(super) fn writable(&mut self, held: usize) -> Option<Place> {
        self.lease.as_mut()?.writable(held).cloned()
    }

    /// Returns a batch of one row, its own, with room for `needed` positions, of which the first `held` are kept. Without
    /// memory for them, nothing changes.
    fn alone(&mut self, decoder: &Decoder, held: usize, needed: usize) -> Result<Arc<Batch>> {
        let own = self.writable(held).filter(|place| place.batch.has_one_row());
        let before = match own {
            Some(place) if place.batch.capacity() >= needed => return Ok(place.batch),
            Some(place) => place.batch.capacity(),
            None => held,
        };
        let batch = Batch::new(decoder, 1, Wish { needed, before, least: self.least })?;
        self.move_into(decoder, &batch, held)?;
        Ok(batch)
    }

    /// Takes the first `held` positions along into a free row of a batch. Where that fails, nothing changes.
    pub(super) fn move_into(&mut self, decoder: &Decoder, batch: &Arc<Batch>, held: usize) -> Result<()> {
        let taken = Lease::take(batch, held)?;
        if let Some(before) = self.lease.as_ref().filter(|_| held > 0) {
            before.copy_to(&taken, held, &decoder.layout.slots)?;
            self.copied += held * decoder.layout.bytes_per_position();
        }
        self.lease = Some(taken);
        Ok(())
    }

    pub(super) fn capacity(&self) -> usize {
        self.lease.as_ref().map_or(0, Lease::capacity)
    }

    /// Returns its part of the memory of its row, which all that hold on to it share.
    pub(super) fn bytes(&self, decoder: &Decoder) -> usize {
        let share = |lease: &Lease| lease.written() * decoder.layout.bytes_per_position() / lease.holders();
        self.lease.as_ref().map_or(0, share)
    }

    pub(super) fn copied(&self) -> usize {
        self.copied
    }
}
