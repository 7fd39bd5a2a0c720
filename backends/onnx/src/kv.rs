//! Caches of keys and values for the positions that a session has computed.

use alloquy_core::Result;
use alloquy_engine::decoder::StateReader;

use crate::decoder::Decoder;
use crate::layout::CacheKind;

mod batch;
mod buffers;
mod concat;
mod device_room;
mod host_room;
mod lease;
mod place;
mod positions;
mod room;
pub(crate) mod run;
mod shared;
mod states;
pub(crate) mod step;

use concat::ConcatCache;
use run::Run;
use shared::SharedCache;
use states::States;
use step::{Share, Token};

/// What a session has computed: keys and values for each position, and the states of layers that have some.
#[derive(Debug)]
pub(crate) struct Cache {
    attention: Attention,
    /// The states, where the graph has any.
    states: Option<States>,
}

/// A cache of keys and values of one of the two kinds.
#[derive(Debug)]
enum Attention {
    Shared(SharedCache),
    Concat(ConcatCache),
}

impl Attention {
    fn new(decoder: &Decoder) -> Self {
        match decoder.layout.cache {
            CacheKind::Shared { least } => Self::Shared(SharedCache::new(least)),
            CacheKind::Concat => Self::Concat(ConcatCache::default()),
        }
    }
}

impl Cache {
    pub(crate) fn new(decoder: &Decoder) -> Result<Self> {
        let mut states = None;
        if !decoder.layout.states.is_empty() {
            states = Some(States::new(&decoder.layout, decoder.state_budget)?);
        }
        Ok(Self { attention: Attention::new(decoder), states })
    }

    /// Computes tokens, and puts their last logits into `logits`.
    pub(crate) fn run(&mut self, decoder: &Decoder, run: &Run<'_>, logits: &mut Vec<f32>) -> Result<()> {
        if let Some(states) = &mut self.states {
            states.rewind(&decoder.layout, run.row.cached)?;
        }
        let states = self.states.as_mut();
        match &mut self.attention {
            Attention::Shared(cache) => cache.run(decoder, run, states, logits),
            Attention::Concat(cache) => cache.run(decoder, run, states, logits),
        }
    }

    /// Returns the greatest number of positions, at most `positions`, that it can be cut to.
    pub(crate) fn reaches(&self, positions: usize) -> usize {
        self.states.as_ref().map_or(positions, |states| states.reaches(positions))
    }

    /// Returns whether it can be cut to any number of positions.
    pub(crate) fn rewinds(&self) -> bool {
        self.states.is_none()
    }

    /// Keeps the states after the first `cached` positions, so that it can be cut to these later.
    pub(crate) fn mark(&mut self, decoder: &Decoder, cached: usize) {
        if let Some(states) = &mut self.states {
            states.mark(&decoder.layout, cached);
        }
    }

    /// Sets for how many positions the next buffers have room. A cache of new tensors has no spare room.
    pub(crate) fn reserve(&mut self, positions: usize) {
        match &mut self.attention {
            Attention::Shared(cache) => cache.least = cache.least.max(positions),
            Attention::Concat(_) => {}
        }
    }

    /// Returns its share of a step of several sessions; `None` for a kind that cannot take part. States are those of one session.
    pub(crate) fn share<'a>(&'a mut self, token: Token, logits: &'a mut Vec<f32>) -> Option<Share<'a>> {
        match &mut self.attention {
            Attention::Shared(cache) if self.states.is_none() => Some(Share::new(cache, token, logits)),
            Attention::Shared(_) | Attention::Concat(_) => None,
        }
    }

    /// Returns its part of the memory that it shares with its forks.
    pub(crate) fn bytes(&self, decoder: &Decoder) -> usize {
        let attention = match &self.attention {
            Attention::Shared(cache) => cache.bytes(decoder),
            Attention::Concat(cache) => cache.bytes(decoder),
        };
        attention + self.states.as_ref().map_or(0, |states| states.bytes(&decoder.layout))
    }

    /// Returns how many bytes it has copied since it was made.
    pub(crate) fn copied(&self) -> usize {
        match &self.attention {
            Attention::Shared(cache) => cache.copied(),
            Attention::Concat(cache) => cache.copied(),
        }
    }

    /// Appends a snapshot of the first `cached` positions: every tensor in the layout's order, head by head, and then every state, in
    /// its own number type, little-endian.
    pub(crate) fn snapshot(&self, decoder: &Decoder, cached: usize, into: &mut Vec<u8>) -> Result<()> {
        into.reserve(cached * decoder.layout.bytes_per_position() + decoder.layout.state_bytes());
        match &self.attention {
            Attention::Shared(cache) => cache.snapshot(cached, &decoder.layout.slots, into)?,
            Attention::Concat(cache) => cache.snapshot(decoder, cached, into)?,
        }
        match &self.states {
            Some(states) => states.snapshot(decoder, cached, into),
            None => Ok(()),
        }
    }

    /// Makes a cache of `cached` positions from a snapshot. Both kinds read the snapshots of either.
    pub(crate) fn restored(decoder: &Decoder, cached: usize, state: &mut StateReader<'_>) -> Result<Self> {
        let attention = match Attention::new(decoder) {
            Attention::Shared(cache) => Attention::Shared(cache.restored(decoder, cached, state)?),
            Attention::Concat(_) => Attention::Concat(ConcatCache::restored(decoder, cached, state)?),
        };
        let mut states = None;
        if !decoder.layout.states.is_empty() {
            states = Some(States::restored(&decoder.layout, cached, decoder.state_budget, state)?);
        }
        Ok(Self { attention, states })
    }

    /// Returns a cache of the first `cached` positions. Nothing is copied until one of the two would change what the other reads.
    pub(crate) fn fork(&self, cached: usize) -> Self {
        let attention = match &self.attention {
            Attention::Shared(cache) => Attention::Shared(cache.fork(cached)),
            Attention::Concat(cache) => Attention::Concat(cache.fork()),
        };
        Self { attention, states: self.states.clone() }
    }
}
