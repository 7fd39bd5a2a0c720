//! Makes one vector of the vectors of a text's tokens.

use std::fmt;
use std::ops::Range;

/// How the vectors of a text's tokens become one vector.
///
/// [`EmbedderOptions`](crate::EmbedderOptions) has an example.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Pooling {
    /// The vector of the first token.
    Cls,
    /// The largest number of each dimension.
    Max,
    /// The mean.
    Mean,
    /// The sum, divided by the square root of the number of tokens.
    MeanSqrtLen,
    /// The mean in which a token counts more the later it is: the second twice as much as the first.
    WeightedMean,
    /// The vector of the last token.
    LastToken,
}

impl Pooling {
    /// All, in the order in which vectors of several are joined.
    pub(super) const ALL: [Pooling; 6] =
        [Self::Cls, Self::Max, Self::Mean, Self::MeanSqrtLen, Self::WeightedMean, Self::LastToken];

    /// Returns the name that it has in the files of sentence-transformers.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Cls => "cls",
            Self::Max => "max",
            Self::Mean => "mean",
            Self::MeanSqrtLen => "mean_sqrt_len_tokens",
            Self::WeightedMean => "weightedmean",
            Self::LastToken => "lasttoken",
        }
    }

    /// Appends the vector of a text to `into`. `states` are the vectors of its tokens, of `size` numbers each, and `counted` are the
    /// tokens that count.
    pub(super) fn pool(self, states: &[f32], size: usize, counted: Range<usize>, into: &mut Vec<f32>) {
        let first = counted.start;
        let last = counted.end.saturating_sub(1).max(first);
        let count = counted.len().max(1) as f32;
        match self {
            // The first token is one even where a prefix does not count.
            Self::Cls => into.extend(vector(states, size, 0)),
            Self::LastToken => into.extend(vector(states, size, last)),
            Self::Max => {
                let mut largest = vec![f32::NEG_INFINITY; size];
                for token in counted {
                    for (number, &other) in largest.iter_mut().zip(vector(states, size, token)) {
                        *number = number.max(other);
                    }
                }
                into.extend(largest);
            }
            Self::Mean => into.extend(sum(states, size, counted, |_| 1.0).map(|number| number / count)),
            Self::MeanSqrtLen => {
                into.extend(sum(states, size, counted, |_| 1.0).map(|number| number / count.sqrt()));
            }
            Self::WeightedMean => {
                let all: f32 = counted.clone().map(weight).sum();
                into.extend(sum(states, size, counted, weight).map(|number| number / all));
            }
        }
    }
}

impl fmt::Display for Pooling {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

fn weight(token: usize) -> f32 {
    (token + 1) as f32
}

fn vector(states: &[f32], size: usize, token: usize) -> &[f32] {
    states.get(token * size..(token + 1) * size).unwrap_or_default()
}

fn sum(
    states: &[f32],
    size: usize,
    counted: Range<usize>,
    weight: impl Fn(usize) -> f32,
) -> impl Iterator<Item = f32> {
    let mut sum = vec![0.0_f32; size];
    for token in counted {
        let weight = weight(token);
        for (number, &other) in sum.iter_mut().zip(vector(states, size, token)) {
            *number += weight * other;
        }
    }
    sum.into_iter()
}

/// Keeps the first `dimensions` numbers of a vector, and gives it a length of 1. A vector without a direction gets one.
pub(super) fn normalized(mut vector: Vec<f32>, dimensions: usize) -> Vec<f32> {
    vector.truncate(dimensions);
    vector.resize(dimensions, 0.0);
    let square: f64 = vector.iter().map(|&number| f64::from(number) * f64::from(number)).sum();
    let length = square.sqrt();
    // The length that sentence-transformers divides by at least.
    if length < 1e-12 {
        vector.fill(0.0);
        if let Some(first) = vector.first_mut() {
            *first = 1.0;
        }
        return vector;
    }
    for number in &mut vector {
        *number = (f64::from(*number) / length) as f32;
    }
    vector
}
