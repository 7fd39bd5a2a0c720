//! Caches of keys and values: what a session holds of the tokens it has seen. Knows tokens, not units.

use alloquy_core::{Result, StateReader};
use ort::session::RunOptions;

use crate::decoder::Decoder;
use crate::feeds::Row;
use crate::layout::{CacheKind, Slot};

mod batch;
mod buffers;
mod concat;
mod lease;
mod room;
mod shared;

pub(crate) use batch::{Share, Token, step};
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
    /// What is fed; what the cache holds beyond the positions before it is forgotten.
    pub(crate) row: Row<'a>,
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

    /// Makes the next room that it gets one for so many positions. What a graph gives anew has no room to spare.
    pub(crate) fn reserve(&mut self, positions: usize) {
        match self {
            Self::Shared(cache) => cache.least = cache.least.max(positions),
            Self::Concat(_) => {}
        }
    }

    /// Returns its share of a step with others, where its kind can have one.
    pub(crate) fn share<'a>(&'a mut self, token: Token, logits: &'a mut Vec<f32>) -> Option<Share<'a>> {
        match self {
            Self::Shared(cache) => Some(Share::new(cache, token, logits)),
            Self::Concat(_) => None,
        }
    }

    /// Returns its part of the memory that it and others of one trunk take.
    pub(crate) fn bytes(&self, decoder: &Decoder) -> usize {
        match self {
            Self::Shared(cache) => cache.bytes(decoder),
            Self::Concat(cache) => cache.bytes(decoder),
        }
    }

    /// Returns how many bytes it has copied since it was made.
    pub(crate) fn copied(&self) -> usize {
        match self {
            Self::Shared(cache) => cache.copied(),
            Self::Concat(cache) => cache.copied(),
        }
    }

    /// Writes down the first `held` positions: every tensor in the layout's order, head by head, its numbers as they are,
    /// little-endian.
    pub(crate) fn snapshot(&self, decoder: &Decoder, held: usize, into: &mut Vec<u8>) -> Result<()> {
        into.reserve(held * decoder.layout.bytes_per_position());
        match self {
            Self::Shared(cache) => cache.snapshot(held, &decoder.layout.slots, into),
            Self::Concat(cache) => cache.snapshot(held, &decoder.layout.slots, into)?,
        }
        Ok(())
    }

    /// Makes a cache of `held` positions that were written down; of either kind, whatever kind wrote them.
    pub(crate) fn restored(decoder: &Decoder, held: usize, state: &mut StateReader<'_>) -> Result<Self> {
        Ok(match Self::new(decoder) {
            Self::Shared(cache) => Self::Shared(cache.restored(decoder, held, state)?),
            Self::Concat(_) => Self::Concat(ConcatCache::restored(decoder, held, state)?),
        })
    }

    /// Returns a cache of the first `held` positions. Nothing is copied until one of the two would change what the other reads.
    pub(crate) fn fork(&self, held: usize) -> Self {
        match self {
            Self::Shared(cache) => Self::Shared(cache.fork(held)),
            Self::Concat(cache) => Self::Concat(cache.fork()),
        }
    }
}

/// Appends the first `held` positions of every head.
fn write_positions(slot: &Slot, held: usize, from: &[u8], into: &mut Vec<u8>) {
    let used = held * slot.width * slot.element.size();
    let room = (from.len() / slot.heads.max(1)).max(1);
    for head in from.chunks_exact(room) {
        let start = into.len();
        into.extend_from_slice(head.get(..used).unwrap_or(head));
        in_little_endian(slot, into.get_mut(start..).unwrap_or_default());
    }
}

/// Takes the first `held` positions of every head, which come next in what was written.
fn read_positions(slot: &Slot, held: usize, state: &mut StateReader<'_>, to: &mut [u8]) -> Result<()> {
    let used = held * slot.width * slot.element.size();
    let room = (to.len() / slot.heads.max(1)).max(1);
    to.chunks_exact_mut(room).try_for_each(|head| {
        let head = head.get_mut(..used).unwrap_or_default();
        state.fill(head)?;
        in_little_endian(slot, head);
        Ok(())
    })
}

/// Turns numbers as this machine has them into those of a state, or back: states are the same on every machine.
fn in_little_endian(slot: &Slot, numbers: &mut [u8]) {
    if cfg!(target_endian = "big") {
        numbers.chunks_exact_mut(slot.element.size()).for_each(<[u8]>::reverse);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::element::Element;

    #[test]
    fn what_is_written_down_has_no_room_and_comes_back_into_any() {
        for element in [Element::F32, Element::F16, Element::Bf16] {
            let slot = Slot { past: String::new(), present: String::new(), heads: 2, width: 2, element };
            let numbers = |numbers: &[u8]| -> Vec<u8> {
                numbers.iter().flat_map(|&number| std::iter::repeat_n(number, element.size())).collect()
            };
            let mut written = vec![7];
            write_positions(&slot, 1, &numbers(&[1, 2, 3, 4, 5, 6, 7, 8]), &mut written);
            assert_eq!(written.get(1..).unwrap_or_default(), numbers(&[1, 2, 5, 6]));
            let (mut state, mut to) = (written.get(1..).unwrap_or_default(), numbers(&[9; 12]));
            let read = read_positions(&slot, 1, &mut StateReader::new(&mut state), &mut to);
            assert!(read.is_ok() && state.is_empty());
            assert_eq!(to, numbers(&[1, 2, 9, 9, 9, 9, 5, 6, 9, 9, 9, 9]));
        }
    }
}
