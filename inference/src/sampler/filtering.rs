//! Applies the steps that drop unlikely candidates. None of them drops the likeliest one.

use super::candidates::{Candidate, Candidates, last_to_reach, likelier};
use super::filter::Filter;

impl Filter {
    pub(super) fn apply(self, candidates: &mut Candidates) {
        match self {
            Self::TopP(mass) => top_p(candidates, mass),
            Self::MinP(share) => min_p(candidates, share),
            Self::Typical(mass) => typical(candidates, mass),
        }
    }
}

fn top_p(candidates: &mut Candidates, mass: f32) {
    let wanted = candidates.total * f64::from(mass);
    let tokens = &mut candidates.tokens.clone();
    let last = last_to_reach(tokens, likelier, |candidate| f64::from(candidate.weight), wanted);
    candidates.retain(|candidate| last.is_none_or(|last| likelier(candidate, &last).is_le()));
}

fn min_p(candidates: &mut Candidates, share: f32) {
    // The likeliest candidate weighs 1, and no filter drops it.
    candidates.retain(|candidate| candidate.weight >= share);
}

/// Keeps the candidates whose information, `-ln(probability)`, is nearest to the expected one, which is the entropy.
fn typical(candidates: &mut Candidates, mass: f32) {
    let total = candidates.total;
    let log_total = total.ln();
    let mut expected = 0.0;
    for candidate in &candidates.tokens {
        expected += f64::from(candidate.weight) / total * information(candidate, log_total);
    }
    let mut distances = Vec::with_capacity(candidates.tokens.len());
    for candidate in &candidates.tokens {
        let distance = (information(candidate, log_total) - expected).abs();
        distances.push((distance, f64::from(candidate.weight) / total));
    }
    let last = last_to_reach(
        &mut distances,
        |left, right| left.0.total_cmp(&right.0),
        |(_, probability)| *probability,
        f64::from(mass),
    );
    if let Some((farthest, _)) = last {
        candidates.retain(|candidate| (information(candidate, log_total) - expected).abs() <= farthest);
    }
}

/// Returns `-ln(probability)`; `log_total` is the logarithm of all weights together.
fn information(candidate: &Candidate, log_total: f64) -> f64 {
    log_total - f64::from(candidate.below)
}
