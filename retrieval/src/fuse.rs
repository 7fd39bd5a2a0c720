//! Joins the results of several retrievers.

use std::collections::HashMap;
use std::hash::Hash;

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
    let mut ranked = Vec::new();
    let mut passages: HashMap<String, Passage> = HashMap::new();
    for (weight, list) in lists {
        let mut ids = Vec::with_capacity(list.len());
        for passage in list {
            ids.push(passage.id.clone());
            passages.entry(passage.id.clone()).or_insert(passage);
        }
        ranked.push((weight, ids));
    }
    let scores = fuse_ranks(ranked).into_iter();
    let mut fused: Vec<Passage> =
        scores.filter_map(|(id, score)| Some(passages.remove(&id)?.score(score))).collect();
    sort_passages(&mut fused);
    fused.truncate(limit);
    fused
}

/// Joins lists of anything by their ranks, the best first in each, and returns each item once with its score: see [`fuse`]. The order
/// is that in which the items first occur.
///
/// ```
/// use alloquy_retrieval::fuse_ranks;
///
/// let fused = fuse_ranks([(1.0, vec!["a", "b"]), (1.0, vec!["b", "c"])]);
/// assert_eq!(fused[1].0, "b");
/// assert!(fused[1].1 > fused[0].1);
/// ```
pub fn fuse_ranks<K: Clone + Eq + Hash>(lists: impl IntoIterator<Item = (f64, Vec<K>)>) -> Vec<(K, f64)> {
    let mut fused: Vec<(K, f64)> = Vec::new();
    let mut places: HashMap<K, usize> = HashMap::new();
    for (weight, items) in lists {
        if !(weight.is_finite() && weight > 0.0) {
            continue;
        }
        let mut rank = SMOOTHING;
        for item in items {
            rank += 1.0;
            let place = *places.entry(item.clone()).or_insert(fused.len());
            match fused.get_mut(place) {
                Some((_, score)) => *score += weight / rank,
                None => fused.push((item, weight / rank)),
            }
        }
    }
    fused
}

/// Sorts passages as retrievers and rerankers return them: the best first, and equally good ones by id.
///
/// ```
/// use alloquy_retrieval::{Passage, sort_passages};
///
/// let mut passages = vec![Passage::new("2", "tea").score(1.0), Passage::new("3", "coffee"), Passage::new("1", "tea").score(1.0)];
/// sort_passages(&mut passages);
/// assert_eq!(passages.iter().map(|passage| passage.id.as_str()).collect::<Vec<_>>(), ["1", "2", "3"]);
/// ```
pub fn sort_passages(passages: &mut [Passage]) {
    passages.sort_by(|left, right| right.score.total_cmp(&left.score).then_with(|| left.id.cmp(&right.id)));
}
