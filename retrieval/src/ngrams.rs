//! Vectors without a model: groups of characters, counted.

use alloquy_core::Result;
use alloquy_core::media::Digest;
use alloquy_core::search::tokens;
use async_trait::async_trait;

use crate::{Embedder, Embeddings, TextKind};

/// Computes vectors from groups of three to five characters of words, without a model.
///
/// It finds other forms and misspellings of words, and no other words with the same meaning: a model is better. It is fast and the
/// same everywhere, for tests and for programs without a model.
///
/// ```
/// use alloquy_retrieval::{Embedder, NgramEmbedder, TextKind};
///
/// # pollster::block_on(async {
/// let embeddings = NgramEmbedder::default().embed(&["storage", "stored", "tea"], TextKind::Passage).await?;
/// let [storage, stored, tea] = &embeddings.vectors[..] else { unreachable!() };
/// let similarity = |left: &[f32], right: &[f32]| left.iter().zip(right).map(|(left, right)| left * right).sum::<f32>();
/// assert!(similarity(storage, stored) > similarity(storage, tea));
/// # Ok::<(), alloquy_core::Error>(())
/// # }).unwrap();
/// ```
#[derive(Clone, Copy, Debug)]
pub struct NgramEmbedder {
    dimensions: usize,
}

impl NgramEmbedder {
    /// Creates an embedder; the more dimensions, the fewer groups of characters share one. Zero counts as one.
    pub fn new(dimensions: usize) -> Self {
        Self { dimensions: dimensions.max(1) }
    }

    fn vector(&self, text: &str) -> Vec<f32> {
        let mut vector = vec![0.0_f32; self.dimensions];
        for token in tokens(text) {
            let word: Vec<char> = format!("<{}>", token.text).chars().collect();
            for size in 3..=5 {
                for group in word.windows(size) {
                    let hash = hash(group);
                    // Half of the groups subtract, so that different ones that share a number cancel out on average.
                    let sign = if hash >> 63 == 0 { 1.0 } else { -1.0 };
                    let place = usize::try_from(hash % self.dimensions as u64).unwrap_or_default();
                    if let Some(number) = vector.get_mut(place) {
                        *number += sign;
                    }
                }
            }
        }
        // Roots of counts: the tenth occurrence of a word says less than the first.
        for number in &mut vector {
            *number = number.signum() * number.abs().sqrt();
        }
        let length = vector.iter().map(|number| number * number).sum::<f32>().sqrt();
        if length > 0.0 {
            for number in &mut vector {
                *number /= length;
            }
        } else if let Some(first) = vector.first_mut() {
            *first = 1.0;
        }
        vector
    }
}

impl Default for NgramEmbedder {
    /// Creates an embedder of 1,024 dimensions.
    fn default() -> Self {
        Self::new(1_024)
    }
}

#[async_trait]
impl Embedder for NgramEmbedder {
    fn digest(&self) -> Digest {
        Digest::of(format!("groups of characters, 1, {}", self.dimensions).as_bytes())
    }

    fn dimensions(&self) -> usize {
        self.dimensions
    }

    async fn embed(&self, texts: &[&str], _kind: TextKind) -> Result<Embeddings> {
        let vectors = texts.iter().map(|text| self.vector(text)).collect();
        Ok(Embeddings { vectors, cut: Vec::new() })
    }
}

/// Returns a hash that is the same everywhere: FNV-1a of 64 bits, and a mixing step, because its low bits alone are weak.
fn hash(group: &[char]) -> u64 {
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    for &character in group {
        hash = (hash ^ u64::from(character)).wrapping_mul(0x0100_0000_01b3);
    }
    hash = (hash ^ (hash >> 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    hash ^ (hash >> 29)
}
