//! Merges neighbouring pieces of a text, the best pair first: byte pair encoding as SentencePiece and tiktoken do it.
//!
//! A file of `tokenizers` lists pairs. These two list only the results, so that any two neighbours merge whose bytes together
//! are in the vocabulary. Where pairs are equally good, the leftmost one is first.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::ops::Range;

/// A part of the text that may be merged with its neighbours.
#[derive(Clone, Debug)]
pub(super) struct Symbol {
    /// Its bytes in the text; empty once it is merged into the symbol before it.
    pub(super) bytes: Range<usize>,
    /// Whether it stays as it is.
    pub(super) frozen: bool,
}

/// Two neighbours that can be merged.
struct Pair {
    score: f64,
    left: usize,
    right: usize,
    /// The length of both. If it is another one by the time of the merge, one of them has been merged since.
    length: usize,
}

impl Ord for Pair {
    fn cmp(&self, other: &Self) -> Ordering {
        self.score.total_cmp(&other.score).then(other.left.cmp(&self.left))
    }
}

impl PartialOrd for Pair {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Pair {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Pair {}

/// The symbols of a text, each with its neighbours.
struct Chain<'a, S> {
    symbols: Vec<Link>,
    pairs: BinaryHeap<Pair>,
    score: &'a mut S,
}

struct Link {
    symbol: Symbol,
    before: Option<usize>,
    after: Option<usize>,
}

/// Merges neighbours until no two of them are in the vocabulary together. `score` returns the score of what two neighbours
/// become, where greater is better, or `None`; it is given the bytes of the left one and of the right one.
pub(super) fn merge(
    symbols: Vec<Symbol>,
    score: &mut impl FnMut(Range<usize>, Range<usize>) -> Option<f64>,
) -> Vec<Range<usize>> {
    let count = symbols.len();
    let mut links = Vec::with_capacity(count);
    for (index, symbol) in symbols.into_iter().enumerate() {
        let after = if index + 1 < count { Some(index + 1) } else { None };
        links.push(Link { symbol, before: index.checked_sub(1), after });
    }
    let mut chain = Chain { symbols: links, pairs: BinaryHeap::new(), score };
    for right in 1..count {
        chain.offer(Some(right - 1), Some(right));
    }
    while let Some(pair) = chain.pairs.pop() {
        chain.join(&pair);
    }
    let bytes = chain.symbols.into_iter().map(|link| link.symbol.bytes);
    bytes.filter(|bytes| !bytes.is_empty()).collect()
}

impl<S: FnMut(Range<usize>, Range<usize>) -> Option<f64>> Chain<'_, S> {
    /// Remembers two neighbours if they can be merged.
    fn offer(&mut self, left: Option<usize>, right: Option<usize>) {
        let (Some(left), Some(right)) = (left, right) else { return };
        let (Some(first), Some(second)) = (self.symbols.get(left), self.symbols.get(right)) else { return };
        if first.symbol.frozen || second.symbol.frozen {
            return;
        }
        let length = first.symbol.bytes.len() + second.symbol.bytes.len();
        if let Some(score) = (self.score)(first.symbol.bytes.clone(), second.symbol.bytes.clone()) {
            self.pairs.push(Pair { score, left, right, length });
        }
    }

    /// Merges two neighbours, unless one of them has changed since they were remembered.
    fn join(&mut self, pair: &Pair) {
        let Some(right) = self.symbols.get(pair.right) else { return };
        let second = right.symbol.bytes.clone();
        let after = right.after;
        let Some(left) = self.symbols.get_mut(pair.left) else { return };
        let first = left.symbol.bytes.clone();
        if first.is_empty() || second.is_empty() || first.len() + second.len() != pair.length {
            return;
        }
        left.symbol.bytes.end = second.end;
        left.after = after;
        let before = left.before;
        if let Some(after) = after.and_then(|after| self.symbols.get_mut(after)) {
            after.before = Some(pair.left);
        }
        if let Some(right) = self.symbols.get_mut(pair.right) {
            right.symbol.bytes = second.end..second.end;
        }
        self.offer(before, Some(pair.left));
        self.offer(Some(pair.left), after);
    }
}
