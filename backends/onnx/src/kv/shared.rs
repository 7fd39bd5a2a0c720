//! A cache that the graph writes into: past and present are one buffer.
//!
//! The kernel (`GroupQueryAttention`) appends behind the positions that the attention mask counts and reads
//! nothing beyond them, so going back is only counting less. Layers with a sliding window get buffers of full
//! length too: a ring as short as the window would have overwritten what a rewind needs.

use std::sync::Arc;

use alloquy_core::{Error, ErrorKind, Result};
use ort::session::SessionOutputs;

use super::Run;
use super::batch::{Batch, BatchRow};
use super::buffers::{Buffers, Feed, capacity};
use crate::decoder::{Decoder, last_rows};
use crate::error;
use crate::feeds::Row;
use crate::layout::Slot;

/// A cache that the graph writes into.
#[derive(Debug)]
pub(crate) struct SharedCache {
    place: Place,
    /// For how many positions there must be room.
    pub(super) least: usize,
}

/// Where a cache is.
#[derive(Debug)]
enum Place {
    /// Nothing was computed yet.
    Nowhere,
    /// In buffers of its own.
    Alone(Box<Buffers>),
    /// Among others that it stepped with.
    Among(BatchRow),
}

impl SharedCache {
    /// Creates a cache without room; it will have room for at least `least` positions.
    pub(super) fn new(least: usize) -> Self {
        Self { place: Place::Nowhere, least }
    }

    pub(super) fn run(&mut self, decoder: &Decoder, run: &Run<'_>, logits: &mut Vec<f32>) -> Result<()> {
        let Run { tokens, held, rows, options } = *run;
        let buffers = self.alone(decoder, held, held + tokens.len())?;
        let read = |outputs: &SessionOutputs<'_>| last_rows(outputs, &decoder.layout, rows, logits);
        let feed = Feed { rows: &[Row { tokens, held }], keep: rows, options };
        buffers.run(decoder, &feed, read).map_err(error::runtime("run the model"))
    }

    pub(super) fn fork(&self, decoder: &Decoder, held: usize) -> Result<Self> {
        let mut fork = Self::new(self.least);
        if held > 0 {
            fork.place =
                Place::Alone(Box::new(self.copy(decoder, held, capacity(decoder, held, 0, self.least))?));
        }
        Ok(fork)
    }

    pub(super) fn snapshot(&self, held: usize, slots: &[Slot], into: &mut Vec<u8>) -> Result<()> {
        match &self.place {
            Place::Nowhere => Ok(()),
            Place::Alone(buffers) => buffers.write_row(0, held, slots, into),
            Place::Among(row) => row.snapshot(held, slots, into),
        }
    }

    /// Takes in positions that were written down.
    pub(super) fn restored(mut self, decoder: &Decoder, held: usize, state: &[u8]) -> Result<Self> {
        let mut buffers = Buffers::new(decoder, 1, capacity(decoder, held, 0, self.least))?;
        buffers.read(held, &decoder.layout.slots, state)?;
        self.place = Place::Alone(Box::new(buffers));
        Ok(self)
    }

    /// Returns buffers of its own with room for `needed` positions, of which the first `held` are kept. Without memory for
    /// them, nothing changes.
    fn alone(&mut self, decoder: &Decoder, held: usize, needed: usize) -> Result<&mut Buffers> {
        let before = match &self.place {
            Place::Alone(buffers) if buffers.capacity >= needed => None,
            Place::Alone(buffers) => Some(buffers.capacity),
            Place::Nowhere | Place::Among(_) => Some(0),
        };
        if let Some(before) = before {
            let room = capacity(decoder, needed, before, self.least);
            self.place = Place::Alone(Box::new(self.copy(decoder, held, room)?));
        }
        match &mut self.place {
            Place::Alone(buffers) => Ok(buffers),
            Place::Nowhere | Place::Among(_) => Err(Error::new(ErrorKind::Backend, "the cache has no room")),
        }
    }

    fn copy(&self, decoder: &Decoder, held: usize, capacity: usize) -> Result<Buffers> {
        let mut buffers = Buffers::new(decoder, 1, capacity)?;
        self.copy_into(&mut buffers, 0, held, &decoder.layout.slots)?;
        Ok(buffers)
    }

    /// Copies the first `held` positions into a row of other buffers.
    pub(super) fn copy_into(
        &self,
        buffers: &mut Buffers,
        row: usize,
        held: usize,
        slots: &[Slot],
    ) -> Result<()> {
        match &self.place {
            Place::Nowhere => Ok(()),
            Place::Alone(own) => buffers.copy_row(row, own, 0, held, slots),
            Place::Among(place) => place.copy_into(buffers, row, held, slots),
        }
    }

    pub(super) fn place_in(&mut self, row: BatchRow) {
        self.place = Place::Among(row);
    }

    pub(super) fn row_in(&self, batch: &Arc<Batch>) -> Option<usize> {
        match &self.place {
            Place::Among(row) => row.row_in(batch),
            Place::Nowhere | Place::Alone(_) => None,
        }
    }

    pub(super) fn batch(&self) -> Option<Arc<Batch>> {
        match &self.place {
            Place::Among(row) => Some(row.batch()),
            Place::Nowhere | Place::Alone(_) => None,
        }
    }

    pub(super) fn capacity(&self) -> usize {
        match &self.place {
            Place::Nowhere => 0,
            Place::Alone(buffers) => buffers.capacity,
            Place::Among(row) => row.capacity(),
        }
    }
}
