//! Tokens that may still be drawn, with their weights. Knows no options.

use std::cmp::Ordering;

use alloquy_core::tokenizer::TokenId;

use super::filter::Filter;

/// A token that may still be drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Candidate {
    pub(super) token: TokenId,
    /// How far its logit is below the highest one, after temperature; at most 0.
    pub(super) below: f32,
    /// `exp(below)`: in proportion to its probability.
    pub(super) weight: f32,
}

/// Tokens that may still be drawn, in the order of their ids.
#[derive(Clone, Debug, Default)]
pub(super) struct Candidates {
    pub(super) tokens: Vec<Candidate>,
    /// The weights of all of them together, and of those that were left out because a filter would drop them.
    pub(super) total: f64,
    weights: Vec<f32>,
}

impl Candidates {
    /// Takes the logits in `range`. Logits that are too unlikely for a weight may be left out, and so may those that `first`,
    /// the first filter, drops in any case.
    ///
    /// The temperature scales the distance to the highest logit, so that a tiny one cannot overflow
    /// (`TemperatureLogitsWarper`).
    pub(super) fn gather(&mut self, logits: &[f32], range: Range, temperature: f32, first: Option<&Filter>) {
        self.tokens.clear();
        if range.least == f32::NEG_INFINITY {
            self.gather_all(logits, range.highest, temperature, first);
        } else {
            self.gather_few(logits, range, temperature);
        }
    }

    fn gather_few(&mut self, logits: &[f32], range: Range, temperature: f32) {
        for (token, &logit) in logits.iter().enumerate() {
            if logit >= range.least && logit <= range.highest {
                let below = (logit - range.highest) / temperature;
                self.tokens.push(Candidate { token: token as TokenId, below, weight: exp(below) });
            }
        }
        self.retain(|candidate| candidate.weight > 0.0);
    }

    /// Weighs all logits in a loop without branches, which the compiler vectorizes, before it selects those that stay.
    fn gather_all(&mut self, logits: &[f32], highest: f32, temperature: f32, first: Option<&Filter>) {
        self.weights.clear();
        self.weights.extend(logits.iter().map(|&logit| {
            // NaN and infinity, which only a broken model gives, weigh nothing.
            let valid = if logit <= highest { logit } else { f32::NEG_INFINITY };
            exp((valid - highest) / temperature)
        }));
        self.total = sum(&self.weights);
        let least = first.map_or(0.0, |filter| filter.least(self.total, logits.len()));
        for (token, (&weight, &logit)) in self.weights.iter().zip(logits).enumerate() {
            if weight > 0.0 && weight >= least {
                let below = (logit - highest) / temperature;
                self.tokens.push(Candidate { token: token as TokenId, below, weight });
            }
        }
    }

    /// Keeps the candidates for which `keep` holds, and sums their weights.
    pub(super) fn retain(&mut self, keep: impl Fn(&Candidate) -> bool) {
        self.tokens.retain(keep);
        self.total = self.tokens.iter().map(|candidate| f64::from(candidate.weight)).sum();
    }
}

/// The lowest and the highest logit of candidates.
#[derive(Clone, Copy, Debug)]
pub(super) struct Range {
    pub(super) least: f32,
    pub(super) highest: f32,
}

/// How many sums run side by side: with a single one, every addition would wait for the one before.
const LANES: usize = 16;
/// How many numbers are compared before a branch.
const BLOCK: usize = 64;

fn sum(weights: &[f32]) -> f64 {
    let mut lanes = [0.0_f64; LANES];
    let (chunks, rest) = weights.as_chunks::<LANES>();
    for chunk in chunks {
        for (lane, &weight) in lanes.iter_mut().zip(chunk) {
            *lane += f64::from(weight);
        }
    }
    lanes.into_iter().chain(rest.iter().copied().map(f64::from)).sum()
}

/// Returns the highest finite logit and its token; of equal logits the lowest token.
pub(super) fn likeliest(logits: &[f32]) -> Option<(TokenId, f32)> {
    let highest = highest(logits).filter(|highest| highest.is_finite())?;
    Some((first(logits, highest)? as TokenId, highest))
}

/// Returns where a number is first. Whole blocks are compared without a branch, several numbers at a time.
fn first(logits: &[f32], wanted: f32) -> Option<usize> {
    let (blocks, _) = logits.as_chunks::<BLOCK>();
    let block = blocks.iter().position(|block| has(block, wanted)).unwrap_or(blocks.len());
    let start = block * BLOCK;
    let offset = logits.get(start..)?.iter().position(|&logit| logit == wanted)?;
    Some(start + offset)
}

