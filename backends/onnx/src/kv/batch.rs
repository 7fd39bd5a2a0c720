//! Buffers that several sessions share, a row each, so that a step of all of them reads the weights once.
//!
//! A row that takes no part in a step is fed a token all the same, behind all that its session holds: what is written there
//! does not count, and is overwritten by the session's next token. So sessions leave and come back without a copy.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use alloquy_core::{Error, ErrorKind, Result, TokenId};
use ort::session::SessionOutputs;

use super::buffers::{Buffers, Feed, capacity};
use super::shared::SharedCache;
use crate::decoder::{Decoder, row_logits};
use crate::error;
use crate::feeds;
use crate::layout::Slot;

/// Buffers with a row for each of several sessions.
#[derive(Debug)]
pub(super) struct Batch(Mutex<State>);

#[derive(Debug)]
struct State {
    buffers: Buffers,
    /// How many positions of each row are in use, at most; `None` where no session is.
    rows: Vec<Option<usize>>,
}

/// A session's row. It is free again when this is dropped.
#[derive(Debug)]
pub(super) struct BatchRow {
    batch: Arc<Batch>,
    row: usize,
}

impl Drop for BatchRow {
    fn drop(&mut self) {
        if let Some(row) = self.batch.lock().rows.get_mut(self.row) {
            *row = None;
        }
    }
}

/// What one session gives to a step and gets from it.
pub(crate) struct Share<'a> {
    pub(super) cache: &'a mut SharedCache,
    pub(crate) token: TokenId,
    pub(crate) held: usize,
    pub(crate) logits: &'a mut Vec<f32>,
}

impl Batch {
    fn lock(&self) -> MutexGuard<'_, State> {
        // A panic while it was locked leaves rows behind that count nothing more than before.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes buffers for the sessions of a step and copies them there.
    fn gather(decoder: &Decoder, shares: &mut [Share<'_>]) -> Result<Arc<Self>> {
        let needed = shares.iter().map(|share| share.held + 1).max().unwrap_or(0);
        let before = shares.iter().filter(|share| share.held > 0).map(|share| share.cache.capacity());
        let least = shares.iter().map(|share| share.cache.least).max().unwrap_or(0);
        let room = capacity(decoder, needed, before.filter(|&room| room < needed).max().unwrap_or(0), least);
        let buffers = Buffers::new(decoder, shares.len(), room)?;
        let batch = Arc::new(Self(Mutex::new(State { buffers, rows: vec![None; shares.len()] })));
        shares.iter_mut().try_for_each(|share| batch.join(decoder, share))?;
        Ok(batch)
    }

    /// Takes a session into a free row.
    fn join(self: &Arc<Self>, decoder: &Decoder, share: &mut Share<'_>) -> Result<()> {
        let mut state = self.lock();
        let free = state.rows.iter().position(Option::is_none);
        let row = free.ok_or_else(|| Error::new(ErrorKind::Backend, "a batch has no free row"))?;
        share.cache.copy_into(&mut state.buffers, row, share.held, &decoder.layout.slots)?;
        if let Some(taken) = state.rows.get_mut(row) {
            *taken = Some(share.held);
        }
        drop(state);
        share.cache.place_in(BatchRow { batch: Arc::clone(self), row });
        Ok(())
    }

    /// Says whether the sessions can step here, once those that are not here yet have come: there is room for each, and
    /// more than half of the rows take part.
    fn suits(self: &Arc<Self>, shares: &[Share<'_>]) -> bool {
        let state = self.lock();
        let coming = shares.iter().filter(|share| share.cache.row_in(self).is_none()).count();
        let free = state.rows.iter().filter(|row| row.is_none()).count();
        let is_full = |length: usize| length >= state.buffers.capacity;
        let has_room = !state.rows.iter().flatten().any(|&length| is_full(length));
        has_room
            && coming <= free
            && shares.len() * 2 > state.rows.len()
            && !shares.iter().any(|share| is_full(share.held))
    }

    fn step(self: &Arc<Self>, decoder: &Decoder, shares: &mut [Share<'_>]) -> Result<()> {
        let mut state = self.lock();
        let State { buffers, rows } = &mut *state;
        let mut fed: Vec<_> = rows.iter().map(|row| (0, row.unwrap_or(0))).collect();
        for share in &*shares {
            if let Some(place) = share.cache.row_in(self).and_then(|row| fed.get_mut(row)) {
                *place = (share.token, share.held);
            }
        }
        let fed: Vec<_> = fed
            .iter()
            .map(|(token, held)| feeds::Row { tokens: std::slice::from_ref(token), held: *held })
            .collect();
        let read = |outputs: &SessionOutputs<'_>| {
            shares.iter_mut().try_for_each(|share| {
                let row = share.cache.row_in(self).unwrap_or_default();
                row_logits(outputs, &decoder.layout, row, share.logits)
            })
        };
        let feed = Feed { rows: &fed, keep: 1, options: None };
        buffers.run(decoder, &feed, read).map_err(error::runtime("run the model"))?;
        for share in &*shares {
            if let Some(length) = share.cache.row_in(self).and_then(|row| rows.get_mut(row)) {
                *length = Some(share.held + 1);
            }
        }
        Ok(())
    }
}

impl BatchRow {
    pub(super) fn batch(&self) -> Arc<Batch> {
        Arc::clone(&self.batch)
    }

    pub(super) fn row_in(&self, batch: &Arc<Batch>) -> Option<usize> {
        Arc::ptr_eq(&self.batch, batch).then_some(self.row)
    }

    pub(super) fn capacity(&self) -> usize {
        self.batch.lock().buffers.capacity
    }

    /// Writes down the first `held` positions.
    pub(super) fn snapshot(&self, held: usize, slots: &[Slot], into: &mut Vec<u8>) -> Result<()> {
        self.batch.lock().buffers.write_row(self.row, held, slots, into)
    }

    /// Copies the first `held` positions into a row of other buffers.
    pub(super) fn copy_into(
        &self,
        buffers: &mut Buffers,
        row: usize,
        held: usize,
        slots: &[Slot],
    ) -> Result<()> {
        buffers.copy_row(row, &self.batch.lock().buffers, self.row, held, slots)
    }
}

/// Computes one token in each of several sessions at once.
pub(crate) fn step(decoder: &Decoder, shares: &mut [Share<'_>]) -> Result<()> {
    let mut batches = shares.iter().filter_map(|share| share.cache.batch());
    let batch = match batches.find(|batch| batch.suits(shares)) {
        Some(batch) => batch,
        None => Batch::gather(decoder, shares)?,
    };
    for share in shares.iter_mut().filter(|share| share.cache.row_in(&batch).is_none()) {
        batch.join(decoder, share)?;
    }
    batch.step(decoder, shares)
}
