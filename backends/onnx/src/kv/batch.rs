//! Buffers that several sessions share, a row each, so that a step of all of them reads the weights once. A session that
//! runs by itself has a batch of one row.
//!
//! A row that takes no part in a step is fed a token all the same, behind all that its sessions hold: what is written there
//! does not count, and is overwritten by the next token that does. So sessions leave and come back without a copy.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use alloquy_core::{Error, ErrorKind, Result, StateReader, TokenId};
use ort::session::SessionOutputs;

use super::buffers::{Buffers, Feed, Wish};
use super::lease::Place;
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

/// A token that a session adds to what it holds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Token {
    pub(crate) id: TokenId,
    /// Behind so many positions.
    pub(crate) held: usize,
    /// As in [`feeds::Row`].
    pub(crate) shift: i64,
}

/// What one session gives to a step and gets from it.
pub(crate) struct Share<'a> {
    cache: &'a mut SharedCache,
    token: Token,
    logits: &'a mut Vec<f32>,
    /// Where it may write its token, if anywhere.
    place: Option<Place>,
}

impl<'a> Share<'a> {
    pub(super) fn new(cache: &'a mut SharedCache, token: Token, logits: &'a mut Vec<f32>) -> Self {
        let place = cache.writable(token.held);
        Self { cache, token, logits, place }
    }

    /// Returns its row, if it may write in this batch.
    fn row_in(&self, batch: &Arc<Batch>) -> Option<usize> {
        self.place.as_ref().filter(|place| Arc::ptr_eq(&place.batch, batch)).map(|place| place.row)
    }

    fn join(&mut self, decoder: &Decoder, batch: &Arc<Batch>) -> Result<()> {
        self.cache.move_into(decoder, batch, self.token.held)?;
        self.place = self.cache.writable(self.token.held);
        Ok(())
    }
}

impl Batch {
    /// Makes a batch with so many rows, none of which is taken.
    pub(super) fn new(decoder: &Decoder, rows: usize, wish: Wish) -> Result<Arc<Self>> {
        let buffers = Buffers::new(decoder, rows, wish)?;
        Ok(Arc::new(Self(Mutex::new(State { buffers, rows: vec![None; rows] }))))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
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

    /// Makes buffers for the sessions of a step and takes them there.
    fn gather(decoder: &Decoder, shares: &mut [Share<'_>]) -> Result<Arc<Self>> {
        let needed = shares.iter().map(|share| share.token.held + 1).max().unwrap_or(0);
        let before = shares.iter().filter(|share| share.token.held > 0).map(|share| share.cache.capacity());
        let least = shares.iter().map(|share| share.cache.least).max().unwrap_or(0);
        let before = before.filter(|&room| room < needed).max().unwrap_or(0);
        Self::new(decoder, shares.len(), Wish { needed, before, least })
    }

    /// Says whether the sessions can step here, once those that are not here yet have come: there is room for each, and
    /// more than half of the rows take part.
    fn suits(self: &Arc<Self>, shares: &[Share<'_>]) -> bool {
        let state = self.lock();
        let coming = shares.iter().filter(|share| share.row_in(self).is_none()).count();
        let free = state.rows.iter().filter(|row| row.is_none()).count();
        let is_full = |length: usize| length >= state.buffers.capacity;
        let has_room = !state.rows.iter().flatten().any(|&length| is_full(length));
        has_room
            && coming <= free
            && shares.len() * 2 > state.rows.len()
            && !shares.iter().any(|share| is_full(share.token.held))
    }

    fn step(self: &Arc<Self>, decoder: &Decoder, shares: &mut [Share<'_>]) -> Result<()> {
        let mut state = self.lock();
        let State { buffers, rows } = &mut *state;
        let idle = |row: &Option<usize>| Token { id: 0, held: row.unwrap_or(0), shift: 0 };
        let mut fed: Vec<_> = rows.iter().map(idle).collect();
        for share in &*shares {
            if let Some(place) = share.row_in(self).and_then(|row| fed.get_mut(row)) {
                *place = share.token;
            }
        }
        let fed: Vec<_> = fed
            .iter()
            .map(|token| feeds::Row::of_tokens(std::slice::from_ref(&token.id), token.held, token.shift))
            .collect();
        let read = |outputs: &SessionOutputs<'_>| {
            shares.iter_mut().try_for_each(|share| {
                let row = share.row_in(self).unwrap_or_default();
                row_logits(outputs, &decoder.layout, row, share.logits)
            })
        };
        let feed = Feed { rows: &fed, keep: 1, options: None };
        buffers.run(decoder, &feed, read).map_err(error::runtime("run the model"))?;
        for share in &*shares {
            if let Some(length) = share.row_in(self).and_then(|row| rows.get_mut(row)) {
                *length = Some(share.token.held + 1);
            }
        }
        Ok(())
    }
}

/// Computes one token in each of several sessions at once.
pub(crate) fn step(decoder: &Decoder, shares: &mut [Share<'_>]) -> Result<()> {
    let mut batches = shares.iter().filter_map(|share| share.place.as_ref().map(|place| &place.batch));
    let batch = match batches.find(|batch| batch.suits(shares)) {
        Some(batch) => Arc::clone(batch),
        None => Batch::gather(decoder, shares)?,
    };
    for share in shares.iter_mut().filter(|share| share.row_in(&batch).is_none()) {
        share.join(decoder, &batch)?;
    }
    batch.step(decoder, shares)
}
