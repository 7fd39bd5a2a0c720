//! Tensors that a graph reads as past and writes as present, with a row for each session in them.

use alloquy_core::Result;
use ort::memory::{AllocationDevice, AllocatorType, MemoryInfo, MemoryType};
use ort::session::{IoBinding, RunOptions, SessionOutputs};
use ort::value::Tensor;

use super::{copy_positions, empty_tensor, read_positions, write_positions};
use crate::decoder::Decoder;
use crate::error;
use crate::feeds::{Row, feeds};
use crate::layout::Slot;

/// How many positions a cache has room for at first.
const FIRST_CAPACITY: usize = 256;

/// What a graph is run on.
pub(super) struct Feed<'a> {
    /// What each row of the tensors is given.
    pub(super) rows: &'a [Row<'a>],
    /// Of how many of the last tokens the logits are wanted.
    pub(super) keep: usize,
    pub(super) options: Option<&'a RunOptions>,
}

/// Tensors with room for so many positions in each of so many rows.
#[derive(Debug)]
pub(super) struct Buffers {
    tensors: Vec<Tensor<f32>>,
    pub(super) rows: usize,
    pub(super) capacity: usize,
    /// Holds on to every tensor as past and as present.
    binding: IoBinding,
}

/// How much room `needed` positions get, where there was room for `before`.
///
/// Doubling makes the copies of a growing cache cost no more than the cache itself.
pub(super) fn capacity(decoder: &Decoder, needed: usize, before: usize, least: usize) -> usize {
    let wanted = needed.max(before * 2).max(FIRST_CAPACITY).min(decoder.context_length);
    wanted.max(needed).max(least)
}

impl Buffers {
    pub(super) fn new(decoder: &Decoder, rows: usize, capacity: usize) -> Result<Self> {
        let slots = decoder.layout.slots.iter();
        let mut tensors = slots.map(|slot| empty_tensor(slot, rows, capacity)).collect::<Result<Vec<_>>>()?;
        let mut bind = || -> ort::Result<IoBinding> {
            let mut binding = decoder.lock().create_binding()?;
            for (slot, tensor) in decoder.layout.slots.iter().zip(&mut tensors) {
                binding.bind_input(&slot.past, tensor)?;
                binding.bind_output(&slot.present, tensor)?;
            }
            for (name, tensor) in decoder.adapter.tensors() {
                binding.bind_input(name, tensor)?;
            }
            Ok(binding)
        };
        let binding = bind().map_err(error::runtime("bind a cache"))?;
        Ok(Self { tensors, rows, capacity, binding })
    }

    /// Copies the first `held` positions of a row of `other` into a row of these.
    pub(super) fn copy_row(
        &mut self,
        row: usize,
        other: &Self,
        other_row: usize,
        held: usize,
        slots: &[Slot],
    ) -> Result<()> {
        let failed = || error::runtime("copy a cache");
        for ((slot, to), from) in slots.iter().zip(&mut self.tensors).zip(&other.tensors) {
            let (_, from) = from.try_extract_tensor::<f32>().map_err(failed())?;
            let (_, to) = to.try_extract_tensor_mut::<f32>().map_err(failed())?;
            let (from_size, to_size) = (from.len() / other.rows.max(1), to.len() / self.rows.max(1));
            let from = from.chunks_exact(from_size.max(1)).nth(other_row).unwrap_or_default();
            let to = to.chunks_exact_mut(to_size.max(1)).nth(row).unwrap_or_default();
            copy_positions(slot, held, from, to);
        }
        Ok(())
    }

    /// Writes down the first `held` positions of a row.
    pub(super) fn write_row(
        &self,
        row: usize,
        held: usize,
        slots: &[Slot],
        into: &mut Vec<u8>,
    ) -> Result<()> {
        for (slot, tensor) in slots.iter().zip(&self.tensors) {
            let (_, values) = tensor.try_extract_tensor::<f32>().map_err(error::runtime("read a cache"))?;
            let size = values.len() / self.rows.max(1);
            let values = values.chunks_exact(size.max(1)).nth(row).unwrap_or_default();
            write_positions(slot, held, values, into);
        }
        Ok(())
    }

    /// Puts `held` positions that were written down into a buffer of one row.
    pub(super) fn read(&mut self, held: usize, slots: &[Slot], mut state: &[u8]) -> Result<()> {
        for (slot, tensor) in slots.iter().zip(&mut self.tensors) {
            let values = tensor.try_extract_tensor_mut::<f32>().map_err(error::runtime("fill a cache"))?.1;
            read_positions(slot, held, &mut state, values);
        }
        Ok(())
    }

    /// Runs the graph; `read` takes what it wants of the outputs.
    pub(super) fn run(
        &mut self,
        decoder: &Decoder,
        feed: &Feed<'_>,
        read: impl FnOnce(&SessionOutputs<'_>) -> ort::Result<()>,
    ) -> ort::Result<()> {
        for (name, value) in feeds(&decoder.layout, feed.rows, feed.keep)? {
            self.binding.bind_input(name, &value)?;
        }
        // Bound anew each time: the tensor of the last run would be used again, and has the last run's shape.
        let host = MemoryInfo::new(AllocationDevice::CPU, 0, AllocatorType::Device, MemoryType::CPUOutput)?;
        self.binding.bind_output_to_device(&decoder.layout.logits, &host)?;
        let mut session = decoder.lock();
        let outputs = decoder.counted(|| match feed.options {
            Some(options) => session.run_binding_with_options(&self.binding, options),
            None => session.run_binding(&self.binding),
        })?;
        read(&outputs)
    }
}
