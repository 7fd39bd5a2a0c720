//! Joins several orders of the same notes by their ranks.

use alloquy_core::{Error, ErrorKind, NodeId, Result};
use alloquy_retrieval::fuse_ranks;

/// An order of notes, the best first, and how much it counts.
#[derive(Clone, Debug)]
pub(crate) struct Ranking {
    pub(crate) notes: Vec<NodeId>,
    pub(crate) weight: f64,
}

/// Returns each note of the rankings once, the best first. Scores of two searches cannot be compared, and ranks can.
pub(crate) fn fused(rankings: Vec<Ranking>) -> Vec<NodeId> {
    let mut notes = fuse_ranks(rankings.into_iter().map(|ranking| (ranking.weight, ranking.notes)));
    // Of equal ones, the newer is first.
    notes.sort_by(|left, right| right.1.total_cmp(&left.1).then(right.0.cmp(&left.0)));
    notes.into_iter().map(|(note, _)| note).collect()
}

/// Checks a weight.
///
/// # Errors
/// [`ErrorKind::Invalid`] for a weight that is not a finite number above 0.
pub(crate) fn must_be_a_weight(name: &str, weight: f64) -> Result<()> {
    if weight.is_finite() && weight > 0.0 {
        return Ok(());
    }
    let message = format!("the weight {weight} of {name:?} is not a finite number above 0, such as 1");
    Err(Error::new(ErrorKind::Invalid, message))
}
