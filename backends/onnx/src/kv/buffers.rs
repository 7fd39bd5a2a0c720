//! Tensors that a graph reads as past and writes as present, with a row for each session.

use alloquy_core::Result;
use alloquy_engine::decoder::StateReader;
use ort::memory::Allocator;
use ort::session::{IoBinding, RunOptions, SessionOutputs};
use ort::value::{DynTensor, DynValue};

use super::room::Room;
use crate::decoder::Decoder;
use crate::device_memory::host_info;
use crate::error;
use crate::feeds::feeds;
use crate::row::Row;
use crate::slot::Slot;

/// The smallest capacity of a cache, in positions.
pub(super) const FIRST_CAPACITY: usize = 256;

/// How many bytes of addresses a cache reserves, so that a growing conversation is never copied. Addresses cost nothing on 64-bit
/// Unix, where memory is assigned when it is first written. On Windows all of it would be assigned at once. In debug builds caches
/// grow, so that tests cover that.
const AMPLE: usize =
    if cfg!(all(unix, target_pointer_width = "64", not(debug_assertions))) { 2 << 30 } else { 0 };

/// The number of further positions that a step requests memory for: a few pages of each head. Requesting them together takes a third less
/// time than one by one.
const AHEAD: usize = 32;

/// The inputs of a run.
pub(super) struct Feed<'a> {
    /// One for each row of the tensors.
    pub(super) rows: &'a [Row<'a>],
    /// The number of last tokens whose logits are wanted.
    pub(super) keep: usize,
    pub(super) options: Option<&'a RunOptions>,
    /// The states of the only row, where the graph has any, in the order of the layout.
    pub(super) states: &'a [DynValue],
}

/// The tensors of a cache, bound to the graph.
#[derive(Debug)]
pub(super) struct Buffers {
    /// Binds every tensor as past and as present, and the logits while steps follow each other. It is declared before the room,
    /// so it is dropped first.
    binding: IoBinding,
    room: Room,
    /// The capacity of each row, in positions.
    pub(super) capacity: usize,
    /// The number of positions of the longest row. The system has assigned memory for these, and for at most [`AHEAD`] more.
    pub(super) written: usize,
    /// The number of positions of each row whose memory was requested.
    fetched: Vec<usize>,
    /// The logits of a step: one token in each row.
    logits: DynTensor,
    /// Whether the last run was a step.
    stepped: bool,
}

/// The numbers of positions for which each row must have room.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct CapacityNeed {
    pub(super) needed: usize,
    /// The former capacity, when it no longer suffices.
    pub(super) before: usize,
    /// The least capacity that the graph or the caller requires.
    pub(super) least: usize,
}

impl CapacityNeed {
    /// Returns the capacity for a context of that length, at least `first` if the context allows it.
    ///
    /// The capacity doubles, so all copies of a growing cache together cost no more than the cache itself.
    fn capacity(self, context: usize, first: usize) -> usize {
        let wanted = self.needed.max(self.before * 2).max(first).min(context);
        wanted.max(self.needed).max(self.least)
    }
}

impl Buffers {
    pub(super) fn new(decoder: &Decoder, rows: usize, wish: CapacityNeed) -> Result<Self> {
        let (capacity, mut room) = ample_room(decoder, rows, wish)?;
        let binding = bind(decoder, &mut room).map_err(error::runtime("bind a cache"))?;
        let logits = step_logits(decoder, rows).map_err(error::runtime("make room for logits"))?;
        Ok(Self { binding, room, capacity, written: 0, fetched: vec![0; rows], logits, stepped: false })
    }

    /// Appends the first `cached` positions of a row in one of the tensors.
    pub(super) fn write(
        &self,
        row: usize,
        slot: (usize, &Slot),
        cached: usize,
        into: &mut Vec<u8>,
    ) -> Result<()> {
        self.room.write(row, slot, cached, into)
    }

    /// Returns a copy of the first `cached` positions of a row in one of the tensors, where it can be made on the device.
    pub(super) fn part(&self, row: usize, slot: (usize, &Slot), cached: usize) -> Result<Option<DynValue>> {
        self.room.part(row, slot, cached)
    }

    /// Writes a [`part`](Self::part) of another row or another cache.
    pub(super) fn put(
        &mut self,
        row: usize,
        slot: (usize, &Slot),
        cached: usize,
        part: &DynValue,
    ) -> Result<()> {
        self.written = self.written.max(cached);
        self.room.put(row, slot, cached, part)
    }

    /// Requests memory for the first `cached` positions of a row, which are about to be written.
    pub(super) fn fetch(&mut self, row: usize, slots: &[Slot], cached: usize) {
        let Some(fetched) = self.fetched.get_mut(row).filter(|fetched| **fetched < cached) else { return };
        self.room.fetch(slots, row, &(*fetched..cached));
        *fetched = cached;
    }

