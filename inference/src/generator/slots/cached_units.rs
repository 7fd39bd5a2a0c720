//! The cached units of a session, with a hash of each prefix, so that two prefixes are compared by one number.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Deref;

use alloquy_core::media::Digest;
use alloquy_core::prompt::{PromptUnit, common_prefix};

/// The units of a prompt, and whose sessions may serve it: those of the same owner, or those without one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OwnedPrompt<'a> {
    pub(crate) units: &'a [PromptUnit],
    pub(crate) owner: Option<Digest>,
}

impl OwnedPrompt<'_> {
    /// Returns the length of the common prefix with another prompt, of which that of another owner has none.
    pub(super) fn shared(&self, other: Self) -> usize {
        if self.owner == other.owner { common_prefix(self.units, other.units) } else { 0 }
    }

    /// Returns the hashes of all prefixes. Those of the shortest are known already.
    pub(super) fn prefix_hashes(&self, known: Vec<u64>) -> Vec<u64> {
        hash_prefixes(known, self.units, self.owner)
    }
}

/// The cached units of a session.
#[derive(Clone, Debug, Default)]
pub(crate) struct CachedUnits {
    /// Whose prompts may continue the session.
    owner: Option<Digest>,
    units: Vec<PromptUnit>,
    /// For each unit, the hash of the prefix that ends with it.
    prefix_hashes: Vec<u64>,
}

impl CachedUnits {
    /// Units of an owner.
    pub(crate) fn of_owner(owner: Option<Digest>, units: Vec<PromptUnit>) -> Self {
        let prefix_hashes = hash_prefixes(Vec::new(), &units, owner);
        Self { owner, units, prefix_hashes }
    }

    /// Returns the units with their owner.
    pub(crate) fn owned(&self) -> OwnedPrompt<'_> {
        OwnedPrompt { units: &self.units, owner: self.owner }
    }

    /// Adds a unit.
    pub(crate) fn push(&mut self, unit: PromptUnit) {
        self.prefix_hashes.push(longer(self.prefix_hashes.last().copied(), &unit, self.owner));
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
fn hash_prefixes(mut prefix_hashes: Vec<u64>, units: &[PromptUnit], owner: Option<Digest>) -> Vec<u64> {
    prefix_hashes.reserve(units.len().saturating_sub(prefix_hashes.len()));
    for unit in units.iter().skip(prefix_hashes.len()) {
        prefix_hashes.push(longer(prefix_hashes.last().copied(), unit, owner));
    }
    prefix_hashes
}

impl From<Vec<PromptUnit>> for CachedUnits {
    fn from(units: Vec<PromptUnit>) -> Self {
        Self::of_owner(None, units)
    }
}

impl Deref for CachedUnits {
    type Target = [PromptUnit];

    fn deref(&self) -> &[PromptUnit] {
        &self.units
    }
}

/// Returns the hash of a prefix with one more unit. That of the first unit has the owner too, so that no prefixes of two owners are
/// equal.
fn longer(before: Option<u64>, unit: &PromptUnit, owner: Option<Digest>) -> u64 {
    let mut hasher = DefaultHasher::new();
    match (before, owner) {
        (Some(before), _) => before.hash(&mut hasher),
        (None, None) => 0_u64.hash(&mut hasher),
        (None, Some(owner)) => owner.as_bytes().hash(&mut hasher),
    }
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
            let shared = common_prefix(&old, &cached);
            prop_assert_eq!(old.shared(cached.prefix_hashes()), shared);
            let known = old.prefix_hashes()[..shared].to_vec();
            prop_assert_eq!(cached.owned().prefix_hashes(known), fresh.prefix_hashes());
        }

        #[test]
        fn owners_share_no_prefix(tokens in prop::collection::vec(0_u32..4, 0..20), other in prop::option::of(0_u8..3)) {
            let other = other.map(|name| Digest::of(&[name]));
            let ada = CachedUnits::of_owner(Some(Digest::of(b"ada")), units(&tokens));
            let cached = CachedUnits::of_owner(other, units(&tokens));
            prop_assert_eq!(ada.shared(cached.prefix_hashes()), 0);
            prop_assert_eq!(ada.owned().shared(cached.owned()), 0);
            prop_assert_eq!(cached.owned().shared(cached.owned()), tokens.len());
        }
    }
}
