//! The states of a session: tensors of fixed size that each run replaces, and those of former positions to which it can go back.
//!
//! No tensor is ever changed: a run makes new ones. So a checkpoint and a fork only share what is there, and nothing is copied. A state
//! cannot be cut as keys and values can, so going back means to continue from a checkpoint, and to compute again what follows it.

use std::sync::Arc;

use alloquy_core::Result;
use alloquy_engine::decoder::StateReader;
use ort::memory::Allocator;
use ort::session::SessionOutputs;
use ort::value::{DynTensor, DynValue};

use crate::decoder::Decoder;
use crate::error::{self, invalid};
use crate::layout::Layout;
use crate::slot::StateSlot;

/// The states after some positions.
#[derive(Clone, Debug)]
struct Checkpoint {
    positions: usize,
    /// One tensor for each state of the layout.
    values: Arc<Vec<DynValue>>,
}

/// The present states of a session, and its checkpoints.
#[derive(Clone, Debug)]
pub(crate) struct States {
    present: Checkpoint,
    /// The states before the last run, whose positions may not count.
    before: Option<Checkpoint>,
    /// The states that were marked, by increasing positions.
    marked: Vec<Checkpoint>,
    /// How many bytes the marked states may take.
    budget: usize,
}

impl States {
    /// Makes the states of a session without positions, which are zeros.
    pub(super) fn new(layout: &Layout, budget: usize) -> Result<Self> {
        let values = layout.states.iter().map(zeros).collect::<Result<_>>()?;
        let present = Checkpoint { positions: 0, values: Arc::new(values) };
        Ok(Self { present, before: None, marked: Vec::new(), budget })
    }

    /// Returns the tensors that the next run reads, in the order of the layout.
    pub(super) fn values(&self) -> Arc<Vec<DynValue>> {
        Arc::clone(&self.present.values)
    }

    /// Takes the states that a run made after `positions` from its outputs.
    pub(super) fn take(
        &mut self,
        layout: &Layout,
        positions: usize,
        outputs: &mut SessionOutputs<'_>,
    ) -> ort::Result<()> {
        let mut values = Vec::with_capacity(layout.states.len());
        for state in &layout.states {
            let Some(present) = outputs.remove(&state.present) else {
                return Err(ort::Error::new(format!("the graph did not return {}", state.present)));
            };
            values.push(present);
        }
        let present = Checkpoint { positions, values: Arc::new(values) };
        self.before = Some(std::mem::replace(&mut self.present, present));
        Ok(())
    }

    /// Returns the greatest number of positions, at most `positions`, after which the states are known.
    pub(super) fn reaches(&self, positions: usize) -> usize {
        let known = self.known().map(|checkpoint| checkpoint.positions);
        known.filter(|&known| known <= positions).max().unwrap_or(0)
    }

    /// Goes back to the states after `positions`, which are known. Those after more positions are forgotten.
    pub(super) fn rewind(&mut self, layout: &Layout, positions: usize) -> Result<()> {
        if self.present.positions == positions {
            return Ok(());
        }
        let found = self.known().find(|checkpoint| checkpoint.positions == positions).cloned();
        let present = match found {
            Some(checkpoint) => checkpoint,
            None if positions == 0 => Self::new(layout, self.budget)?.present,
            None => return Err(invalid(format!("the states after {positions} positions are not known"))),
        };
        self.present = present;
        self.before = None;
        self.marked.retain(|checkpoint| checkpoint.positions <= positions);
        Ok(())
    }

    /// Keeps the states after `positions`, if they are known, so that a later rewind can go back to them.
    ///
    /// Beyond the budget the oldest are dropped, except for the first: conversations are continued at their ends, and begun again after
    /// their instructions.
    pub(super) fn mark(&mut self, layout: &Layout, positions: usize) {
        let is_marked = self.marked.iter().any(|marked| marked.positions == positions);
        let known = self.known().find(|checkpoint| checkpoint.positions == positions).cloned();
        let Some(checkpoint) = known.filter(|_| !is_marked && positions > 0) else { return };
        self.marked.push(checkpoint);
        self.marked.sort_by_key(|checkpoint| checkpoint.positions);
        let most = self.budget / layout.state_bytes().max(1);
        while self.marked.len() > most {
            let oldest = if self.marked.len() > 2 { 1 } else { 0 };
            self.marked.remove(oldest);
        }
    }

    /// Returns about how many bytes of tensors it has, of which it shares some with forks.
    pub(super) fn bytes(&self, layout: &Layout) -> usize {
        let each = layout.state_bytes();
        self.known().map(|checkpoint| each / Arc::strong_count(&checkpoint.values).max(1)).sum()
    }

    /// Appends a snapshot of the states after `positions`.
    pub(super) fn snapshot(&self, decoder: &Decoder, positions: usize, into: &mut Vec<u8>) -> Result<()> {
        let Some(checkpoint) = self.known().find(|checkpoint| checkpoint.positions == positions) else {
            return Err(invalid(format!("the states after {positions} positions are not known")));
        };
        for (state, value) in decoder.layout.states.iter().zip(checkpoint.values.iter()) {
            let start = into.len();
            match &decoder.memory {
                Some(memory) => append(state, &memory.to_host(state.element, value)?, into)?,
                None => append(state, value, into)?,
            }
            in_little_endian(state, into.get_mut(start..).unwrap_or_default());
        }
        Ok(())
    }

    /// Reads the states after `positions` of a snapshot.
    pub(super) fn restored(
        layout: &Layout,
        positions: usize,
        budget: usize,
        state: &mut StateReader<'_>,
    ) -> Result<Self> {
        let mut values = Vec::with_capacity(layout.states.len());
        for slot in &layout.states {
            let mut tensor = empty(slot)?;
            let bytes = slot.element.bytes_mut(&mut tensor).map_err(error::runtime("fill a state"))?;
            state.fill(bytes)?;
            in_little_endian(slot, bytes);
            values.push(tensor.into_dyn());
        }
        let present = Checkpoint { positions, values: Arc::new(values) };
        Ok(Self { present, before: None, marked: Vec::new(), budget })
    }

    /// Returns all states that are known.
    fn known(&self) -> impl Iterator<Item = &Checkpoint> {
        [&self.present].into_iter().chain(&self.before).chain(&self.marked)
    }
}

/// Appends the bytes of a state in main memory.
fn append(slot: &StateSlot, value: &DynValue, into: &mut Vec<u8>) -> Result<()> {
    into.extend_from_slice(slot.element.bytes(value).map_err(error::runtime("read a state"))?);
    Ok(())
}

fn empty(slot: &StateSlot) -> Result<DynTensor> {
    let mut shape = vec![1_i64];
    shape.extend(slot.shape.iter().map(|&size| size as i64));
    DynTensor::new(&Allocator::default(), slot.element.kind(), shape)
        .map_err(error::runtime("make room for a state"))
}

fn zeros(slot: &StateSlot) -> Result<DynValue> {
    let mut tensor = empty(slot)?;
    slot.element.bytes_mut(&mut tensor).map_err(error::runtime("fill a state"))?.fill(0);
    Ok(tensor.into_dyn())
}

/// Converts numbers between the byte order of this machine and that of snapshots, which is the same on every machine.
fn in_little_endian(slot: &StateSlot, numbers: &mut [u8]) {
    if cfg!(target_endian = "big") {
        for number in numbers.chunks_exact_mut(slot.element.size()) {
            number.reverse();
        }
    }
}
