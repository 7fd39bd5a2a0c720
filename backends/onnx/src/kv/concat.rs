//! A cache of tensors that the graph makes new, and longer, at each run.
//!
//! No tensor is ever changed, so forks share them. A rewind copies the positions that are kept. That copy is made at the next
//! run, so that two rewinds in a row cost only one copy.

use std::sync::Arc;

use alloquy_core::Result;
use alloquy_engine::decoder::StateReader;
use ort::session::{IoBinding, Session, SessionOutputs};
use ort::value::DynValue;

use super::positions::{tensor_of_positions, write_positions};
use super::run::Run;
use super::states::States;
use crate::decoder::{Decoder, last_rows};
use crate::device_memory::{RowPart, host_info};
use crate::error;
use crate::feeds::feeds;
use crate::slot::Slot;

/// A cache of new tensors at each run.
#[derive(Debug, Default)]
pub(crate) struct ConcatCache {
    /// One tensor for each slot, or none before the first run.
    values: Arc<Vec<DynValue>>,
    positions: usize,
    /// How many bytes were copied after rewinds.
    copied: usize,
}

impl ConcatCache {
    /// Computes tokens, and replaces the states of the session, where there are any.
    pub(super) fn run(
        &mut self,
        decoder: &Decoder,
        run: &Run<'_>,
        states: Option<&mut States>,
        logits: &mut Vec<f32>,
    ) -> Result<()> {
        self.cut(decoder, run.row.cached)?;
        let values = self.compute(decoder, run, states, logits).map_err(error::runtime("run the model"))?;
        self.values = Arc::new(values);
        self.positions = run.row.end();
        Ok(())
    }

    /// Runs the graph and returns the new tensors.
    fn compute(
        &self,
        decoder: &Decoder,
        run: &Run<'_>,
        states: Option<&mut States>,
        logits: &mut Vec<f32>,
    ) -> ort::Result<Vec<DynValue>> {
        let mut session = decoder.lock();
        let values = states.as_deref().map(States::values).unwrap_or_default();
        let binding = self.bound(decoder, &session, run, &values)?;
        let mut outputs = decoder.time.counted(|| match run.options {
            Some(options) => session.run_binding_with_options(&binding, options),
            None => session.run_binding(&binding),
        })?;
        last_rows(&outputs, &decoder.layout, run.rows, logits)?;
        let values = presents(decoder, &mut outputs)?;
        if let Some(states) = states {
            states.take(&decoder.layout, run.row.end(), &mut outputs)?;
        }
        Ok(values)
    }

    /// Binds the inputs of a run, and where its outputs are made.
    fn bound(
        &self,
        decoder: &Decoder,
        session: &Session,
        run: &Run<'_>,
        states: &[DynValue],
    ) -> ort::Result<IoBinding> {
        let layout = &decoder.layout;
        let mut binding = session.create_binding()?;
        for (name, value) in feeds(decoder, &[run.row], run.rows)? {
            binding.bind_input(name, &value)?;
        }
        for (name, tensor) in decoder.adapter.tensors() {
            binding.bind_input(name, tensor)?;
        }
        for (slot, value) in layout.slots.iter().zip(self.values.iter()) {
            binding.bind_input(&slot.past, value)?;
            decoder.bind_kept(&mut binding, &slot.present)?;
        }
        for (slot, value) in layout.states.iter().zip(states) {
            binding.bind_input(&slot.past, value)?;
            decoder.bind_kept(&mut binding, &slot.present)?;
        }
        binding.bind_output_to_device(&layout.logits, &host_info()?)?;
        Ok(binding)
    }

    pub(super) fn snapshot(&self, decoder: &Decoder, cached: usize, into: &mut Vec<u8>) -> Result<()> {
        for (slot, value) in decoder.layout.slots.iter().zip(self.values.iter()) {
            match &decoder.memory {
                None => write(slot, cached, value, into)?,
                Some(_) if cached == 0 => {}
                Some(memory) => {
                    let part = memory.part_to_host(RowPart { slot, row: 0, positions: cached }, value)?;
                    write(slot, cached, &part, into)?;
                }
            }
        }
        Ok(())
    }

    /// Makes the tensors of `cached` positions from a snapshot.
    pub(super) fn restored(decoder: &Decoder, cached: usize, state: &mut StateReader<'_>) -> Result<Self> {
        let mut values = Vec::with_capacity(decoder.layout.slots.len());
        for slot in &decoder.layout.slots {
            values.push(tensor_of_positions(slot, cached, state)?);
        }
        Ok(Self { values: Arc::new(values), positions: cached, copied: 0 })
    }

    /// Returns a cache of the same tensors.
    pub(super) fn fork(&self) -> Self {
        Self { values: Arc::clone(&self.values), positions: self.positions, copied: 0 }
    }

    /// Returns its part of the memory of its tensors, which it shares with forks.
    pub(super) fn bytes(&self, decoder: &Decoder) -> usize {
        self.positions * decoder.layout.bytes_per_position() / Arc::strong_count(&self.values)
    }

    pub(super) fn copied(&self) -> usize {
        self.copied
    }

    /// Keeps the first `cached` positions, and makes the empty tensors of a first run.
    fn cut(&mut self, decoder: &Decoder, cached: usize) -> Result<()> {
        let slots = &decoder.layout.slots;
        if cached == self.positions && self.values.len() == slots.len() {
            return Ok(());
        }
        let mut values = Vec::with_capacity(slots.len());
        for (index, slot) in slots.iter().enumerate() {
            values.push(shortened(decoder, slot, cached, self.values.get(index))?);
        }
        self.values = Arc::new(values);
        self.positions = cached;
        self.copied += cached * decoder.layout.bytes_per_position();
        Ok(())
    }
}

/// Copies the first `cached` positions of a tensor, on the device where it is there. Without a tensor, the copy is empty.
fn shortened(decoder: &Decoder, slot: &Slot, cached: usize, value: Option<&DynValue>) -> Result<DynValue> {
    let mut bytes = Vec::new();
    if let Some(value) = value.filter(|_| cached > 0) {
        if let Some(memory) = &decoder.memory {
            return memory.copied(RowPart { slot, row: 0, positions: cached }, value);
        }
        write(slot, cached, value, &mut bytes)?;
    }
    tensor_of_positions(slot, cached, &mut StateReader::new(&mut bytes.as_slice()))
}

/// Appends the first `cached` positions of a tensor.
fn write(slot: &Slot, cached: usize, value: &DynValue, into: &mut Vec<u8>) -> Result<()> {
    let bytes = slot.element.bytes(value).map_err(error::runtime("read a cache"))?;
    write_positions(slot, cached, bytes, into);
    Ok(())
}

fn presents(decoder: &Decoder, outputs: &mut SessionOutputs<'_>) -> ort::Result<Vec<DynValue>> {
    let mut presents = Vec::with_capacity(decoder.layout.slots.len());
    for slot in &decoder.layout.slots {
        let Some(present) = outputs.remove(&slot.present) else {
            return Err(ort::Error::new(format!("the graph did not return {}", slot.present)));
        };
        presents.push(present);
    }
    Ok(presents)
}
