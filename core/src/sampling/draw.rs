//! One draw among weighted candidates, the same on every platform.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use super::candidates::Candidates;
use crate::tokenizer::TokenId;

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

/// The low half of a random UUID: the process's own randomness, without another dependency.
fn fresh_seed() -> u64 {
    crate::clock::new_id().as_u64_pair().1
}

/// Returns e to the power of `x`, which is at most 0, to within 2 units in the last place.
///
/// Each platform's mathematics library rounds in its own way, and a draw must come out the same everywhere; this is
/// plain arithmetic. The method and the polynomial are those of the Cephes library (`expf.c`).
#[inline]
pub(super) fn exp(x: f32) -> f32 {
    const LOG2_E: f32 = std::f32::consts::LOG2_E;
    /// The logarithm of 2 in two parts, the first of which has few bits.
    const LN_2: (f32, f32) = (0.693_359_4, -2.121_944_4e-4);
    /// Adding it leaves the nearest integer in the low bits.
    const ROUNDER: f32 = 12_582_912.0;
    const POLYNOMIAL: [f32; 6] =
        [1.987_569_1e-4, 1.398_199_9e-3, 8.333_452e-3, 4.166_579_6e-2, 0.166_666_65, 0.5];
    /// Below it the result is no normal number any more.
    const LEAST: f32 = -87.0;

    let bounded = if x > LEAST { x } else { LEAST };
    let rounded = bounded * LOG2_E + ROUNDER;
    let power = rounded - ROUNDER;
    let rest = bounded - power * LN_2.0 - power * LN_2.1;
    let tail = POLYNOMIAL.iter().fold(0.0, |sum, factor| sum * rest + factor);
    let exponent = rounded.to_bits().wrapping_sub(ROUNDER.to_bits()).wrapping_add(127) << 23;
    let value = (tail * rest * rest + rest + 1.0) * f32::from_bits(exponent);
    if x > LEAST { value } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exp_agrees_with_the_exact_one() {
        for step in 0..870_000 {
            let x = -(step as f32) / 10_000.0;
            let exact = f64::from(x).exp();
            let error = (f64::from(exp(x)) - exact).abs() / exact;
            assert!(error < 2.5e-7, "exp({x}) is off by {error:e}");
        }
        assert_eq!(exp(0.0).to_bits(), 1.0_f32.to_bits());
        assert_eq!(exp(-88.0).to_bits(), 0);
        for x in [f32::NEG_INFINITY, f32::NAN] {
            assert_eq!(exp(x).to_bits(), 0);
        }
    }
}
