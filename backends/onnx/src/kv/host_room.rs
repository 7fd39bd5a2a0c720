//! Main memory for a cache, directly from the system. The system assigns a page, filled with zeros, when it is first written, so room
//! for later costs nothing yet.

use std::ops::Range;
use std::sync::mpsc;
use std::{io, ptr, thread};

use alloquy_core::{Error, ErrorKind, Result};
use memmap2::{MmapMut, MmapOptions};
use ort::memory::{Allocator, MemoryInfo};
use ort::value::DynValue;
use ort::{AsPointer, ortsys};
use rayon::prelude::*;

use crate::error;
use crate::slot::Slot;

/// The tensors of a cache, each in memory of its own.
#[derive(Debug)]
pub(super) struct HostRoom {
    // Declared before the memory, so that the tensors are dropped first.
    tensors: Vec<DynValue>,
    memory: Vec<MmapMut>,
    rows: usize,
}

impl HostRoom {
    pub(super) fn new(slots: &[Slot], rows: usize, positions: usize) -> Result<Self> {
        let mut memory = Vec::with_capacity(slots.len());
        for slot in slots {
            let bytes = rows.checked_mul(positions).and_then(|positions| positions.checked_mul(slot.bytes()));
            let Some(bytes) = bytes else {
                let message = format!(
                    "{rows} rows of {positions} positions of {} bytes are more than a computer addresses: ask for a \
                     shorter context",
                    slot.bytes()
                );
                return Err(Error::new(ErrorKind::Backend, message));
            };
            memory.push(pages(bytes)?);
        }
        let tensors = slots.iter().zip(&mut memory).map(|(slot, bytes)| {
            let shape = [rows as i64, slot.heads as i64, positions as i64, slot.width as i64];
            over(bytes, slot, &shape).map_err(error::runtime("make room for the cache"))
        });
        let tensors = tensors.collect::<Result<_>>()?;
        Ok(Self { tensors, memory, rows })
    }

    /// Returns the tensors, in the order of the slots.
    pub(super) fn tensors(&mut self) -> &mut [DynValue] {
        &mut self.tensors
    }

    /// Returns the bytes of a row in one of the tensors.
    pub(super) fn row(&self, row: usize, number: usize) -> &[u8] {
        let bytes = self.memory.get(number).map(|memory| &**memory).unwrap_or_default();
        bytes.chunks_exact(row_size(bytes, self.rows)).nth(row).unwrap_or_default()
    }

    /// Returns the bytes of a row in one of the tensors, for writing.
    pub(super) fn row_mut(&mut self, row: usize, number: usize) -> &mut [u8] {
        let bytes = self.memory.get_mut(number).map(|memory| &mut **memory).unwrap_or_default();
        row_of(bytes, row, self.rows)
    }

    /// Requests memory for some positions of a row, on all cores. Without a request the system assigns it page by page as it is
    /// written, which takes half as long again, on one core. That happens where the request is unavailable.
    pub(super) fn fetch(&self, slots: &[Slot], row: usize, positions: &Range<usize>) {
        let tensors = slots.par_iter().zip(&self.memory);
        tensors.for_each(|(slot, memory)| populate(memory, slot, (row, self.rows), positions));
    }

    /// Fills a row of each tensor with `cached` positions. Another thread requests the memory for the next tensor meanwhile.
    pub(super) fn fill(
        &mut self,
        slots: &[Slot],
        row: usize,
        cached: usize,
        mut read: impl FnMut(&Slot, &mut [u8]) -> Result<()>,
    ) -> Result<()> {
        let rows = self.rows;
        let mut tensors = slots.iter().zip(&mut self.memory);
        thread::scope(|scope| {
            let (fetched, ready) = mpsc::channel();
            // Not a thread of rayon: this function may run on one, and would then wait for itself.
            let fetching = thread::Builder::new().spawn_scoped(scope, move || {
                tensors.try_for_each(|(slot, memory)| {
                    populate(memory, slot, (row, rows), &(0..cached));
                    fetched.send((slot, memory))
                })
            });
            fetching.map_err(|source| refused("no thread to bring memory for a cache", source))?;
            for (slot, memory) in &ready {
                read(slot, row_of(memory, row, rows))?;
            }
            Ok(())
        })
    }
}

fn row_size(bytes: &[u8], rows: usize) -> usize {
    (bytes.len() / rows.max(1)).max(1)
}

fn row_of(bytes: &mut [u8], row: usize, rows: usize) -> &mut [u8] {
    let size = row_size(bytes, rows);
    bytes.chunks_exact_mut(size).nth(row).unwrap_or_default()
}

/// Requests memory for some positions of a row of a tensor; does nothing where the system has no such call.
fn populate(memory: &MmapMut, slot: &Slot, (row, rows): (usize, usize), positions: &Range<usize>) {
    let head = memory.len() / (rows * slot.heads).max(1);
    let position = slot.bytes() / slot.heads.max(1);
    let start = (positions.start * position).min(head);
    let end = (positions.end * position).min(head);
    #[cfg(target_os = "linux")]
    for number in row * slot.heads..(row + 1) * slot.heads {
        let populated =
            memory.advise_range(memmap2::Advice::PopulateWrite, number * head + start, end - start);
        if let Err(error) = populated {
            tracing::trace!(%error, "pages are assigned one by one");
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (row, start, end);
}

/// Reserves memory. No code reads positions that were not written; in debug builds all of it is NaN, so that tests notice.
fn pages(bytes: usize) -> Result<MmapMut> {
    // Most of it may never be written, so no swap is reserved for it.
    let memory = MmapOptions::new().len(bytes.max(1)).no_reserve_swap().map_anon();
    let mut memory =
        memory.map_err(|source| refused(format!("no room for {bytes} bytes of a cache"), source))?;
    if cfg!(debug_assertions) {
        memory.fill(u8::MAX);
    }
    Ok(memory)
}

fn refused(message: impl Into<String>, source: io::Error) -> Error {
    Error::new(ErrorKind::Backend, message).with_source(source)
}

/// Makes a tensor over existing memory. A cache is bound as an input and as an output. The tensors of `ort` over borrowed memory
/// do not suffice: it copies them as inputs, and refuses those over a vector as outputs.
#[allow(unsafe_code)] // the runtime has no other way
fn over(bytes: &mut [u8], slot: &Slot, shape: &[i64]) -> ort::Result<DynValue> {
    let host = MemoryInfo::default();
    let mut value = ptr::null_mut();
    let kind = slot.element.kind().into();
    // SAFETY: the pointers are those of live slices and of a live `MemoryInfo` of the CPU, each with its length. The runtime
    // checks that the shape needs no more than these bytes, and keeps the pointer to them. A `HostRoom` drops its tensors before its
    // memory. The only other reference to them is the binding of `Buffers`, which is dropped before the room.
    ortsys![
        unsafe CreateTensorWithDataAsOrtValue(
            host.ptr(), bytes.as_mut_ptr().cast(), bytes.len(), shape.as_ptr(), shape.len(), kind, &mut value
        )?;
        nonNull(value)
    ];
    // SAFETY: the value was just made, there is no other pointer to it, and it is a tensor in the CPU's memory.
    Ok(unsafe { DynValue::from_ptr(value, Some(&Allocator::default())) })
}
