//! Memory for a cache, as the system gives it. It is zero without being cleared, and a page of it is not there before something is
//! written to it, so room that is kept for later costs nothing yet.

use std::ops::Range;
use std::ptr;

use alloquy_core::{Error, ErrorKind, Result};
use memmap2::{MmapMut, MmapOptions};
use ort::memory::{Allocator, MemoryInfo};
use ort::value::DynValue;
use ort::{AsPointer, ortsys};

use crate::error;
use crate::layout::Slot;

/// Where tensors begin: kernels want their numbers aligned, pages more than any of them.
const ALIGNMENT: usize = 4096;

/// Tensors with room for so many positions in each of so many rows, one behind the other.
#[derive(Debug)]
pub(super) struct Room {
    // Before the memory, so that none of them is there without it.
    tensors: Vec<DynValue>,
    places: Vec<Range<usize>>,
    memory: MmapMut,
}

impl Room {
    pub(super) fn new(slots: &[Slot], rows: usize, positions: usize) -> Result<Self> {
        let places = places(slots, rows * positions);
        let mut memory = pages(places.last().map_or(0, |last| last.end))?;
        let tensors = slots.iter().zip(&places).map(|(slot, place)| {
            let shape = [rows as i64, slot.heads as i64, positions as i64, slot.width as i64];
            let bytes = memory.get_mut(place.clone()).unwrap_or_default();
            over(bytes, slot, &shape).map_err(error::runtime("make room for the cache"))
        });
        let tensors = tensors.collect::<Result<_>>()?;
        Ok(Self { tensors, places, memory })
    }

    /// Returns the tensors, in the order of the slots.
    pub(super) fn tensors(&mut self) -> &mut [DynValue] {
        &mut self.tensors
    }

    /// Returns what is in one of the tensors.
    pub(super) fn bytes(&self, number: usize) -> &[u8] {
        let place = self.places.get(number).cloned().unwrap_or_default();
        self.memory.get(place).unwrap_or_default()
    }

    /// Returns what is in one of the tensors, to change it.
    pub(super) fn bytes_mut(&mut self, number: usize) -> &mut [u8] {
        let place = self.places.get(number).cloned().unwrap_or_default();
        self.memory.get_mut(place).unwrap_or_default()
    }
}

/// Says which bytes each slot has.
fn places(slots: &[Slot], positions: usize) -> Vec<Range<usize>> {
    let next = |start: &mut usize, slot: &Slot| {
        let place = *start..*start + positions * slot.bytes();
        *start = place.end.next_multiple_of(ALIGNMENT);
        Some(place)
    };
    slots.iter().scan(0, next).collect()
}

/// Asks the system for memory. Nobody reads what was not written; where mistakes are looked for, all of it is NaN.
fn pages(bytes: usize) -> Result<MmapMut> {
    let refused = |source| {
        Error::new(ErrorKind::Backend, format!("no room for a cache of {bytes} bytes")).with_source(source)
    };
    // Most of it may never be written, so no swap needs to be there for it.
    let mut memory = MmapOptions::new().len(bytes.max(1)).no_reserve_swap().map_anon().map_err(refused)?;
    if cfg!(debug_assertions) {
        memory.fill(u8::MAX);
    }
    Ok(memory)
}

/// Makes a tensor of memory that stays where it is. `ort` has tensors over borrowed memory as well, but copies them when they are
/// bound as an input, and refuses those over a vector as an output: a cache is both.
#[allow(unsafe_code)] // the runtime has no other way
fn over(bytes: &mut [u8], slot: &Slot, shape: &[i64]) -> ort::Result<DynValue> {
    let host = MemoryInfo::default();
    let mut value = ptr::null_mut();
    let kind = slot.element.kind().into();
    // SAFETY: the pointers are those of live slices and of a live `MemoryInfo` of the CPU, each with its length. The runtime
    // checks that the shape needs no more than these bytes, and keeps the pointer to them: `Room` drops its tensors before its
    // memory, and `Buffers`, which has the only other hold on them in its binding, is where the room is.
    ortsys![
        unsafe CreateTensorWithDataAsOrtValue(
            host.ptr(), bytes.as_mut_ptr().cast(), bytes.len(), shape.as_ptr(), shape.len(), kind, &mut value
        )?;
        nonNull(value)
    ];
    // SAFETY: the value was just made, nobody else has it, and it is a tensor in the CPU's memory.
    Ok(unsafe { DynValue::from_ptr(value, Some(&Allocator::default())) })
}
