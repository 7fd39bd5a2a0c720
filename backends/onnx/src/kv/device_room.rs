//! Memory for a cache on a device. Its tensors are copied there, and read only for snapshots.

use std::sync::Arc;

use alloquy_core::Result;
use alloquy_engine::decoder::StateReader;
use ort::value::DynValue;

use super::positions::{tensor_of_positions, write_positions};
use crate::device_memory::{DeviceMemory, RowPart};
use crate::error;
use crate::slot::Slot;

/// The tensors of a cache on a device.
#[derive(Debug)]
pub(super) struct DeviceRoom {
    tensors: Vec<DynValue>,
    memory: Arc<DeviceMemory>,
}

impl DeviceRoom {
    pub(super) fn new(
        memory: Arc<DeviceMemory>,
        slots: &[Slot],
        rows: usize,
        positions: usize,
    ) -> Result<Self> {
        let mut tensors = Vec::with_capacity(slots.len());
        for slot in slots {
            let shape = [rows as i64, slot.heads as i64, positions as i64, slot.width as i64];
            tensors.push(memory.tensor(slot.element, shape)?);
        }
        Ok(Self { tensors, memory })
    }

    pub(super) fn tensors(&mut self) -> &mut [DynValue] {
        &mut self.tensors
    }

    /// Appends the first `cached` positions of a row in one of the tensors.
    pub(super) fn write(
        &self,
        row: usize,
        (number, slot): (usize, &Slot),
        cached: usize,
        into: &mut Vec<u8>,
    ) -> Result<()> {
        let Some(tensor) = self.tensors.get(number).filter(|_| cached > 0) else { return Ok(()) };
        let part = self.memory.part_to_host(RowPart { slot, row, positions: cached }, tensor)?;
        let bytes = slot.element.bytes(&part).map_err(error::runtime("read a cache"))?;
        write_positions(slot, cached, bytes, into);
        Ok(())
    }

    /// Reads `cached` positions of a snapshot into a row of one of the tensors.
    pub(super) fn read(
        &mut self,
        row: usize,
        (number, slot): (usize, &Slot),
        cached: usize,
        from: &mut StateReader<'_>,
    ) -> Result<()> {
        let part = tensor_of_positions(slot, cached, from)?;
        self.put(row, (number, slot), cached, &part)
    }

    /// Returns a copy of the first `cached` positions of a row in one of the tensors.
    pub(super) fn part(&self, row: usize, (number, slot): (usize, &Slot), cached: usize) -> Result<DynValue> {
        match self.tensors.get(number) {
            Some(tensor) => self.memory.copied(RowPart { slot, row, positions: cached }, tensor),
            None => Err(error::invalid(format!("a cache has no tensor {number}"))),
        }
    }

    /// Writes the first `cached` positions of a row in one of the tensors.
    pub(super) fn put(
        &mut self,
        row: usize,
        (number, slot): (usize, &Slot),
        cached: usize,
        part: &DynValue,
    ) -> Result<()> {
        let Some(tensor) = self.tensors.get_mut(number).filter(|_| cached > 0) else { return Ok(()) };
        self.memory.write(RowPart { slot, row, positions: cached }, part, tensor)
    }
}
