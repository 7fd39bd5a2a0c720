//! A cache of tensors that the graph makes new, and longer, at each run.
//!
//! No tensor is ever changed, so forks share them. A rewind copies the positions that are kept. That copy is made at the next
//! run, so that two rewinds in a row cost only one copy.

use std::borrow::Cow;
use std::sync::Arc;

use alloquy_core::Result;
use alloquy_engine::decoder::StateReader;
use ort::memory::Allocator;
use ort::session::{SessionInputValue, SessionOutputs};
use ort::value::{DynTensor, DynValue};

use super::positions::{read_positions, write_positions};
use super::run::Run;
use super::states::States;
use crate::decoder::{Decoder, last_rows};
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
        let inputs = self.inputs(decoder, run, &values)?;
        let mut outputs = decoder.time.counted(|| match run.options {
            Some(options) => session.run_with_options(inputs, options),
            None => session.run(inputs),
        })?;
        last_rows(&outputs, &decoder.layout, run.rows, logits)?;
        let values = presents(decoder, &mut outputs)?;
        if let Some(states) = states {
            states.take(&decoder.layout, run.row.end(), &mut outputs)?;
        }
        Ok(values)
    }

    fn inputs<'a>(
        &'a self,
        decoder: &'a Decoder,
        run: &Run<'_>,
        states: &'a [DynValue],
    ) -> ort::Result<Vec<(Cow<'a, str>, SessionInputValue<'a>)>> {
        let feeds = feeds(decoder, &[run.row], run.rows)?.into_iter();
        let feeds = feeds.map(|(name, value)| (Cow::from(name), SessionInputValue::from(value)));
        let pasts = decoder.layout.slots.iter().zip(self.values.iter());
        let pasts = pasts.map(|(slot, value)| (Cow::from(&slot.past), SessionInputValue::from(value)));
        let states = decoder.layout.states.iter().zip(states);
        let states = states.map(|(slot, value)| (Cow::from(&slot.past), SessionInputValue::from(value)));
        let adapter = decoder.adapter.tensors();
        let adapter = adapter.map(|(name, tensor)| (Cow::from(name), SessionInputValue::from(tensor)));
        Ok(feeds.chain(pasts).chain(states).chain(adapter).collect())
    }

    pub(super) fn snapshot(&self, cached: usize, slots: &[Slot], into: &mut Vec<u8>) -> Result<()> {
        for (slot, value) in slots.iter().zip(self.values.iter()) {
            write(slot, cached, value, into)?;
        }
        Ok(())
    }

    /// Makes the tensors of `cached` positions from a snapshot.
    pub(super) fn restored(decoder: &Decoder, cached: usize, state: &mut StateReader<'_>) -> Result<Self> {
        let mut values = Vec::with_capacity(decoder.layout.slots.len());
        for slot in &decoder.layout.slots {
            values.push(filled(slot, cached, state)?);
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
            values.push(shortened(slot, cached, self.values.get(index))?);
        }
        self.values = Arc::new(values);
        self.positions = cached;
        self.copied += cached * decoder.layout.bytes_per_position();
        Ok(())
    }
}

/// Copies the first `cached` positions of a tensor. Without a tensor, the copy is empty.
fn shortened(slot: &Slot, cached: usize, value: Option<&DynValue>) -> Result<DynValue> {
    let mut bytes = Vec::new();
    if let Some(value) = value.filter(|_| cached > 0) {
        write(slot, cached, value, &mut bytes)?;
    }
    filled(slot, cached, &mut StateReader::new(&mut bytes.as_slice()))
}

/// Appends the first `cached` positions of a tensor.
fn write(slot: &Slot, cached: usize, value: &DynValue, into: &mut Vec<u8>) -> Result<()> {
    let bytes = slot.element.bytes(value).map_err(error::runtime("read a cache"))?;
    write_positions(slot, cached, bytes, into);
    Ok(())
}

/// Makes a tensor of `cached` positions from a snapshot.
fn filled(slot: &Slot, cached: usize, from: &mut StateReader<'_>) -> Result<DynValue> {
    let shape = [1, slot.heads as i64, cached as i64, slot.width as i64];
    let tensor = DynTensor::new(&Allocator::default(), slot.element.kind(), shape);
    let mut tensor = tensor.map_err(error::runtime("make room for the cache"))?;
    let bytes = slot.element.bytes_mut(&mut tensor).map_err(error::runtime("fill a cache"))?;
    read_positions(slot, cached, from, bytes)?;
    Ok(tensor.into_dyn())
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
