//! Tensors that a graph reads as past and writes as present, with a row for each session in them.

use alloquy_core::{Result, StateReader};
use ort::memory::{AllocationDevice, Allocator, AllocatorType, MemoryInfo, MemoryType};
use ort::session::{IoBinding, RunOptions, SessionOutputs};
use ort::value::DynTensor;
use rayon::prelude::*;

use super::{empty_tensor, read_positions, write_positions};
use crate::decoder::Decoder;
use crate::error;
use crate::feeds::{Row, feeds};
use crate::layout::Slot;

/// How many positions a cache has room for at first.
pub(super) const FIRST_CAPACITY: usize = 256;

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
    tensors: Vec<DynTensor>,
    rows: usize,
    pub(super) capacity: usize,
    /// Where the logits of a step go, the token of each row.
    logits: DynTensor,
    /// Holds on to every tensor as past and as present, and to the logits while steps follow each other.
    binding: IoBinding,
    /// Whether the last run was a step.
    stepped: bool,
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
        // Clearing half a gigabyte is mostly the system's work on fresh pages, which every core can do.
        let slots = decoder.layout.slots.par_iter();
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
        let logits = step_logits(decoder, rows).map_err(error::runtime("make room for logits"))?;
        Ok(Self { tensors, rows, capacity, logits, binding, stepped: false })
    }

    /// Appends the first `held` positions of a row in one of the tensors.
    pub(super) fn write(
        &self,
        row: usize,
        (number, slot): (usize, &Slot),
        held: usize,
        into: &mut Vec<u8>,
    ) -> Result<()> {
        let Some(tensor) = self.tensors.get(number) else { return Ok(()) };
        let bytes = slot.element.bytes(tensor).map_err(error::runtime("read a cache"))?;
        let size = (bytes.len() / self.rows.max(1)).max(1);
        write_positions(slot, held, bytes.chunks_exact(size).nth(row).unwrap_or_default(), into);
        Ok(())
    }

    /// Takes `held` positions that were written down into a row of one of the tensors.
    pub(super) fn read(
        &mut self,
        row: usize,
        (number, slot): (usize, &Slot),
        held: usize,
        from: &mut StateReader<'_>,
    ) -> Result<()> {
        let rows = self.rows;
        let Some(tensor) = self.tensors.get_mut(number) else { return Ok(()) };
        read_positions(slot, held, from, row_of(tensor, slot, (row, rows))?)
    }

    /// Runs the graph; `read` takes what it wants of the outputs.
    pub(super) fn run(
        &mut self,
        decoder: &Decoder,
        feed: &Feed<'_>,
        read: impl FnOnce(&SessionOutputs<'_>) -> ort::Result<()>,
    ) -> ort::Result<()> {
        for (name, value) in feeds(decoder, feed.rows, feed.keep)? {
            self.binding.bind_input(name, &value)?;
        }
        self.bind_logits(decoder, feed)?;
        let mut session = decoder.lock();
        let outputs = decoder.counted(|| match feed.options {
            Some(options) => session.run_binding_with_options(&self.binding, options),
            None => session.run_binding(&self.binding),
        })?;
        read(&outputs)
    }

    /// Says where the logits go. Those of a step have one shape, and a place that stays; those of anything else get a new one
    /// each time, because that of the last run would be used again, and has the last run's shape.
    fn bind_logits(&mut self, decoder: &Decoder, feed: &Feed<'_>) -> ort::Result<()> {
        let steps = decoder.layout.logits_in_rows && feed.rows.iter().all(|row| row.tokens.len() == 1);
        if !steps {
            let host =
                MemoryInfo::new(AllocationDevice::CPU, 0, AllocatorType::Device, MemoryType::CPUOutput)?;
            self.binding.bind_output_to_device(&decoder.layout.logits, &host)?;
        } else if !self.stepped {
            self.binding.bind_output(&decoder.layout.logits, &mut self.logits)?;
        }
        self.stepped = steps;
        Ok(())
    }
}

/// The bytes of one of so many rows of a tensor.
fn row_of<'a>(tensor: &'a mut DynTensor, slot: &Slot, (row, rows): (usize, usize)) -> Result<&'a mut [u8]> {
    let bytes = slot.element.bytes_mut(tensor).map_err(error::runtime("fill a cache"))?;
    let size = (bytes.len() / rows.max(1)).max(1);
    Ok(bytes.chunks_exact_mut(size).nth(row).unwrap_or_default())
}

/// Makes a tensor for the logits of one token in each row.
fn step_logits(decoder: &Decoder, rows: usize) -> ort::Result<DynTensor> {
    let shape = [rows as i64, 1, decoder.layout.vocabulary as i64];
    DynTensor::new(&Allocator::default(), decoder.layout.logits_element.kind(), shape)
}
