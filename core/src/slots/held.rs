//! What a session holds, with a number for each beginning of it. Whoever asks for a beginning then looks at what is new alone.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Deref;

use crate::prompt::Unit;

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

    /// Returns the numbers of the beginnings of a prompt that shares its first `shared` units with this.
    pub(super) fn beginnings_of(&self, prompt: &[Unit], shared: usize) -> Vec<u64> {
        let mut beginnings = self.beginnings.get(..shared).unwrap_or_default().to_vec();
        beginnings.reserve(prompt.len().saturating_sub(shared));
        for unit in prompt.iter().skip(beginnings.len()) {
            beginnings.push(longer(beginnings.last().copied(), unit));
        }
        beginnings
    }
}

impl From<Vec<Unit>> for Held {
    fn from(units: Vec<Unit>) -> Self {
        let beginnings = Self::default().beginnings_of(&units, 0);
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
            let shared = crate::prompt::common_prefix(&old, &held);
            prop_assert_eq!(old.beginnings_of(&held, shared), anew.beginnings());
        }
    }
}