    /// Requests memory for the positions that a run writes. Without it, the graph's threads would all wait each time one of them
    /// meets a new page. A step also requests memory for the following steps, so that few of them have to.
    fn fetch_ends(&mut self, slots: &[Slot], rows: &[Row<'_>]) {
        for (number, row) in rows.iter().enumerate() {
            let end = row.end();
            if self.fetched.get(number).is_some_and(|&fetched| fetched < end) {
                let ahead = if row.tokens.len() == 1 { AHEAD } else { 0 };
                self.fetch(number, slots, (end + ahead).min(self.capacity));
            }
        }
    }

    /// Reads `cached` positions of a snapshot into a row.
    pub(super) fn restore(
        &mut self,
        row: usize,
        slots: &[Slot],
        cached: usize,
        from: &mut StateReader<'_>,
    ) -> Result<()> {
        self.written = self.written.max(cached);
        if let Some(fetched) = self.fetched.get_mut(row) {
            *fetched = cached.max(*fetched);
        }
        self.room.restore(row, slots, cached, from)
    }

    /// Reads `cached` positions of a snapshot into a row of one of the tensors.
    pub(super) fn read(
        &mut self,
        row: usize,
        slot: (usize, &Slot),
        cached: usize,
        from: &mut StateReader<'_>,
    ) -> Result<()> {
        self.written = self.written.max(cached);
        self.room.read(row, slot, cached, from)
    }

    /// Runs the graph; `read` copies what it needs from the outputs.
    pub(super) fn run(
        &mut self,
        decoder: &Decoder,
        feed: &Feed<'_>,
        read: impl FnOnce(&mut SessionOutputs<'_>) -> ort::Result<()>,
    ) -> ort::Result<()> {
        for (name, value) in feeds(decoder, feed.rows, feed.keep)? {
            self.binding.bind_input(name, &value)?;
        }
        self.bind_states(decoder, feed)?;
        self.bind_logits(decoder, feed)?;
        self.written = feed.rows.iter().map(Row::end).fold(self.written, usize::max);
        self.fetch_ends(&decoder.layout.slots, feed.rows);
        let mut session = decoder.lock();
        let mut outputs = decoder.time.counted(|| match feed.options {
            Some(options) => session.run_binding_with_options(&self.binding, options),
            None => session.run_binding(&self.binding),
        })?;
        read(&mut outputs)
    }

    /// Binds the states. Each run makes new tensors, as the former ones may be those of a checkpoint or a fork.
    fn bind_states(&mut self, decoder: &Decoder, feed: &Feed<'_>) -> ort::Result<()> {
        for (slot, value) in decoder.layout.states.iter().zip(feed.states) {
            self.binding.bind_input(&slot.past, value)?;
            decoder.bind_kept(&mut self.binding, &slot.present)?;
        }
        Ok(())
    }

    /// Binds the output of the logits. In steps the logits have always the same shape, so they are bound once to one tensor. For
    /// every other run they are bound again: the tensor of the last run has the shape of that run.
    fn bind_logits(&mut self, decoder: &Decoder, feed: &Feed<'_>) -> ort::Result<()> {
        let steps = decoder.layout.logits_in_rows && feed.rows.iter().all(|row| row.tokens.len() == 1);
        if !steps {
            self.binding.bind_output_to_device(&decoder.layout.logits, &host_info()?)?;
        } else if !self.stepped {
            self.binding.bind_output(&decoder.layout.logits, &mut self.logits)?;
        }
        self.stepped = steps;
        Ok(())
    }
}

fn bind(decoder: &Decoder, room: &mut Room) -> ort::Result<IoBinding> {
    let mut binding = decoder.lock().create_binding()?;
    for (slot, tensor) in decoder.layout.slots.iter().zip(room.tensors()) {
        binding.bind_input(&slot.past, tensor)?;
        binding.bind_output(&slot.present, tensor)?;
    }
    for (name, tensor) in decoder.adapter.tensors() {
        binding.bind_input(name, tensor)?;
    }
    Ok(binding)
}

/// Makes room for [`AMPLE`] bytes, or for the positions that are needed if the system refuses that. Returns also for how many
/// positions it is.
fn ample_room(decoder: &Decoder, rows: usize, wish: CapacityNeed) -> Result<(usize, Room)> {
    // A device assigns all of its memory at once.
    let ample = if decoder.memory.is_some() { 0 } else { AMPLE };
    let ample = ample / (decoder.layout.bytes_per_position() * rows).max(1);
    match room_of(decoder, rows, wish, ample.max(FIRST_CAPACITY)) {
        Err(error) => {
            tracing::debug!(%error, "a cache gets less room, and will be copied when it grows");
            room_of(decoder, rows, wish, FIRST_CAPACITY)
        }
        made => made,
    }
}

fn room_of(decoder: &Decoder, rows: usize, wish: CapacityNeed, first: usize) -> Result<(usize, Room)> {
    let capacity = wish.capacity(decoder.context_length, first);
    Ok((capacity, Room::new(decoder, rows, capacity)?))
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
        let wish = |needed, before| CapacityNeed { needed, before, least: 0 };
        assert_eq!(wish(40, 0).capacity(2048, FIRST_CAPACITY), 256);
        assert_eq!(wish(257, 256).capacity(2048, FIRST_CAPACITY), 512);
        assert_eq!(wish(900, 256).capacity(2048, FIRST_CAPACITY), 900);
        assert_eq!(wish(1100, 1024).capacity(2048, 9000), 2048);
        assert_eq!(wish(40, 0).capacity(40_960, 9000), 9000);
        assert_eq!(CapacityNeed { least: 4096, ..wish(40, 0) }.capacity(2048, FIRST_CAPACITY), 4096);
        // A session refuses what does not fit before it asks for room.
        assert_eq!(wish(3000, 2048).capacity(2048, FIRST_CAPACITY), 3000);
    }
}
