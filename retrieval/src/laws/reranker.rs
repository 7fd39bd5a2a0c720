//! The laws of rerankers.

use std::collections::HashMap;

use alloquy_core::Result;

use crate::{Passage, Reranker};

/// Checks all laws on a reranker.
///
/// ```
/// use alloquy_core::Result;
/// use alloquy_core::media::Digest;
/// use alloquy_retrieval::{Passage, Reranker, laws};
///
/// /// Prefers short passages.
/// #[derive(Debug)]
/// struct Short;
///
/// #[async_trait::async_trait]
/// impl Reranker for Short {
///     fn digest(&self) -> Digest {
///         Digest::of(b"short")
///     }
///     async fn rerank(&self, _text: &str, mut passages: Vec<Passage>) -> Result<Vec<Passage>> {
///         passages.sort_by_key(|passage| (passage.text.len(), passage.id.clone()));
///         for passage in &mut passages {
///             passage.score = -(passage.text.len() as f64);
///         }
///         Ok(passages)
///     }
/// }
/// # pollster::block_on(laws::reranker::all(&Short)).unwrap();
/// ```
///
/// # Errors
/// Those of the reranker.
///
/// # Panics
/// If the reranker breaks a law.
pub async fn all(reranker: &dyn Reranker) -> Result<()> {
    only_scores_change(reranker).await?;
    the_order_of_passages_has_no_effect(reranker).await
}

const TEXT: &str = "Where is tea grown?";

fn passages() -> Vec<Passage> {
    let texts = [
        "Tea is grown in Assam.",
        "Coffee is grown in Kona.",
        "",
        "Rain falls in April. Tea needs it.",
        "茶",
    ];
    let mut passages = Vec::new();
    for (number, text) in texts.iter().enumerate() {
        passages.push(Passage::new(number.to_string(), *text).source("tea.md").metadata("number", number));
    }
    passages
}

/// Passages are those that were given, each at most once, and unchanged except for their scores; they are sorted by finite scores.
///
/// [`all`] has an example.
///
/// # Errors
/// Those of the reranker.
///
/// # Panics
/// If the reranker breaks the law.
pub async fn only_scores_change(reranker: &dyn Reranker) -> Result<()> {
    let none = reranker.rerank(TEXT, Vec::new()).await?;
    assert!(none.is_empty(), "there are passages that were not given");
    let mut given: HashMap<String, Passage> = HashMap::new();
    for passage in passages() {
        given.insert(passage.id.clone(), passage);
    }
    let ranked = reranker.rerank(TEXT, passages()).await?;
    let mut last = f64::INFINITY;
    for passage in ranked {
        let Some(before) = given.remove(&passage.id) else {
            panic!("passage {:?} was not given once", passage.id)
        };
        assert!(passage.score.is_finite(), "the score of passage {:?} is no number", passage.id);
        assert!(passage.score <= last, "the passages are not sorted by their scores");
        last = passage.score;
        assert_eq!(passage.clone().score(before.score), before, "more than the score of a passage changed");
    }
    Ok(())
}

/// The same passages in another order have the same scores.
///
/// [`all`] has an example.
///
/// # Errors
/// Those of the reranker.
///
/// # Panics
/// If the reranker breaks the law.
pub async fn the_order_of_passages_has_no_effect(reranker: &dyn Reranker) -> Result<()> {
    let digest = reranker.digest();
    let ranked = reranker.rerank(TEXT, passages()).await?;
    let mut scores: HashMap<String, f64> = HashMap::new();
    for passage in &ranked {
        scores.insert(passage.id.clone(), passage.score);
    }
    let mut reversed = passages();
    reversed.reverse();
    for passage in reranker.rerank(TEXT, reversed).await? {
        let score = scores.get(&passage.id).copied().unwrap_or(f64::NAN);
        let is_same = (passage.score - score).abs() <= 0.001 * score.abs().max(1.0);
        assert!(is_same, "passage {:?} has the scores {score} and {}", passage.id, passage.score);
    }
    assert_eq!(reranker.digest(), digest, "ordering passages changed the digest");
    Ok(())
}
