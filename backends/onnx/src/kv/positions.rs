//! Writes the positions of a cache's tensors into a snapshot, and reads them.

use alloquy_core::Result;
use alloquy_engine::decoder::StateReader;
use ort::memory::Allocator;
use ort::value::{DynTensor, DynValue};

use crate::error;
use crate::slot::Slot;

/// Appends the first `cached` positions of every head.
pub(super) fn write_positions(slot: &Slot, cached: usize, from: &[u8], into: &mut Vec<u8>) {
    let used = cached * slot.width * slot.element.size();
    let room = (from.len() / slot.heads.max(1)).max(1);
    for head in from.chunks_exact(room) {
        let start = into.len();
        into.extend_from_slice(head.get(..used).unwrap_or(head));
        in_little_endian(slot, into.get_mut(start..).unwrap_or_default());
    }
}

/// Reads the first `cached` positions of every head.
pub(super) fn read_positions(
    slot: &Slot,
    cached: usize,
    state: &mut StateReader<'_>,
    to: &mut [u8],
) -> Result<()> {
    let used = cached * slot.width * slot.element.size();
    let room = (to.len() / slot.heads.max(1)).max(1);
    for head in to.chunks_exact_mut(room) {
        let head = head.get_mut(..used).unwrap_or_default();
        state.fill(head)?;
        in_little_endian(slot, head);
    }
    Ok(())
}

/// Makes a tensor of `cached` positions in main memory from a snapshot.
pub(super) fn tensor_of_positions(
    slot: &Slot,
    cached: usize,
    from: &mut StateReader<'_>,
) -> Result<DynValue> {
    let shape = [1, slot.heads as i64, cached as i64, slot.width as i64];
    let tensor = DynTensor::new(&Allocator::default(), slot.element.kind(), shape);
    let mut tensor = tensor.map_err(error::runtime("make room for the cache"))?;
    let bytes = slot.element.bytes_mut(&mut tensor).map_err(error::runtime("fill a cache"))?;
    read_positions(slot, cached, from, bytes)?;
    Ok(tensor.into_dyn())
}

/// Converts numbers between the byte order of this machine and that of snapshots, which is the same on every machine.
fn in_little_endian(slot: &Slot, numbers: &mut [u8]) {
    if cfg!(target_endian = "big") {
        for number in numbers.chunks_exact_mut(slot.element.size()) {
            number.reverse();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cache_element::CacheElement;
    use crate::element::Element;

    #[test]
    fn a_snapshot_has_no_spare_room_and_is_read_into_any_room() {
        let floats = [Element::F32, Element::F16, Element::Bf16].map(CacheElement::Float);
        for element in floats.into_iter().chain([CacheElement::Int8, CacheElement::PackedInt4]) {
            let slot = Slot { past: String::new(), present: String::new(), heads: 2, width: 2, element };
            let numbers = |numbers: &[u8]| -> Vec<u8> {
                numbers.iter().flat_map(|&number| std::iter::repeat_n(number, element.size())).collect()
            };
            let mut written = vec![7];
            write_positions(&slot, 1, &numbers(&[1, 2, 3, 4, 5, 6, 7, 8]), &mut written);
            assert_eq!(written.get(1..).unwrap_or_default(), numbers(&[1, 2, 5, 6]));
            let mut state = written.get(1..).unwrap_or_default();
            let mut to = numbers(&[9; 12]);
            let read = read_positions(&slot, 1, &mut StateReader::new(&mut state), &mut to);
            assert!(read.is_ok() && state.is_empty());
            assert_eq!(to, numbers(&[1, 2, 9, 9, 9, 9, 5, 6, 9, 9, 9, 9]));
        }
    }
}
