//! Looks up SentencePiece's rules of normalization: a double array that leads from a text to its replacement.
//!
//! The table has the size of the array in bytes, the array, and the replacements, each of which ends in NUL.

use alloquy_core::Result;

use crate::error::model;

/// How many bytes a rule may have. The longest one of NFKC has fewer than 20.
const LONGEST: usize = 1024;

/// The rules of a file.
#[derive(Debug, Default)]
pub(in super::super) struct CharsMap {
    units: Vec<Unit>,
    replacements: Vec<u8>,
}

/// An element of the array: a state together with the byte that leads to it, or the place of a replacement.
#[derive(Clone, Copy, Debug)]
struct Unit(u32);

impl Unit {
    /// Returns whether a rule ends here. The unit at [`Unit::offset`] has the place of its replacement.
    fn has_leaf(self) -> bool {
        self.0 >> 8 & 1 == 1
    }

    fn value(self) -> usize {
        (self.0 & 0x7FFF_FFFF) as usize
    }

    /// Returns the byte that leads here. The highest bit is set in units with values, so that they equal no byte.
    fn label(self) -> u32 {
        self.0 & 0x8000_00FF
    }

    fn offset(self) -> usize {
        let shift = (self.0 & 1 << 9) >> 6;
        ((self.0 >> 10) << shift) as usize
    }
}

impl CharsMap {
    /// Reads a table; an empty one has no rules.
    pub(super) fn read(table: &[u8]) -> Result<Self> {
        if table.is_empty() {
            return Ok(Self::default());
        }
        let (size, rest) = table.split_first_chunk::<4>().ok_or_else(damaged)?;
        let size = usize::try_from(u32::from_le_bytes(*size)).map_err(|_| damaged())?;
        let (array, replacements) = rest.split_at_checked(size).ok_or_else(damaged)?;
        if replacements.is_empty() {
            return Err(damaged());
        }
        let (units, _) = array.as_chunks::<4>();
        let units = units.iter().map(|unit| Unit(u32::from_le_bytes(*unit))).collect();
        Ok(Self { units, replacements: replacements.to_vec() })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.units.is_empty()
    }

    /// Returns the length of the longest text with a rule that `text` begins with, and its replacement.
    pub(super) fn longest(&self, text: &str) -> Option<(usize, &[u8])> {
        let mut longest = None;
        let mut place = self.units.first()?.offset();
        for (index, byte) in text.bytes().take(LONGEST).enumerate() {
            place ^= usize::from(byte);
            let Some(unit) = self.units.get(place) else { break };
            if unit.label() != u32::from(byte) {
                break;
            }
            place ^= unit.offset();
            if unit.has_leaf()
                && text.is_char_boundary(index + 1)
                && let Some(leaf) = self.units.get(place)
                && let Some(replacement) = self.replacement(leaf.value())
            {
                longest = Some((index + 1, replacement));
            }
        }
        longest
    }

    fn replacement(&self, place: usize) -> Option<&[u8]> {
        self.replacements.get(place..)?.split(|byte| *byte == 0).next()
    }
}

fn damaged() -> alloquy_core::Error {
    model("the SentencePiece file is damaged: its rules of normalization are truncated")
}
