//! Buffers that several sessions share, a row each, so that a step of all of them reads the weights once. A session that
//! runs by itself has a batch of one row.
//!
//! A row that takes no part in a step is fed a token all the same, behind all that its sessions hold: what is written there
//! does not count, and is overwritten by the next token that does. So sessions leave and come back without a copy.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use alloquy_core::{Error, ErrorKind, Result};
use alloquy_engine::decoder::StateReader;
use ort::session::SessionOutputs;

use super::buffers::{Buffers, Feed, Wish};
use crate::decoder::Decoder;
use crate::error;
use crate::layout::Slot;

/// Buffers with a row for each of several sessions.
#[derive(Debug)]
pub(super) struct Batch(Mutex<State>);

#[derive(Debug)]
pub(super) struct State {
    pub(super) buffers: Buffers,
    /// How many positions of each row are in use, at most; `None` where no session is.
    pub(super) rows: Vec<Option<usize>>,
}

impl Batch {
    /// Makes a batch with so many rows, none of which is taken.
    pub(super) fn new(decoder: &Decoder, rows: usize, wish: Wish) -> Result<Arc<Self>> {
        let buffers = Buffers::new(decoder, rows, wish)?;
        Ok(Arc::new(Self(Mutex::new(State { buffers, rows: vec![None; rows] }))))
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        // A panic while it was locked leaves rows behind that count nothing more than before.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a free row, in which `held` positions will count.
    pub(super) fn take(&self, held: usize) -> Result<usize> {
        let mut state = self.lock();
        let free = state.rows.iter_mut().enumerate().find(|(_, row)| row.is_none());
        let none = || Error::new(ErrorKind::Backend, "a batch has no free row");
        let (index, row) = free.ok_or_else(none)?;
        *row = Some(held);
        Ok(index)
    }

    /// Nobody reads a row any longer.
    pub(super) fn release(&self, row: usize) {
        if let Some(row) = self.lock().rows.get_mut(row) {
            *row = None;
        }
    }

    pub(super) fn capacity(&self) -> usize {
        self.lock().buffers.capacity
    }

    /// Returns how many positions of a row were written to, at most.
    pub(super) fn written(&self) -> usize {
        self.lock().buffers.written
    }

    pub(super) fn has_one_row(&self) -> bool {
        self.lock().rows.len() == 1
    }

    /// Appends the first `held` positions of a row, of one of the cache's tensors.
    pub(super) fn write(&self, row: usize, slot: (usize, &Slot), held: usize, into: &mut Vec<u8>) {
        self.lock().buffers.write(row, slot, held, into);
    }

    /// Has memory brought for the first `held` positions of a row, which are about to be written.
    pub(super) fn fetch(&self, row: usize, slots: &[Slot], held: usize) {
        self.lock().buffers.fetch(row, slots, held);
    }

    /// Takes `held` positions that were written down into a row.
    pub(super) fn restore(
        &self,
        row: usize,
        slots: &[Slot],
        held: usize,
        from: &mut StateReader<'_>,
    ) -> Result<()> {
        self.lock().buffers.restore(row, slots, held, from)
    }

    /// Takes `held` positions that were written down into a row, of one of the cache's tensors.
    pub(super) fn read(
        &self,
        row: usize,
        slot: (usize, &Slot),
        held: usize,
        from: &mut StateReader<'_>,
    ) -> Result<()> {
        self.lock().buffers.read(row, slot, held, from)
    }

    /// Runs the graph on the only row.
    pub(super) fn run_alone(
        &self,
        decoder: &Decoder,
        feed: &Feed<'_>,
        read: impl FnOnce(&SessionOutputs<'_>) -> ort::Result<()>,
    ) -> Result<()> {
        let mut state = self.lock();
        state.buffers.run(decoder, feed, read).map_err(error::runtime("run the model"))?;
        state.rows = feed.rows.iter().map(|row| Some(row.held + row.tokens.len())).collect();
        Ok(())
    }
}
