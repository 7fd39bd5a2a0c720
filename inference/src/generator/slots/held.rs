//! What a session holds, with a number for each beginning of it. Whoever asks for a beginning then looks at what is new alone.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Deref;

use alloquy_core::prompt::Unit;

/// The units that a session holds.
#[derive(Clone, Debug, Default)]
pub(crate) struct Held {
    units: Vec<Unit>,
    /// As many as units: the number of what ends with each of them.
    beginnings: Vec<u64>,
}

impl Held {
    /// Adds a unit.
    pub(crate) fn push(&mut self, unit: Unit) {
        self.beginnings.push(longer(self.beginnings.last().copied(), &unit));
        self.units.push(unit);
    }

    /// Adds units.
    pub(crate) fn extend(&mut self, units: &[Unit]) {
        for unit in units {
            self.push(unit.clone());
        }
    }

    /// Keeps the first `length` units.
    pub(crate) fn truncate(&mut self, length: usize) {
        self.units.truncate(length);
        self.beginnings.truncate(length);
    }

    /// Returns the number of each beginning that is not empty. Two that differ have the same one about never, and then a report
    /// names a reason where there is none.
    pub(super) fn beginnings(&self) -> &[u64] {
        &self.beginnings
    }

    /// How many leading units this shares with what has these numbers: what is alike has the same number, and so has all before
    /// it, which is why few of them are looked at.
    pub(super) fn shared(&self, beginnings: &[u64]) -> usize {
        let mut same = 0;
        let mut differs = self.beginnings.len().min(beginnings.len()) + 1;
        while same + 1 < differs {
            let middle = same.midpoint(differs);
            if self.beginnings.get(middle - 1) == beginnings.get(middle - 1) {
                same = middle;
            } else {
                differs = middle;
            }
        }
        same
    }
}

/// Returns the numbers of all beginnings of some units, of which the first ones are there.
pub(super) fn beginnings_of(mut beginnings: Vec<u64>, units: &[Unit]) -> Vec<u64> {
    beginnings.reserve(units.len().saturating_sub(beginnings.len()));
    for unit in units.iter().skip(beginnings.len()) {
        beginnings.push(longer(beginnings.last().copied(), unit));
    }
    beginnings
}

impl From<Vec<Unit>> for Held {
    fn from(units: Vec<Unit>) -> Self {
        let beginnings = beginnings_of(Vec::new(), &units);
        Self { units, beginnings }
    }
}

impl Deref for Held {
    type Target = [Unit];

    fn deref(&self) -> &[Unit] {
        &self.units
    }
}

/// The number of a beginning with one more unit.
fn longer(before: Option<u64>, unit: &Unit) -> u64 {
    let mut hasher = DefaultHasher::new();
    before.unwrap_or(0).hash(&mut hasher);
    match unit {
        Unit::Token(token) => token.hash(&mut hasher),
        Unit::Media(media) => media.digest().as_bytes().hash(&mut hasher),
    }
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn units(tokens: &[u32]) -> Vec<Unit> {
        tokens.iter().copied().map(Unit::Token).collect()
    }

    proptest! {
        #[test]
        fn numbers_are_those_of_the_units_whatever_was_held_before(
            first in prop::collection::vec(0_u32..4, 0..20),
            kept in 0_usize..25,
            more in prop::collection::vec(0_u32..4, 0..20),
        ) {
            let mut held = Held::from(units(&first));
            held.truncate(kept);
            held.extend(&units(&more));
            let anew = Held::from(held.to_vec());
            prop_assert_eq!(held.beginnings(), anew.beginnings());
            let old = Held::from(units(&first));
            let shared = alloquy_core::prompt::common_prefix(&old, &held);
            prop_assert_eq!(old.shared(held.beginnings()), shared);
            let known = old.beginnings()[..shared].to_vec();
            prop_assert_eq!(beginnings_of(known, &held), anew.beginnings());
        }
    }
}
