//! One draw among weighted candidates, the same on every platform.

use std::hash::{BuildHasher, Hasher, RandomState};

use alloquy_core::tokenizer::TokenId;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use super::candidates::Candidates;

/// A source of draws.
#[derive(Clone, Debug)]
pub(super) struct Draws {
    pub(super) seed: u64,
    random: ChaCha8Rng,
}

impl Draws {
    pub(super) fn new(seed: Option<u64>) -> Self {
        let seed = seed.unwrap_or_else(fresh_seed);
        Self { seed, random: ChaCha8Rng::seed_from_u64(seed) }
    }

    /// Draws by inversion, in 53-bit precision.
    pub(super) fn draw(&mut self, candidates: &Candidates) -> Option<TokenId> {
        let mut left = (self.random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64 * candidates.total;
        for candidate in &candidates.tokens {
            left -= f64::from(candidate.weight);
            if left < 0.0 {
                return Some(candidate.token);
            }
        }
        candidates.tokens.last().map(|candidate| candidate.token)
    }
}

/// The randomness of the process's hash maps: other numbers in each call, without another dependency.
fn fresh_seed() -> u64 {
    RandomState::new().build_hasher().finish()
}