/// Returns whether a block has a number. `|` has no branch, `||` would.
fn has(block: &[f32; BLOCK], wanted: f32) -> bool {
    block.iter().fold(false, |found, &logit| found | (logit == wanted))
}

/// Returns the higher of two logits. NaN and infinity are never higher.
fn higher(best: f32, logit: f32) -> f32 {
    if (logit > best) & (logit < f32::INFINITY) { logit } else { best }
}

fn highest(logits: &[f32]) -> Option<f32> {
    let mut lanes = [f32::NEG_INFINITY; LANES];
    let (chunks, rest) = logits.as_chunks::<LANES>();
    for chunk in chunks {
        for (lane, &logit) in lanes.iter_mut().zip(chunk) {
            *lane = higher(*lane, logit);
        }
    }
    lanes.into_iter().chain(rest.iter().copied()).reduce(higher)
}

/// Returns the `keep`-th highest logit, or minus infinity when there are fewer (`TopKLogitsWarper`).
pub(super) fn threshold(logits: &[f32], keep: usize, scratch: &mut Vec<f32>) -> f32 {
    let mut least = f32::NEG_INFINITY;
    scratch.clear();
    for &logit in logits {
        if logit > least && logit < f32::INFINITY {
            scratch.push(logit);
            // Twice as many as are kept: half of them can be dropped, and lower logits are skipped from here on.
            if scratch.len() >= keep.saturating_mul(2) {
                least = cut(scratch, keep);
            }
        }
    }
    if scratch.len() < keep { f32::NEG_INFINITY } else { cut(scratch, keep) }
}

/// Keeps the highest and returns the last of them.
fn cut(values: &mut Vec<f32>, keep: usize) -> f32 {
    let last = keep.saturating_sub(1);
    let (_, &mut least, _) = values.select_nth_unstable_by(last, |left, right| right.total_cmp(left));
    values.truncate(keep);
    least
}

/// Returns the last of the first items in `order` that together reach the mass `wanted`, without sorting them.
///
/// Each step splits the items at the median and keeps one half, so that all steps together look at about twice the items:
///
/// ```text
/// wanted 0.8:  [0.4 0.3 | 0.2 0.1]   the first half has 0.7: 0.1 is wanted of the second
/// wanted 0.1:  [0.2 | 0.1]           the first half has 0.2: the item is in it
/// ```
pub(super) fn last_to_reach<T: Copy>(
    items: &mut [T],
    order: impl Fn(&T, &T) -> Ordering,
    mass: impl Fn(&T) -> f64,
    wanted: f64,
) -> Option<T> {
    let mut rest = items;
    let mut wanted = wanted;
    while rest.len() > 1 {
        let middle = rest.len() / 2;
        rest.select_nth_unstable_by(middle, &order);
        let (first, others) = rest.split_at_mut(middle);
        let reached: f64 = first.iter().map(&mass).sum();
        if reached >= wanted {
            rest = first;
        } else {
            wanted -= reached;
            rest = others;
        }
    }
    rest.first().copied()
}

/// Likelier first, the lower id of equals.
pub(super) fn likelier(left: &Candidate, right: &Candidate) -> Ordering {
    right.weight.total_cmp(&left.weight).then(left.token.cmp(&right.token))
}

/// Returns e to the power of `x`, which is at most 0, to within 2 units in the last place.
///
/// Each platform's mathematics library rounds in its own way, and a draw must be the same everywhere. So this is plain
/// arithmetic. The method and the polynomial are those of the Cephes library (`expf.c`).
#[inline]
fn exp(x: f32) -> f32 {
    const LOG2_E: f32 = std::f32::consts::LOG2_E;
    /// The logarithm of 2 in two parts, the first of which has few bits.
    const LN_2: (f32, f32) = (0.693_359_4, -2.121_944_4e-4);
    /// Adding it leaves the nearest integer in the low bits.
    const ROUNDER: f32 = 12_582_912.0;
    const POLYNOMIAL: [f32; 6] =
        [1.987_569_1e-4, 1.398_199_9e-3, 8.333_452e-3, 4.166_579_6e-2, 0.166_666_65, 0.5];
    /// Below this the result is not a normal number.
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
    fn the_first_of_equals_is_found_wherever_blocks_end() {
        for length in [1, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK + 5] {
            for place in [0, length / 2, length - 1] {
                let mut logits = vec![-1.0; length];
                logits.iter_mut().skip(place).step_by(2).for_each(|logit| *logit = 2.5);
                assert_eq!(likeliest(&logits), Some((place as TokenId, 2.5)), "{place} of {length}");
            }
        }
        assert_eq!((likeliest(&[f32::NAN, f32::INFINITY]), likeliest(&[])), (None, None));
    }

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
