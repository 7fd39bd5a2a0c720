//! Tensors that a graph reads as past and writes as present, with a row for each session in them.

use alloquy_core::{Error, Result};
use alloquy_engine::decoder::StateReader;
use ort::memory::{AllocationDevice, Allocator, AllocatorType, MemoryInfo, MemoryType};
use ort::session::{IoBinding, RunOptions, SessionOutputs};
use ort::value::DynTensor;

use super::positions::{read_positions, write_positions};
use super::room::Room;
use crate::decoder::Decoder;
use crate::error;
use crate::feeds::feeds;
use crate::layout::Slot;
use crate::row::Row;

/// How many positions a cache has room for at least.
pub(super) const FIRST_CAPACITY: usize = 256;

/// How many bytes of addresses a cache takes, for a conversation that then never has to be copied because it grows. They cost nothing
/// where there are plenty, and where memory comes when it is written to: on Windows all of it has to be there. Where mistakes are
/// looked for, caches have to grow.
const AMPLE: usize =
    if cfg!(all(unix, target_pointer_width = "64", not(debug_assertions))) { 2 << 30 } else { 0 };

/// For how many positions more than it writes a step has memory brought: a few pages of each head, which come in a third less time
/// together than one by one.
const AHEAD: usize = 32;

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
    /// Holds on to every tensor as past and as present, and to the logits while steps follow each other. Before the room: it
    /// goes first.
    binding: IoBinding,
    room: Room,
    pub(super) capacity: usize,
    /// How many positions of a row were written to, at most: so much of the room there is memory for, and at most [`AHEAD`] more.
    pub(super) written: usize,
    /// For how many positions of each row memory was brought.
    fetched: Vec<usize>,
    /// Where the logits of a step go, the token of each row.
    logits: DynTensor,
    /// Whether the last run was a step.
    stepped: bool,
}

/// For how many positions there has to be room in each row.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Wish {
    pub(super) needed: usize,
    /// For how many there was, where it no longer suffices.
    pub(super) before: usize,
    /// For how many the graph or somebody who knows what comes wants it.
    pub(super) least: usize,
}

impl Wish {
    /// Returns how much room there is to be in a context of that length, if it is not to be less than `first`.
    ///
    /// Doubling makes the copies of a growing cache cost no more than the cache itself.
    fn capacity(self, context: usize, first: usize) -> usize {
        let wanted = self.needed.max(self.before * 2).max(first).min(context);
        wanted.max(self.needed).max(self.least)
    }
}

impl Buffers {
    pub(super) fn new(decoder: &Decoder, rows: usize, wish: Wish) -> Result<Self> {
        let (capacity, mut room) = ample_room(decoder, rows, wish)?;
        let mut bind = || -> ort::Result<IoBinding> {
            let mut binding = decoder.lock().create_binding()?;
            for (slot, tensor) in decoder.layout.slots.iter().zip(room.tensors()) {
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
        Ok(Self { binding, room, capacity, written: 0, fetched: vec![0; rows], logits, stepped: false })
    }

    /// Appends the first `held` positions of a row in one of the tensors.
    pub(super) fn write(&self, row: usize, (number, slot): (usize, &Slot), held: usize, into: &mut Vec<u8>) {
        write_positions(slot, held, self.room.row(row, number), into);
    }

    /// Has memory brought for the first `held` positions of a row, which are about to be written.
    pub(super) fn fetch(&mut self, row: usize, slots: &[Slot], held: usize) {
        let Some(fetched) = self.fetched.get_mut(row).filter(|fetched| **fetched < held) else { return };
        self.room.fetch(slots, row, &(*fetched..held));
        *fetched = held;
    }

    /// Has memory brought for what a run writes: of a step for those that follow as well, so that few of them have to ask. What the
    /// graph's threads came upon page by page would hold up all of them each time.
    fn fetch_ends(&mut self, slots: &[Slot], rows: &[Row<'_>]) {
        for (number, row) in rows.iter().enumerate() {
            let end = row.held + row.tokens.len();
            if self.fetched.get(number).is_some_and(|&fetched| fetched < end) {
                let ahead = if row.tokens.len() == 1 { AHEAD } else { 0 };
                self.fetch(number, slots, (end + ahead).min(self.capacity));
            }
        }
    }

    /// Takes `held` positions that were written down into a row.
    pub(super) fn restore(
        &mut self,
        row: usize,
        slots: &[Slot],
        held: usize,
        from: &mut StateReader<'_>,
    ) -> Result<()> {
        self.written = self.written.max(held);
        if let Some(fetched) = self.fetched.get_mut(row) {
            *fetched = held.max(*fetched);
        }
        self.room.fill(slots, row, held, |slot, bytes| read_positions(slot, held, from, bytes))
    }

    /// Takes `held` positions that were written down into a row of one of the tensors.
    pub(super) fn read(
        &mut self,
        row: usize,
        (number, slot): (usize, &Slot),
        held: usize,
        from: &mut StateReader<'_>,
    ) -> Result<()> {
        self.written = self.written.max(held);
        read_positions(slot, held, from, self.room.row_mut(row, number))
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
        let ends = feed.rows.iter().map(|row| row.held + row.tokens.len());
        self.written = ends.fold(self.written, usize::max);
        self.fetch_ends(&decoder.layout.slots, feed.rows);
        let mut session = decoder.lock();
        let outputs = decoder.time.counted(|| match feed.options {
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

/// Makes ample room, or as much as will do where the system does not give that; returns for how many positions.
fn ample_room(decoder: &Decoder, rows: usize, wish: Wish) -> Result<(usize, Room)> {
    let of_at_least = |first| {
        let capacity = wish.capacity(decoder.context_length, first);
        Ok((capacity, Room::new(&decoder.layout.slots, rows, capacity)?))
    };
    let ample = AMPLE / (decoder.layout.bytes_per_position() * rows).max(1);
    of_at_least(ample.max(FIRST_CAPACITY)).or_else(|error: Error| {
        tracing::debug!(%error, "a cache gets less room, and will be copied when it grows");
        of_at_least(FIRST_CAPACITY)
    })
}

/// Makes a tensor for the logits of one token in each row.
fn step_logits(decoder: &Decoder, rows: usize) -> ort::Result<DynTensor> {
    let shape = [rows as i64, 1, decoder.layout.vocabulary as i64];
    DynTensor::new(&Allocator::default(), decoder.layout.logits_element.kind(), shape)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_doubles_and_ends_with_the_context() {
        let wish = |needed, before| Wish { needed, before, least: 0 };
        assert_eq!(wish(40, 0).capacity(2048, FIRST_CAPACITY), 256);
        assert_eq!(wish(257, 256).capacity(2048, FIRST_CAPACITY), 512);
        assert_eq!(wish(900, 256).capacity(2048, FIRST_CAPACITY), 900);
        assert_eq!(wish(1100, 1024).capacity(2048, 9000), 2048);
        assert_eq!(wish(40, 0).capacity(40_960, 9000), 9000);
        assert_eq!(Wish { least: 4096, ..wish(40, 0) }.capacity(2048, FIRST_CAPACITY), 4096);
        // What does not fit is refused before, by who knows why.
        assert_eq!(wish(3000, 2048).capacity(2048, FIRST_CAPACITY), 3000);
    }
}
