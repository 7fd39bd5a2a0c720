//! Which of several servers gets a request. Knows no connections.

use alloquy_core::tokenizer::TokenId;
use sha2::{Digest as _, Sha256};

#[cfg(test)]
mod tests;

/// How many ids at the end of a prompt begin its reply: in most templates a control token, the role, and a line break.
const HEADER: usize = 3;

/// A server that may get a request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Candidate<'a> {
    /// Its address, by which other processes know it too.
    pub(crate) address: &'a str,
    pub(crate) weight: u32,
    pub(crate) in_flight: usize,
    /// How many leading tokens of the prompt it has cached of the same conversation; 0 if it has none of it.
    pub(crate) held: usize,
}

/// Returns the index of the server that gets a request: the one that has the most of the conversation; among equals, the one
/// with the fewest requests in flight for its weight; among equals, the one that the digest of the stem chooses.
pub(crate) fn best(candidates: &[Candidate<'_>], stem: &[u8; 32]) -> Option<usize> {
    let mut best: Option<(usize, &Candidate<'_>)> = None;
    for (index, candidate) in candidates.iter().enumerate() {
        if best.is_none_or(|(_, known)| is_better(candidate, known, stem)) {
            best = Some((index, candidate));
        }
    }
    best.map(|(index, _)| index)
}

fn is_better(candidate: &Candidate<'_>, known: &Candidate<'_>, stem: &[u8; 32]) -> bool {
    if candidate.held != known.held {
        return candidate.held > known.held;
    }
    // Quotients are compared by their products: 2 / 3 < 1 / 1 is 2 * 1 < 1 * 3.
    let left = load(candidate, known);
    let right = load(known, candidate);
    if left != right {
        return left < right;
    }
    rank(candidate, stem) > rank(known, stem)
}

fn load(candidate: &Candidate<'_>, other: &Candidate<'_>) -> u128 {
    candidate.in_flight as u128 * u128::from(other.weight)
}

/// Returns the rank of a server for a stem. Each server is the first one for a share of stems that is its share of the weights,
/// and without it only its own stems move (weighted rendezvous hashing).
fn rank(candidate: &Candidate<'_>, stem: &[u8; 32]) -> f64 {
    let mut hash = Sha256::new();
    hash.update(stem);
    hash.update(candidate.address.as_bytes());
    let digest: [u8; 32] = hash.finalize().into();
    let drawn = digest.iter().take(8).fold(0_u64, |drawn, byte| drawn << 8 | u64::from(*byte));
    #[allow(clippy::cast_precision_loss)] // 53 bits fit exactly
    let uniform = ((drawn >> 11) as f64 + 0.5) / (1_u64 << 53) as f64;
    -f64::from(candidate.weight) / uniform.ln()
}

/// Returns the length of the stem of a prompt: its beginning up to where the first reply of the conversation begins, so it is the
/// same in all turns. Replies begin with the ids with which the prompt ends. A beginning of a reply among the first `shared` ids,
/// which other conversations have too, is one of an example.
///
/// Where the template begins earlier replies in another way, the whole prompt is the stem.
pub(crate) fn stem(prompt: &[TokenId], shared: usize) -> usize {
    let Some(header) = prompt.len().checked_sub(HEADER).and_then(|begin| prompt.get(begin..)) else {
        return prompt.len();
    };
    let first = shared.saturating_sub(HEADER - 1);
    let place = prompt.windows(HEADER).skip(first).position(|window| window == header);
    place.map_or(prompt.len(), |place| first + place + HEADER)
}

/// Returns the digest of the stem of a prompt.
pub(crate) fn digest(stem: &[TokenId]) -> [u8; 32] {
    let mut hash = Sha256::new();
    for id in stem {
        hash.update(id.to_le_bytes());
    }
    hash.finalize().into()
}

/// Returns how many leading ids two sequences have in common.
pub(crate) fn common_prefix(left: &[TokenId], right: &[TokenId]) -> usize {
    // Blocks are compared at once, since prompts are long and most of them differ late.
    const BLOCK: usize = 64;
    let blocks = left.chunks_exact(BLOCK).zip(right.chunks_exact(BLOCK));
    let equal = blocks.take_while(|(left, right)| left == right).count() * BLOCK;
    let pairs = left.iter().zip(right).skip(equal);
    equal + pairs.take_while(|(left, right)| left == right).count()
}

/// Returns how many ids two sequences have in common at their ends.
pub(crate) fn common_suffix(left: &[TokenId], right: &[TokenId]) -> usize {
    left.iter().rev().zip(right.iter().rev()).take_while(|(left, right)| left == right).count()
}
