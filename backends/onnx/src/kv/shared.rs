//! A cache that the graph writes into: past and present are one buffer.
//!
//! The kernel (`GroupQueryAttention`) appends behind the positions that the attention mask counts and reads
//! nothing beyond them, so going back is only counting less. Layers with a sliding window get buffers of full
//! length too: a ring as short as the window would have overwritten what a rewind needs.

use alloquy_core::{Error, ErrorKind, Result, TokenId};
use ort::memory::{AllocationDevice, AllocatorType, MemoryInfo, MemoryType};
use ort::session::IoBinding;
use ort::value::Tensor;

use super::{copy_positions, empty_tensor};
use crate::decoder::{Decoder, last_rows};
use crate::error;
use crate::feeds::feeds;

/// How many positions a cache has room for at first.
const FIRST_CAPACITY: usize = 256;

/// A cache that the graph writes into.
#[derive(Debug, Default)]
pub(crate) struct SharedCache {
    buffers: Option<Box<Buffers>>,
    least: usize,
}

#[derive(Debug)]
struct Buffers {
    tensors: Vec<Tensor<f32>>,
    capacity: usize,
    /// Holds on to every tensor as past and as present.
    binding: IoBinding,
}

impl SharedCache {
    /// Creates a cache without room; it will have room for at least `least` positions.
    pub(super) fn new(least: usize) -> Self {
        Self { buffers: None, least }
    }

    pub(super) fn run(
        &mut self,
        decoder: &Decoder,
        tokens: &[TokenId],
        held: usize,
        rows: usize,
        logits: &mut Vec<f32>,
    ) -> Result<()> {
        let needed = held + tokens.len();
        if self.buffers.as_ref().is_none_or(|buffers| buffers.capacity < needed) {
            self.grow(decoder, held, needed)?;
        }
        let Some(buffers) = &mut self.buffers else {
            return Err(Error::new(ErrorKind::Backend, "the cache has no room"));
        };
        buffers.run(decoder, tokens, held, rows, logits).map_err(error::runtime("run the model"))
    }

    pub(super) fn fork(&self, decoder: &Decoder, held: usize) -> Result<Self> {
        let mut fork = Self::new(self.least);
        if let Some(buffers) = self.buffers.as_ref().filter(|_| held > 0) {
            let capacity = fork.capacity(decoder, held, 0);
            fork.buffers = Some(Box::new(buffers.copy(decoder, held, capacity)?));
        }
        Ok(fork)
    }

    /// Makes room for `needed` positions and keeps the first `held`. Without memory for it, nothing changes.
    fn grow(&mut self, decoder: &Decoder, held: usize, needed: usize) -> Result<()> {
        let larger = match &self.buffers {
            Some(small) => small.copy(decoder, held, self.capacity(decoder, needed, small.capacity))?,
            None => Buffers::new(decoder, self.capacity(decoder, needed, 0))?,
        };
        self.buffers = Some(Box::new(larger));
        Ok(())
    }

    /// Doubling makes the copies of a growing cache cost no more than the cache itself.
    fn capacity(&self, decoder: &Decoder, needed: usize, before: usize) -> usize {
        let wanted = needed.max(before * 2).max(FIRST_CAPACITY).min(decoder.context_length);
        wanted.max(needed).max(self.least)
    }
}

impl Buffers {
    fn new(decoder: &Decoder, capacity: usize) -> Result<Self> {
        let slots = decoder.layout.slots.iter();
        let tensors = slots.map(|slot| empty_tensor(slot, capacity)).collect::<Result<_>>()?;
        Self::bound(decoder, tensors, capacity)
    }

    fn copy(&self, decoder: &Decoder, held: usize, capacity: usize) -> Result<Self> {
        let mut tensors = Vec::with_capacity(self.tensors.len());
        for (slot, from) in decoder.layout.slots.iter().zip(&self.tensors) {
            let mut to = empty_tensor(slot, capacity)?;
            let failed = || error::runtime("copy a cache");
            let (_, from) = from.try_extract_tensor::<f32>().map_err(failed())?;
            let (_, values) = to.try_extract_tensor_mut::<f32>().map_err(failed())?;
            copy_positions(slot, held, from, values);
            tensors.push(to);
        }
        Self::bound(decoder, tensors, capacity)
    }

    fn bound(decoder: &Decoder, mut tensors: Vec<Tensor<f32>>, capacity: usize) -> Result<Self> {
        let mut bind = || -> ort::Result<IoBinding> {
            let mut binding = decoder.lock().create_binding()?;
            for (slot, tensor) in decoder.layout.slots.iter().zip(&mut tensors) {
                binding.bind_input(&slot.past, tensor)?;
                binding.bind_output(&slot.present, tensor)?;
            }
            Ok(binding)
        };
        let binding = bind().map_err(error::runtime("bind a cache"))?;
        Ok(Self { tensors, capacity, binding })
    }

    fn run(
        &mut self,
        decoder: &Decoder,
        tokens: &[TokenId],
        held: usize,
        rows: usize,
        logits: &mut Vec<f32>,
    ) -> ort::Result<()> {
        for (name, value) in feeds(&decoder.layout, tokens, held, rows)? {
            self.binding.bind_input(name, &value)?;
        }
        // Bound anew each time: the tensor of the last run would be used again, and has the last run's shape.
        let host = MemoryInfo::new(AllocationDevice::CPU, 0, AllocatorType::Device, MemoryType::CPUOutput)?;
        self.binding.bind_output_to_device(&decoder.layout.logits, &host)?;
        let mut session = decoder.lock();
        let outputs = session.run_binding(&self.binding)?;
        last_rows(&outputs, &decoder.layout, rows, logits)
    }
}
