//! Steps that drop unlikely candidates. None of them drops the likeliest one, or all of them.

use super::candidates::{Candidate, first_in_order, likelier};

/// One step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Filter {
    /// Keeps the likeliest candidates that together reach a probability (`TopPLogitsWarper`).
    TopP(f32),
    /// Keeps candidates at least this often as likely as the likeliest (`MinPLogitsWarper`).
    MinP(f32),
    /// Keeps candidates whose information is nearest to the expected one (`TypicalLogitsWarper`).
    Typical(f32),
}

impl Filter {
    pub(super) fn apply(self, candidates: &mut Vec<Candidate>) {
        match self {
            Self::TopP(mass) => top_p(candidates, mass),
            Self::MinP(share) => min_p(candidates, share),
            Self::Typical(mass) => typical(candidates, mass),
        }
    }
}

fn top_p(candidates: &mut Vec<Candidate>, mass: f32) {
    let total = total(candidates);
    // So unlikely that all of them together would be dropped: dropping them first saves sorting them.
    let least = total * f64::from(1.0 - mass) / candidates.len() as f64;
    candidates.retain(|candidate| f64::from(candidate.weight) >= least);
    let (wanted, mut reached) = (total * f64::from(mass), 0.0);
    let keep = first_in_order(candidates, likelier, |candidate| {
        reached += f64::from(candidate.weight);
        reached >= wanted
    });
    candidates.truncate(keep);
}

fn min_p(candidates: &mut Vec<Candidate>, share: f32) {
    let highest = candidates.iter().map(|candidate| candidate.weight).fold(0.0, f32::max);
    candidates.retain(|candidate| candidate.weight >= share * highest);
}

fn typical(candidates: &mut Vec<Candidate>, mass: f32) {
    let total = total(candidates);
    let probability = |candidate: &Candidate| f64::from(candidate.weight) / total;
    let expected: f64 = candidates.iter().map(probability).map(|share| -share * share.ln()).sum();
    let distance = |candidate: &Candidate| (-probability(candidate).ln() - expected).abs();
    let mut by_distance: Vec<_> =
        candidates.iter().map(|candidate| (distance(candidate), probability(candidate))).collect();
    let mut reached = 0.0;
    let kept = first_in_order(
        &mut by_distance,
        |left, right| left.0.total_cmp(&right.0),
        |(_, share)| {
            reached += share;
            reached >= f64::from(mass)
        },
    );
    let Some(&(farthest, _)) = by_distance.get(kept.saturating_sub(1)) else { return };
    candidates.retain(|candidate| distance(candidate) <= farthest);
}

fn total(candidates: &[Candidate]) -> f64 {
    candidates.iter().map(|candidate| f64::from(candidate.weight)).sum()
}
