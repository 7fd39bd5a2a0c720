//! Joins the results of several retrievers.

use std::collections::HashMap;

use crate::Passage;

/// The smaller it is, the more the first ranks count. With the paper's 60 a weak list moves the good ones of a strong list down, and no weight
/// is right for weak and strong ones: `tests/evaluation.rs` measures it.
const SMOOTHING: f64 = 10.0;

/// Joins lists of passages by their ranks: the score of a passage is the sum of `weight / (10 + rank)` over the lists that have it.
///
/// Passages are the same if their ids are; the text and metadata of the first list that has one are kept. Scores of the lists have no
/// effect, because those of two retrievers cannot be compared. A list with a weight of 0, or one that is not a number, has no effect.
///
/// It is reciprocal rank fusion by G. Cormack, C. Clarke and S. Büttcher (2009), with weights.
///
/// ```
/// use alloquy_retrieval::{Passage, fuse};
///
/// let words = vec![Passage::new("a", "A"), Passage::new("b", "B")];
/// let vectors = vec![Passage::new("b", "B"), Passage::new("c", "C")];
/// let fused = fuse([(1.0, words), (1.0, vectors)], 10);
/// let ids: Vec<_> = fused.iter().map(|passage| passage.id.as_str()).collect();
/// assert_eq!(ids, ["b", "a", "c"]);
/// ```
pub fn fuse(lists: impl IntoIterator<Item = (f64, Vec<Passage>)>, limit: usize) -> Vec<Passage> {
    let mut fused: Vec<Passage> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    for (weight, passages) in lists {
        if !(weight.is_finite() && weight > 0.0) {
            continue;
        }
        let mut rank = SMOOTHING;
        for passage in passages {
            rank += 1.0;
            let place = *places.entry(passage.id.clone()).or_insert(fused.len());
            match fused.get_mut(place) {
                Some(known) => known.score += weight / rank,
                None => fused.push(passage.score(weight / rank)),
            }
        }
    }
    sort(&mut fused);
    fused.truncate(limit);
    fused
}

/// Sorts passages as a retriever returns them: the best first, and equally good ones by id.
pub(crate) fn sort(passages: &mut [Passage]) {
    passages.sort_by(|left, right| right.score.total_cmp(&left.score).then_with(|| left.id.cmp(&right.id)));
}
