//! Steps that drop unlikely candidates. None of them drops the likeliest one, or all of them.

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
    let weight = |candidate: &Candidate| f64::from(candidate.weight);
    let last = last_to_reach(&mut candidates.tokens.clone(), likelier, weight, wanted);
    candidates.retain(|candidate| last.is_none_or(|last| likelier(candidate, &last).is_le()));
}

fn min_p(candidates: &mut Candidates, share: f32) {
    // The likeliest candidate weighs 1, and no filter drops it.
    candidates.retain(|candidate| candidate.weight >= share);
}

fn typical(candidates: &mut Candidates, mass: f32) {
    let total = candidates.total;
    let log_total = total.ln();
    let probability = |candidate: &Candidate| f64::from(candidate.weight) / total;
    let information = |candidate: &Candidate| log_total - f64::from(candidate.below);
    let tokens = &candidates.tokens;
    let expected: f64 = tokens.iter().map(|candidate| probability(candidate) * information(candidate)).sum();
    let distance = |candidate: &Candidate| (information(candidate) - expected).abs();
    let both = |candidate: &Candidate| (distance(candidate), probability(candidate));
    let mut distances: Vec<_> = tokens.iter().map(both).collect();
    let nearer = |left: &(f64, f64), right: &(f64, f64)| left.0.total_cmp(&right.0);
    let last = last_to_reach(&mut distances, nearer, |(_, probability)| *probability, f64::from(mass));
    candidates.retain(|candidate| last.is_none_or(|(farthest, _)| distance(candidate) <= farthest));
}
