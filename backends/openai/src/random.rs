//! Random numbers, for seeds and for waits that differ between clients.

use std::hash::{BuildHasher, Hasher, RandomState};

/// Returns 64 random bits.
pub(crate) fn bits() -> u64 {
    // Each state has keys of its own, from the randomness of the system.
    RandomState::new().build_hasher().finish()
}
