//! The cached units of a session, with a hash of each prefix, so that two prefixes are compared by one number.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Deref;

use alloquy_core::prompt::PromptUnit;

/// The cached units of a session.
#[derive(Clone, Debug, Default)]
pub(crate) struct CachedUnits {
    units: Vec<PromptUnit>,
    /// For each unit, the hash of the prefix that ends with it.
    prefix_hashes: Vec<u64>,
}

impl CachedUnits {
    /// Adds a unit.
    pub(crate) fn push(&mut self, unit: PromptUnit) {
        self.prefix_hashes.push(longer(self.prefix_hashes.last().copied(), &unit));
        self.units.push(unit);
    }

    /// Adds units.
    pub(crate) fn extend(&mut self, units: &[PromptUnit]) {
        for unit in units {
            self.push(unit.clone());
        }
    }

    /// Keeps the first `length` units.
    pub(crate) fn truncate(&mut self, length: usize) {
        self.units.truncate(length);
        self.prefix_hashes.truncate(length);
    }

    /// Returns the hash of each prefix that is not empty. If two prefixes have the same hash, which almost never happens, a
    /// report has a wrong reason.
    pub(super) fn prefix_hashes(&self) -> &[u64] {
        &self.prefix_hashes
    }

    /// Returns the length of the common prefix with the units that have these hashes.
    pub(super) fn shared(&self, prefix_hashes: &[u64]) -> usize {
        // A binary search: up to the common prefix all hashes are equal, after it none is.
        let mut same = 0;
        let mut differs = self.prefix_hashes.len().min(prefix_hashes.len()) + 1;
        while same + 1 < differs {
            let middle = same.midpoint(differs);
            if self.prefix_hashes.get(middle - 1) == prefix_hashes.get(middle - 1) {
                same = middle;
            } else {
                differs = middle;
            }
        }
        same
    }
}

/// Returns the hashes of all prefixes of `units`. Those of the shortest are known already.
pub(super) fn hash_prefixes(mut prefix_hashes: Vec<u64>, units: &[PromptUnit]) -> Vec<u64> {
    prefix_hashes.reserve(units.len().saturating_sub(prefix_hashes.len()));
    for unit in units.iter().skip(prefix_hashes.len()) {
        prefix_hashes.push(longer(prefix_hashes.last().copied(), unit));
    }
    prefix_hashes
}

impl From<Vec<PromptUnit>> for CachedUnits {
    fn from(units: Vec<PromptUnit>) -> Self {
        let prefix_hashes = hash_prefixes(Vec::new(), &units);
        Self { units, prefix_hashes }
    }
}

impl Deref for CachedUnits {
    type Target = [PromptUnit];

    fn deref(&self) -> &[PromptUnit] {
        &self.units
    }
}

/// Returns the hash of a prefix with one more unit.
fn longer(before: Option<u64>, unit: &PromptUnit) -> u64 {
    let mut hasher = DefaultHasher::new();
    before.unwrap_or(0).hash(&mut hasher);
    match unit {
        PromptUnit::Token(token) => token.hash(&mut hasher),
        PromptUnit::Media(media) => media.digest().as_bytes().hash(&mut hasher),
    }
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn units(tokens: &[u32]) -> Vec<PromptUnit> {
        tokens.iter().copied().map(PromptUnit::Token).collect()
    }

    proptest! {
        #[test]
        fn hashes_are_those_of_the_units_whatever_was_held_before(
            first in prop::collection::vec(0_u32..4, 0..20),
            kept in 0_usize..25,
            more in prop::collection::vec(0_u32..4, 0..20),
        ) {
            let mut cached = CachedUnits::from(units(&first));
            cached.truncate(kept);
            cached.extend(&units(&more));
            let fresh = CachedUnits::from(cached.to_vec());
            prop_assert_eq!(cached.prefix_hashes(), fresh.prefix_hashes());
            let old = CachedUnits::from(units(&first));
            let shared = alloquy_core::prompt::common_prefix(&old, &cached);
            prop_assert_eq!(old.shared(cached.prefix_hashes()), shared);
            let known = old.prefix_hashes()[..shared].to_vec();
            prop_assert_eq!(hash_prefixes(known, &cached), fresh.prefix_hashes());
        }
    }
}
