//! What was computed, and may since be gone: by the hashes of its beginnings. Holds no units.

use std::collections::{HashSet, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};

use crate::prompt::Unit;

/// How many beginnings are remembered: those of some eight contexts of 32,768 units that share nothing, in about 6 MB.
const REMEMBERED: usize = 1 << 18;

/// The beginnings of all that was computed, as far back as there is room for.
#[derive(Debug, Default)]
pub(super) struct Computed {
    known: HashSet<u64>,
    /// In the order in which they came.
    order: VecDeque<u64>,
}

impl Computed {
    /// Remembers what a session holds.
    pub(super) fn note(&mut self, units: &[Unit]) {
        for beginning in beginnings(units) {
            if self.known.insert(beginning) {
                self.order.push_back(beginning);
            }
        }
        while self.order.len() > REMEMBERED {
            self.order.pop_front().map(|oldest| self.known.remove(&oldest));
        }
    }

    /// How many leading units were computed in this order, whether or not a session holds them still.
    pub(super) fn longest(&self, units: &[Unit]) -> usize {
        // Short beginnings are the oldest, and forgotten first: the longest one that is known counts.
        let known = beginnings(units).enumerate().filter(|(_, beginning)| self.known.contains(beginning));
        known.last().map_or(0, |(index, _)| index + 1)
    }
}

/// A number for each beginning that is not empty. Two that differ have the same one about never, and then a report names a
/// reason where there is none.
fn beginnings(units: &[Unit]) -> impl Iterator<Item = u64> {
    units.iter().scan(0_u64, |before, unit| {
        let mut hasher = DefaultHasher::new();
        before.hash(&mut hasher);
        match unit {
            Unit::Token(token) => token.hash(&mut hasher),
            Unit::Media(media) => media.digest().as_bytes().hash(&mut hasher),
        }
        *before = hasher.finish();
        Some(*before)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn units(tokens: std::ops::Range<u32>) -> Vec<Unit> {
        tokens.map(Unit::Token).collect()
    }

    #[test]
    fn what_was_computed_is_known_up_to_where_another_goes_its_own_way() {
        let mut computed = Computed::default();
        assert_eq!(computed.longest(&units(0..5)), 0);
        computed.note(&units(0..5));
        let other: Vec<_> = units(0..3).into_iter().chain(units(7..9)).collect();
        assert_eq!((computed.longest(&units(0..9)), computed.longest(&other)), (5, 3));
        assert_eq!(computed.longest(&units(1..5)), 0, "it began otherwise");
    }

    #[test]
    fn the_oldest_is_forgotten() {
        let mut computed = Computed::default();
        computed.note(&units(0..3));
        let long = units(10..10 + REMEMBERED as u32);
        computed.note(&long);
        assert_eq!((computed.longest(&units(0..3)), computed.longest(&long)), (0, REMEMBERED));
        assert_eq!(computed.known.len(), REMEMBERED);
    }
}
