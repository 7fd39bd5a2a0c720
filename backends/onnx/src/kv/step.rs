//! A step of several sessions: one token in each, in a row of one batch.

use std::sync::Arc;

use alloquy_core::Result;
use alloquy_core::tokenizer::TokenId;
use ort::session::SessionOutputs;

use super::batch::{Batch, State};
use super::buffers::{Feed, Wish};
use super::place::Place;
use super::shared::SharedCache;
use crate::decoder::{Decoder, row_logits};
use crate::error;
use crate::row::Row;

/// A token that a session adds to what it holds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Token {
    pub(crate) id: TokenId,
    /// Behind so many positions.
    pub(crate) held: usize,
    /// As in [`Row`].
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

/// Computes one token in each of several sessions at once.
pub(crate) fn step(decoder: &Decoder, shares: &mut [Share<'_>]) -> Result<()> {
    let mut batches = shares.iter().filter_map(|share| share.place.as_ref().map(|place| &place.batch));
    let batch = match batches.find(|batch| suits(batch, shares)) {
        Some(batch) => Arc::clone(batch),
        None => gather(decoder, shares)?,
    };
    for share in shares.iter_mut().filter(|share| share.row_in(&batch).is_none()) {
        share.join(decoder, &batch)?;
    }
    run(&batch, decoder, shares)
}

/// Makes buffers for the sessions of a step.
fn gather(decoder: &Decoder, shares: &[Share<'_>]) -> Result<Arc<Batch>> {
    let needed = shares.iter().map(|share| share.token.held + 1).max().unwrap_or(0);
    let before = shares.iter().filter(|share| share.token.held > 0).map(|share| share.cache.capacity());
    let least = shares.iter().map(|share| share.cache.least).max().unwrap_or(0);
    let before = before.filter(|&room| room < needed).max().unwrap_or(0);
    Batch::new(decoder, shares.len(), Wish { needed, before, least })
}

/// Says whether the sessions can step in a batch, once those that are not here yet have come: there is room for each, and
/// more than half of the rows take part.
fn suits(batch: &Arc<Batch>, shares: &[Share<'_>]) -> bool {
    let state = batch.lock();
    let coming = shares.iter().filter(|share| share.row_in(batch).is_none()).count();
    let free = state.rows.iter().filter(|row| row.is_none()).count();
    let is_full = |length: usize| length >= state.buffers.capacity;
    let has_room = !state.rows.iter().flatten().any(|&length| is_full(length));
    has_room
        && coming <= free
        && shares.len() * 2 > state.rows.len()
        && !shares.iter().any(|share| is_full(share.token.held))
}

/// Runs a token of each session in its row.
fn run(batch: &Arc<Batch>, decoder: &Decoder, shares: &mut [Share<'_>]) -> Result<()> {
    let mut state = batch.lock();
    let State { buffers, rows } = &mut *state;
    let idle = |row: &Option<usize>| Token { id: 0, held: row.unwrap_or(0), shift: 0 };
    let mut fed: Vec<_> = rows.iter().map(idle).collect();
    for share in &*shares {
        if let Some(place) = share.row_in(batch).and_then(|row| fed.get_mut(row)) {
            *place = share.token;
        }
    }
    let fed: Vec<_> = fed
        .iter()
        .map(|token| Row::of_tokens(std::slice::from_ref(&token.id), token.held, token.shift))
        .collect();
    let read = |outputs: &SessionOutputs<'_>| {
        shares.iter_mut().try_for_each(|share| {
            let row = share.row_in(batch).unwrap_or_default();
            row_logits(outputs, &decoder.layout, row, share.logits)
        })
    };
    let feed = Feed { rows: &fed, keep: 1, options: None };
    buffers.run(decoder, &feed, read).map_err(error::runtime("run the model"))?;
    for share in &*shares {
        if let Some(length) = share.row_in(batch).and_then(|row| rows.get_mut(row)) {
            *length = Some(share.token.held + 1);
        }
    }
    Ok(())
}
