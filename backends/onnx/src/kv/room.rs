//! Memory for a cache: main memory, or that of a device.

use std::ops::Range;
use std::sync::Arc;

use alloquy_core::Result;
use alloquy_engine::decoder::StateReader;
use ort::value::DynValue;

use super::device_room::DeviceRoom;
use super::host_room::HostRoom;
use super::positions::{read_positions, write_positions};
use crate::decoder::Decoder;
use crate::slot::Slot;

/// The tensors of a cache.
#[derive(Debug)]
pub(super) enum Room {
    Host(HostRoom),
    Device(DeviceRoom),
}

impl Room {
    pub(super) fn new(decoder: &Decoder, rows: usize, positions: usize) -> Result<Self> {
        let slots = &decoder.layout.slots;
        match &decoder.memory {
            Some(memory) => Ok(Self::Device(DeviceRoom::new(Arc::clone(memory), slots, rows, positions)?)),
            None => Ok(Self::Host(HostRoom::new(slots, rows, positions)?)),
        }
    }

    /// Returns the tensors, in the order of the slots.
    pub(super) fn tensors(&mut self) -> &mut [DynValue] {
        match self {
            Self::Host(room) => room.tensors(),
            Self::Device(room) => room.tensors(),
        }
    }

    /// Requests memory for some positions of a row. A device has all of it from the beginning.
    pub(super) fn fetch(&self, slots: &[Slot], row: usize, positions: &Range<usize>) {
        match self {
            Self::Host(room) => room.fetch(slots, row, positions),
            Self::Device(_) => {}
        }
    }

    /// Appends the first `cached` positions of a row in one of the tensors.
    pub(super) fn write(
        &self,
        row: usize,
        (number, slot): (usize, &Slot),
        cached: usize,
        into: &mut Vec<u8>,
    ) -> Result<()> {
        match self {
            Self::Host(room) => {
                write_positions(slot, cached, room.row(row, number), into);
                Ok(())
            }
            Self::Device(room) => room.write(row, (number, slot), cached, into),
        }
    }

    /// Reads `cached` positions of a snapshot into a row of one of the tensors.
    pub(super) fn read(
        &mut self,
        row: usize,
        (number, slot): (usize, &Slot),
        cached: usize,
        from: &mut StateReader<'_>,
    ) -> Result<()> {
        match self {
            Self::Host(room) => read_positions(slot, cached, from, room.row_mut(row, number)),
            Self::Device(room) => room.read(row, (number, slot), cached, from),
        }
    }

    /// Reads `cached` positions of a snapshot into a row of every tensor.
    pub(super) fn restore(
        &mut self,
        row: usize,
        slots: &[Slot],
        cached: usize,
        from: &mut StateReader<'_>,
    ) -> Result<()> {
        match self {
            Self::Host(room) => {
                room.fill(slots, row, cached, |slot, bytes| read_positions(slot, cached, from, bytes))
            }
            Self::Device(room) => {
                for slot in slots.iter().enumerate() {
                    room.read(row, slot, cached, from)?;
                }
                Ok(())
            }
        }
    }

    /// Returns a copy of the first `cached` positions of a row in one of the tensors, where it can be made on the device.
    pub(super) fn part(&self, row: usize, slot: (usize, &Slot), cached: usize) -> Result<Option<DynValue>> {
        match self {
            Self::Host(_) => Ok(None),
            Self::Device(room) => room.part(row, slot, cached).map(Some),
        }
    }

    /// Writes a [`part`](Self::part) of another row or another cache.
    pub(super) fn put(
        &mut self,
        row: usize,
        slot: (usize, &Slot),
        cached: usize,
        part: &DynValue,
    ) -> Result<()> {
        match self {
            Self::Host(_) => Ok(()),
            Self::Device(room) => room.put(row, slot, cached, part),
        }
    }
}
