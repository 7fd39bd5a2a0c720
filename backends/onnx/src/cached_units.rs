//! Counts the units and the positions in a session's cache. A token takes one position, a piece of media takes many.

use alloquy_core::{Error, ErrorKind, Result};
use alloquy_engine::decoder::StateReader;

/// What a session holds: callers count units, the cache counts positions. Only media are listed, since every token takes one
/// position.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct CachedUnits {
    units: usize,
    positions: usize,
    media: Vec<Placed>,
}

/// The place of one piece of media.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Placed {
    /// How many units there are up to the media, including them.
    units: usize,
    /// How many positions there are up to the media, including them.
    positions: usize,
    /// The difference between the number of a later position and the count of positions before it.
    shift: i64,
}

impl CachedUnits {
    pub(crate) fn units(&self) -> usize {
        self.units
    }

    pub(crate) fn positions(&self) -> usize {
        self.positions
    }

    /// Returns the difference between the number of the next position and the count of positions before it.
    pub(crate) fn shift(&self) -> i64 {
        self.media.last().map_or(0, |last| last.shift)
    }

    /// Appends tokens.
    pub(crate) fn add_tokens(&mut self, count: usize) {
        self.units += count;
        self.positions += count;
    }

    /// Appends one piece of media. `shift` is how many more numbers than positions it takes, mostly less than 0.
    pub(crate) fn add_media(&mut self, positions: usize, shift: i64) {
        // An image of 9 positions with 3 numbers after two tokens: 3 units, 11 positions, and a shift of -6. The next token
        // is position 11 and has number 5.
        let shift = self.shift() + shift;
        self.units += 1;
        self.positions += positions;
        self.media.push(Placed { units: self.units, positions: self.positions, shift });
    }

    /// Keeps the first `length` units.
    pub(crate) fn truncate(&mut self, length: usize) {
        if length < self.units {
            self.media.retain(|placed| placed.units <= length);
            self.positions = self.positions_of(length);
            self.units = length;
        }
    }

    /// Returns how many positions the first `length` units take.
    pub(crate) fn positions_of(&self, length: usize) -> usize {
        // The last media within the length are counted by their entry, and the tokens after them one by one.
        let before = self.media.iter().rev().find(|placed| placed.units <= length);
        let (units, positions) = before.map_or((0, 0), |placed| (placed.units, placed.positions));
        positions + length - units
    }

    /// Returns how many units take at most `positions` positions.
    pub(crate) fn units_of(&self, positions: usize) -> usize {
        let before = self.media.iter().rev().find(|placed| placed.positions <= positions);
        let (units, start) = before.map_or((0, 0), |placed| (placed.units, placed.positions));
        let after = self.media.iter().find(|placed| placed.positions > positions);
        // Of the tokens after the last whole media; the next media is a unit only when it is whole.
        let tokens = after.map_or(self.units, |placed| placed.units - 1) - units;
        units + tokens.min(positions - start)
    }

    /// Appends the places of the media among the first `length` units to a state.
    pub(crate) fn write(&self, length: usize, into: &mut Vec<u8>) {
        for placed in self.media.iter().filter(|placed| placed.units <= length) {
            into.extend_from_slice(&(placed.positions as u64).to_le_bytes());
            into.extend_from_slice(&placed.shift.to_le_bytes());
        }
    }

    /// Reads the places of media, with which a state begins. `is_media` has an item for each unit.
    pub(crate) fn read(is_media: impl Iterator<Item = bool>, state: &mut StateReader<'_>) -> Result<Self> {
        let mut cached = Self::default();
        let mut units = 0;
        for is_media in is_media {
            units += 1;
            if is_media {
                cached.add_tokens(units - 1 - cached.units);
                let placed = Placed::read(state, units)?.filter(|placed| placed.positions > cached.positions);
                let placed = placed.ok_or_else(corrupt)?;
                cached.add_media(placed.positions - cached.positions, placed.shift - cached.shift());
            }
        }
        cached.add_tokens(units - cached.units);
        Ok(cached)
    }
}

impl Placed {
    /// Reads the place of one piece of media, the last of `units` units; `None` for impossible numbers.
    fn read(state: &mut StateReader<'_>, units: usize) -> Result<Option<Self>> {
        let mut positions = [0; 8];
        let mut shift = [0; 8];
        state.fill(&mut positions)?;
        state.fill(&mut shift)?;
        let positions = u64::from_le_bytes(positions);
        let shift = i64::from_le_bytes(shift);
        // No conversation is as long as this, and sums of smaller numbers do not overflow.
        let is_sane = positions < u64::from(u32::MAX) && shift.unsigned_abs() < u64::from(u32::MAX);
        Ok(is_sane.then_some(Self { units, positions: positions as usize, shift }))
    }
}

fn corrupt() -> Error {
    Error::new(ErrorKind::Corrupt, "a state does not say where its media are")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two tokens, media of 9 positions with 3 numbers, a token, media of 4 positions with 4 numbers, and a token.
    fn cached() -> CachedUnits {
        let mut cached = CachedUnits::default();
        cached.add_tokens(2);
        cached.add_media(9, -6);
        cached.add_tokens(1);
        cached.add_media(4, 0);
        cached.add_tokens(1);
        cached
    }

    #[test]
    fn units_are_cut_whole() {
        assert_eq!((cached().units(), cached().positions(), cached().shift()), (6, 17, -6));
        let kept = [(0, 0, 0), (1, 1, 0), (2, 2, 0), (3, 11, -6), (4, 12, -6), (5, 16, -6), (6, 17, -6)];
        for (units, positions, shift) in kept {
            let mut cached = cached();
            assert_eq!(cached.positions_of(units), positions);
            cached.truncate(units);
            assert_eq!((cached.units(), cached.positions(), cached.shift()), (units, positions, shift));
            assert_eq!(cached.units_of(positions), units);
        }
        let mut whole = cached();
        whole.truncate(7);
        assert_eq!(whole, cached());
        let inside = [(3, 2), (10, 2), (13, 4), (15, 4)];
        for (positions, units) in inside {
            assert_eq!(cached().units_of(positions), units, "{positions} positions");
        }
    }

    #[test]
    fn what_is_written_is_read_again() {
        let is_media = [false, false, true, false, true, false];
        let mut state = Vec::new();
        cached().write(6, &mut state);
        state.extend(b"state");
        let read = |is_media: &[bool], mut state: &[u8]| {
            let cached = CachedUnits::read(is_media.iter().copied(), &mut StateReader::new(&mut state));
            cached.map(|cached| (cached, state.to_vec()))
        };
        assert_eq!(read(&is_media, &state).ok(), Some((cached(), b"state".to_vec())));
        let tokens = read(&[false], b"x").map(|(cached, rest)| (cached.positions(), rest));
        assert_eq!(tokens.ok(), Some((1, b"x".to_vec())));
        for damaged in [state.get(..20).unwrap_or_default(), &[0xff; 40], &[0; 40]] {
            assert!(read(&is_media, damaged).is_err(), "{damaged:?}");
        }
    }
}
