//! A step of several sessions: computes one token of each, in the rows of one batch.

use std::sync::Arc;

use alloquy_core::Result;
use alloquy_core::tokenizer::TokenId;

use super::batch::{Batch, State};
use super::buffers::{CapacityNeed, Feed};
use super::place::Place;
use super::shared::SharedCache;
use crate::decoder::{Decoder, row_logits};
use crate::error;
use crate::row::Row;

/// A token that a session appends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Token {
    pub(crate) id: TokenId,
    /// How many positions precede it.
    pub(crate) cached: usize,
    /// As in [`Row`].
    pub(crate) shift: i64,
}

/// One session's part of a step: its cache, its token, and the place for its logits.
pub(crate) struct Share<'a> {
    cache: &'a mut SharedCache,
    token: Token,
    logits: &'a mut Vec<f32>,
    /// The row in which it may write its token, if there is one.
    place: Option<Place>,
}

impl<'a> Share<'a> {
    pub(super) fn new(cache: &'a mut SharedCache, token: Token, logits: &'a mut Vec<f32>) -> Self {
        let place = cache.writable(token.cached);
        Self { cache, token, logits, place }
    }

    /// Returns its row if it may write in this batch.
    fn row_in(&self, batch: &Arc<Batch>) -> Option<usize> {
        self.place.as_ref().filter(|place| Arc::ptr_eq(&place.batch, batch)).map(|place| place.row)
    }

    fn join(&mut self, decoder: &Decoder, batch: &Arc<Batch>) -> Result<()> {
        self.cache.move_into(decoder, batch, self.token.cached)?;
        self.place = self.cache.writable(self.token.cached);
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
    let needed = shares.iter().map(|share| share.token.cached + 1).max().unwrap_or(0);
    let before = shares.iter().filter(|share| share.token.cached > 0).map(|share| share.cache.capacity());
    let least = shares.iter().map(|share| share.cache.least).max().unwrap_or(0);
    let before = before.filter(|&room| room < needed).max().unwrap_or(0);
    Batch::new(decoder, shares.len(), CapacityNeed { needed, before, least })
}

/// Returns whether a step of these sessions can run in a batch. There must be a free row for every session that has none in it,
/// and room for a token in every row. More than half of the rows must take part.
fn suits(batch: &Arc<Batch>, shares: &[Share<'_>]) -> bool {
    let state = batch.lock();
    let coming = shares.iter().filter(|share| share.row_in(batch).is_none()).count();
    let free = state.rows.iter().filter(|row| row.is_none()).count();
    let capacity = state.buffers.capacity;
    coming <= free
        && shares.len() * 2 > state.rows.len()
        && state.rows.iter().flatten().all(|&length| length < capacity)
        && shares.iter().all(|share| share.token.cached < capacity)
}

/// Runs a token of each session in its row.
fn run(batch: &Arc<Batch>, decoder: &Decoder, shares: &mut [Share<'_>]) -> Result<()> {
    let mut state = batch.lock();
    let State { buffers, rows } = &mut *state;
    // Rows that take no part get token 0 after their positions. For rows of 5, 7 and no positions, of which the second takes
    // part with token 42, this feeds (0 at 5), (42 at 7), (0 at 0).
    let mut fed: Vec<_> =
        rows.iter().map(|row| Token { id: 0, cached: row.unwrap_or(0), shift: 0 }).collect();
    for share in &*shares {
        if let Some(place) = share.row_in(batch).and_then(|row| fed.get_mut(row)) {
            *place = share.token;
        }
    }
    let fed: Vec<_> = fed
        .iter()
        .map(|token| Row::of_tokens(std::slice::from_ref(&token.id), token.cached, token.shift))
        .collect();
    let feed = Feed { rows: &fed, keep: 1, options: None, states: &[] };
    let ran = buffers.run(decoder, &feed, |outputs| {
        for share in &mut *shares {
            let row = share.row_in(batch).unwrap_or_default();
            row_logits(outputs, &decoder.layout, row, share.logits)?;
        }
        Ok(())
    });
    ran.map_err(error::runtime("run the model"))?;
    for share in &*shares {
        if let Some(length) = share.row_in(batch).and_then(|row| rows.get_mut(row)) {
            *length = Some(share.token.cached + 1);
        }
    }
    Ok(())
}
