//! Tokens that may still be drawn, with their weights. Knows no options.

use std::cmp::Ordering;

use super::draw::exp;
use crate::tokenizer::TokenId;

/// A token that may still be drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Candidate {
    pub(super) token: TokenId,
    /// In proportion to its probability; that of the likeliest token is 1.
    pub(super) weight: f32,
}

/// Returns the highest finite logit and its token, the lowest one of equals.
pub(super) fn likeliest(logits: &[f32]) -> Option<(TokenId, f32)> {
    let highest = highest(logits).filter(|highest| highest.is_finite())?;
    let token = logits.iter().position(|&logit| logit == highest)?;
    Some((token as TokenId, highest))
}

/// The highest finite logit. In lanes, because one running maximum would make every comparison wait for the last.
fn highest(logits: &[f32]) -> Option<f32> {
    const LANES: usize = 16;
    let mut lanes = [f32::NEG_INFINITY; LANES];
    for chunk in logits.chunks(LANES) {
        for (lane, &logit) in lanes.iter_mut().zip(chunk) {
            // False for NaN; infinity is no logit that a sound model gives.
            *lane = if logit > *lane && logit < f32::INFINITY { logit } else { *lane };
        }
    }
    lanes.into_iter().reduce(f32::max)
}

/// Makes candidates of the logits that are at least `least`; those too unlikely for a weight are left out.
///
/// The temperature scales the distance to `highest`, so that a tiny one cannot overflow (`TemperatureLogitsWarper`).
pub(super) fn gather(logits: &[f32], highest: f32, least: f32, temperature: f32, into: &mut Vec<Candidate>) {
    into.clear();
    for (token, &logit) in logits.iter().enumerate() {
        if logit >= least && logit <= highest {
            into.push(Candidate { token: token as TokenId, weight: exp((logit - highest) / temperature) });
        }
    }
    into.retain(|candidate| candidate.weight > 0.0);
}

/// Returns the `keep`-th highest logit, or minus infinity when there are fewer (`TopKLogitsWarper`).
pub(super) fn threshold(logits: &[f32], keep: usize, scratch: &mut Vec<f32>) -> f32 {
    let mut least = f32::NEG_INFINITY;
    scratch.clear();
    for &logit in logits {
        if logit > least && logit < f32::INFINITY {
            scratch.push(logit);
            if scratch.len() >= keep.saturating_mul(2) {
                least = cut(scratch, keep);
            }
        }
    }
    match scratch.len() < keep {
        true => f32::NEG_INFINITY,
        false => cut(scratch, keep),
    }
}

/// Keeps the highest and returns the last of them.
fn cut(values: &mut Vec<f32>, keep: usize) -> f32 {
    let last = keep.saturating_sub(1);
    let (_, &mut least, _) = values.select_nth_unstable_by(last, |left, right| right.total_cmp(left));
    values.truncate(keep);
    least
}

/// Puts first those that come first in `order`, a few at a time, and hands them to `take` until it has enough.
/// Returns how many it took.
pub(super) fn first_in_order<T>(
    items: &mut [T],
    order: impl Fn(&T, &T) -> Ordering,
    mut has_enough: impl FnMut(&T) -> bool,
) -> usize {
    let (mut start, mut size) = (0, 64);
    while let Some(rest) = items.get_mut(start..).filter(|rest| !rest.is_empty()) {
        if size < rest.len() {
            rest.select_nth_unstable_by(size, &order);
        }
        let end = size.min(rest.len());
        let first = rest.get_mut(..end).unwrap_or_default();
        first.sort_unstable_by(&order);
        if let Some(index) = first.iter().position(&mut has_enough) {
            return start + index + 1;
        }
        start += end;
        size *= 4;
    }
    start
}

/// Likelier first, the lower id of equals.
pub(super) fn likelier(left: &Candidate, right: &Candidate) -> Ordering {
    right.weight.total_cmp(&left.weight).then(left.token.cmp(&right.token))
}
