//! Buffers with a row for each of several sessions, so that a step of all of them reads the weights once. A session that
//! runs alone has a batch of one row.
//!
//! A step computes a token in every row, also in rows of sessions that take no part in it. Such a token is written after the
//! positions that count, and the next token that counts overwrites it. So sessions pause and return without a copy.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use alloquy_core::{Error, ErrorKind, Result};
use alloquy_engine::decoder::StateReader;
use ort::session::SessionOutputs;
use ort::value::DynValue;

use super::buffers::{Buffers, CapacityNeed, Feed};
use crate::decoder::Decoder;
use crate::error;
use crate::slot::Slot;

/// Buffers with a row for each of several sessions.
#[derive(Debug)]
pub(super) struct Batch(Mutex<State>);

#[derive(Debug)]
pub(super) struct State {
    pub(super) buffers: Buffers,
    /// An upper bound of the positions of each row that are in use; `None` for a free row.
    pub(super) rows: Vec<Option<usize>>,
}

impl Batch {
    /// Makes a batch of free rows.
    pub(super) fn new(decoder: &Decoder, rows: usize, wish: CapacityNeed) -> Result<Arc<Self>> {
        let buffers = Buffers::new(decoder, rows, wish)?;
        Ok(Arc::new(Self(Mutex::new(State { buffers, rows: vec![None; rows] }))))
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        // A panic during a run leaves the counts of the rows as they were before.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a free row, in which `cached` positions will count.
    pub(super) fn take(&self, cached: usize) -> Result<usize> {
        let mut state = self.lock();
        for (index, row) in state.rows.iter_mut().enumerate() {
            if row.is_none() {
                *row = Some(cached);
                return Ok(index);
            }
        }
        Err(Error::new(ErrorKind::Backend, "a batch has no free row"))
    }

    /// Frees a row.
    pub(super) fn release(&self, row: usize) {
        if let Some(row) = self.lock().rows.get_mut(row) {
            *row = None;
        }
    }

    pub(super) fn capacity(&self) -> usize {
        self.lock().buffers.capacity
    }

    /// Returns up to which position a row was written.
    pub(super) fn written(&self) -> usize {
        self.lock().buffers.written
    }

    pub(super) fn has_one_row(&self) -> bool {
        self.lock().rows.len() == 1
    }

    /// Appends the first `cached` positions of a row in one of the tensors.
    pub(super) fn write(
        &self,
        row: usize,
        slot: (usize, &Slot),
        cached: usize,
        into: &mut Vec<u8>,
    ) -> Result<()> {
        self.lock().buffers.write(row, slot, cached, into)
    }

    /// Returns a copy of the first `cached` positions of a row in one of the tensors, where it can be made on the device.
    pub(super) fn part(&self, row: usize, slot: (usize, &Slot), cached: usize) -> Result<Option<DynValue>> {
        self.lock().buffers.part(row, slot, cached)
    }

    /// Writes a [`part`](Self::part) of another row or another batch.
    pub(super) fn put(&self, row: usize, slot: (usize, &Slot), cached: usize, part: &DynValue) -> Result<()> {
        self.lock().buffers.put(row, slot, cached, part)
    }

    /// Requests memory for the first `cached` positions of a row, which are about to be written.
    pub(super) fn fetch(&self, row: usize, slots: &[Slot], cached: usize) {
        self.lock().buffers.fetch(row, slots, cached);
    }

    /// Reads `cached` positions of a snapshot into a row.
    pub(super) fn restore(
        &self,
        row: usize,
        slots: &[Slot],
        cached: usize,
        from: &mut StateReader<'_>,
    ) -> Result<()> {
        self.lock().buffers.restore(row, slots, cached, from)
    }

    /// Reads `cached` positions of a snapshot into a row of one of the tensors.
    pub(super) fn read(
        &self,
        row: usize,
        slot: (usize, &Slot),
        cached: usize,
        from: &mut StateReader<'_>,
    ) -> Result<()> {
        self.lock().buffers.read(row, slot, cached, from)
    }

    /// Runs the graph on the only row.
    pub(super) fn run_alone(
        &self,
        decoder: &Decoder,
        feed: &Feed<'_>,
        read: impl FnOnce(&mut SessionOutputs<'_>) -> ort::Result<()>,
    ) -> Result<()> {
        let mut state = self.lock();
        state.buffers.run(decoder, feed, read).map_err(error::runtime("run the model"))?;
        state.rows = feed.rows.iter().map(|row| Some(row.end())).collect();
        Ok(())
    }
}
