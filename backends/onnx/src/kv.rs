//! Caches of keys and values: what a session holds of the tokens it has seen. Knows tokens, not units.

use alloquy_core::{Error, ErrorKind, Result, TokenId};
use ort::memory::Allocator;
use ort::session::RunOptions;
use ort::value::Tensor;

use crate::decoder::Decoder;
use crate::error;
use crate::layout::{CacheKind, Slot};

mod batch;
mod buffers;
mod concat;
mod shared;

pub(crate) use batch::{Share, step};
use concat::ConcatCache;
use shared::SharedCache;

/// A cache of one of the two kinds.
#[derive(Debug)]
pub(crate) enum Cache {
    Shared(SharedCache),
    Concat(ConcatCache),
}

/// What is computed at once.
pub(crate) struct Run<'a> {
    pub(crate) tokens: &'a [TokenId],
    /// Behind so many positions; what the cache holds beyond them is forgotten.
    pub(crate) held: usize,
    /// How many of the last logits are wanted; a graph may compute fewer.
    pub(crate) rows: usize,
    /// What ends it, where somebody may.
    pub(crate) options: Option<&'a RunOptions>,
}

impl Cache {
    pub(crate) fn new(decoder: &Decoder) -> Self {
        match decoder.layout.cache {
            CacheKind::Shared { least } => Self::Shared(SharedCache::new(least)),
            CacheKind::Concat => Self::Concat(ConcatCache::default()),
        }
    }

    /// Runs tokens, and leaves their last logits in `logits`.
    pub(crate) fn run(&mut self, decoder: &Decoder, run: &Run<'_>, logits: &mut Vec<f32>) -> Result<()> {
        match self {
            Self::Shared(cache) => cache.run(decoder, run, logits),
            Self::Concat(cache) => cache.run(decoder, run, logits),
        }
    }

    /// Returns its share of a step with others, where its kind can have one: `token` behind the first `held` positions.
    pub(crate) fn share<'a>(
        &'a mut self,
        token: TokenId,
        held: usize,
        logits: &'a mut Vec<f32>,
    ) -> Option<Share<'a>> {
        match self {
            Self::Shared(cache) => Some(Share { cache, token, held, logits }),
            Self::Concat(_) => None,
        }
    }

    /// Returns for how many positions it has room.
    pub(crate) fn positions(&self) -> usize {
        match self {
            Self::Shared(cache) => cache.capacity(),
            Self::Concat(cache) => cache.positions(),
        }
    }

    /// Writes down the first `held` positions: every tensor in the layout's order, head by head, as little-endian floats.
    pub(crate) fn snapshot(&self, decoder: &Decoder, held: usize, into: &mut Vec<u8>) -> Result<()> {
        into.reserve(held * decoder.layout.bytes_per_position());
        match self {
            Self::Shared(cache) => cache.snapshot(held, &decoder.layout.slots, into),
            Self::Concat(cache) => cache.snapshot(held, &decoder.layout.slots, into),
        }
    }

    /// Makes a cache of `held` positions that were written down; of either kind, whatever kind wrote them.
    pub(crate) fn restored(decoder: &Decoder, held: usize, state: &[u8]) -> Result<Self> {
        let expected = held.checked_mul(decoder.layout.bytes_per_position());
        if expected != Some(state.len()) {
            let message = format!("a state of {} bytes is not one of {held} positions", state.len());
            return Err(Error::new(ErrorKind::Corrupt, message));
        }
        Ok(match Self::new(decoder) {
            Self::Shared(cache) => Self::Shared(cache.restored(decoder, held, state)?),
            Self::Concat(_) => Self::Concat(ConcatCache::restored(decoder, held, state)?),
        })
    }

    /// Copies the first `held` positions.
    pub(crate) fn fork(&self, decoder: &Decoder, held: usize) -> Result<Self> {
        Ok(match self {
            Self::Shared(cache) => Self::Shared(cache.fork(decoder, held)?),
            Self::Concat(cache) => Self::Concat(cache.clone()),
        })
    }
}

/// Makes a tensor of zeros for `positions` in each of `rows`.
fn empty_tensor(slot: &Slot, rows: usize, positions: usize) -> Result<Tensor<f32>> {
    let shape = [rows as i64, slot.heads as i64, positions as i64, slot.width as i64];
    let tensor = Tensor::<f32>::new(&Allocator::default(), shape);
    let mut tensor = tensor.map_err(error::runtime("make room for the cache"))?;
    let (_, values) = tensor.try_extract_tensor_mut::<f32>().map_err(error::runtime("clear a cache"))?;
    values.fill(0.0);
    Ok(tensor)
}

/// Copies the first `held` positions of every head; the two tensors may have room for different numbers of them.
fn copy_positions(slot: &Slot, held: usize, from: &[f32], to: &mut [f32]) {
    let used = held * slot.width;
    let room = |values: usize| (values / slot.heads.max(1)).max(1);
    let (from_room, to_room) = (room(from.len()), room(to.len()));
    for (from, to) in from.chunks_exact(from_room).zip(to.chunks_exact_mut(to_room)) {
        if let (Some(from), Some(to)) = (from.get(..used), to.get_mut(..used)) {
            to.copy_from_slice(from);
        }
    }
}

/// Appends the first `held` positions of every head.
fn write_positions(slot: &Slot, held: usize, from: &[f32], into: &mut Vec<u8>) {
    let used = held * slot.width;
    let room = (from.len() / slot.heads.max(1)).max(1);
    for head in from.chunks_exact(room) {
        let start = into.len();
        into.resize(start + used * size_of::<f32>(), 0);
        let (to, _) = into.get_mut(start..).unwrap_or_default().as_chunks_mut();
        to.iter_mut().zip(head).for_each(|(to, value)| *to = value.to_le_bytes());
    }
}

/// Takes the first `held` positions of every head off the front of what was written.
fn read_positions(slot: &Slot, held: usize, state: &mut &[u8], to: &mut [f32]) {
    let used = held * slot.width;
    let room = (to.len() / slot.heads.max(1)).max(1);
    for head in to.chunks_exact_mut(room) {
        let (written, rest) = state.split_at_checked(used * size_of::<f32>()).unwrap_or_default();
        let (values, _) = written.as_chunks();
        head.iter_mut().zip(values).for_each(|(to, value)| *to = f32::from_le_bytes(*value));
        *state = rest;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_down_has_no_room_and_comes_back_into_any() {
        let slot = Slot { past: String::new(), present: String::new(), heads: 2, width: 2 };
        let mut written = vec![7];
        write_positions(&slot, 1, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0], &mut written);
        assert_eq!(written.len(), 1 + 4 * size_of::<f32>());
        let (mut state, mut to) = (written.get(1..).unwrap_or_default(), [9.0; 12]);
        read_positions(&slot, 1, &mut state, &mut to);
        assert_eq!(to, [1.0, 2.0, 9.0, 9.0, 9.0, 9.0, 5.0, 6.0, 9.0, 9.0, 9.0, 9.0]);
        assert!(state.is_empty());
    }

    #[test]
    fn positions_are_copied_head_by_head() {
        let slot = Slot { past: String::new(), present: String::new(), heads: 2, width: 2 };
        let from = [1.0, 2.0, 3.0, 4.0, 0.0, 0.0, 5.0, 6.0, 7.0, 8.0, 0.0, 0.0];
        let mut to = [9.0; 8];
        copy_positions(&slot, 1, &from, &mut to);
        assert_eq!(to, [1.0, 2.0, 9.0, 9.0, 5.0, 6.0, 9.0, 9.0]);
    }
}
