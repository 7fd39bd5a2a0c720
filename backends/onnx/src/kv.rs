//! Caches of keys and values for the positions that a session has computed.

use alloquy_core::Result;
use alloquy_engine::decoder::StateReader;

use crate::decoder::Decoder;
use crate::layout::CacheKind;

mod batch;
mod buffers;
mod concat;
mod lease;
mod place;
mod positions;
mod room;
pub(crate) mod run;
mod shared;
pub(crate) mod step;

use concat::ConcatCache;
use run::Run;
use shared::SharedCache;
use step::{Share, Token};

/// A cache of one of the two kinds.
#[derive(Debug)]
pub(crate) enum Cache {
    Shared(SharedCache),
    Concat(ConcatCache),
}

impl Cache {
    pub(crate) fn new(decoder: &Decoder) -> Self {
        match decoder.layout.cache {
            CacheKind::Shared { least } => Self::Shared(SharedCache::new(least)),
            CacheKind::Concat => Self::Concat(ConcatCache::default()),
        }
    }

    /// Computes tokens, and puts their last logits into `logits`.
    pub(crate) fn run(&mut self, decoder: &Decoder, run: &Run<'_>, logits: &mut Vec<f32>) -> Result<()> {
        match self {
            Self::Shared(cache) => cache.run(decoder, run, logits),
            Self::Concat(cache) => cache.run(decoder, run, logits),
        }
    }

    /// Sets for how many positions the next buffers have room. A cache of new tensors has no spare room.
    pub(crate) fn reserve(&mut self, positions: usize) {
        match self {
            Self::Shared(cache) => cache.least = cache.least.max(positions),
            Self::Concat(_) => {}
        }
    }

    /// Returns its share of a step of several sessions; `None` for a kind that cannot take part.
    pub(crate) fn share<'a>(&'a mut self, token: Token, logits: &'a mut Vec<f32>) -> Option<Share<'a>> {
        match self {
            Self::Shared(cache) => Some(Share::new(cache, token, logits)),
            Self::Concat(_) => None,
        }
    }

    /// Returns its part of the memory that it shares with its forks.
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

    /// Appends a snapshot of the first `cached` positions: every tensor in the layout's order, head by head, in its own number
    /// type, little-endian.
    pub(crate) fn snapshot(&self, decoder: &Decoder, cached: usize, into: &mut Vec<u8>) -> Result<()> {
        into.reserve(cached * decoder.layout.bytes_per_position());
        match self {
            Self::Shared(cache) => cache.snapshot(cached, &decoder.layout.slots, into),
            Self::Concat(cache) => cache.snapshot(cached, &decoder.layout.slots, into)?,
        }
        Ok(())
    }

    /// Makes a cache of `cached` positions from a snapshot. Both kinds read the snapshots of either.
    pub(crate) fn restored(decoder: &Decoder, cached: usize, state: &mut StateReader<'_>) -> Result<Self> {
        Ok(match Self::new(decoder) {
            Self::Shared(cache) => Self::Shared(cache.restored(decoder, cached, state)?),
            Self::Concat(_) => Self::Concat(ConcatCache::restored(decoder, cached, state)?),
        })
    }

    /// Returns a cache of the first `cached` positions. Nothing is copied until one of the two would change what the other reads.
    pub(crate) fn fork(&self, cached: usize) -> Self {
        match self {
            Self::Shared(cache) => Self::Shared(cache.fork(cached)),
            Self::Concat(cache) => Self::Concat(cache.fork()),
        }
    }
}
