//! Computes which pixels of a line contribute to each pixel of the resized line, and with which weights.

use std::ops::Range;

use super::kernel::Kernel;

/// A line of pixels that is resized.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) kernel: Kernel,
}

impl Line {
    fn scale(self) -> f64 {
        self.from as f64 / self.to as f64
    }

    /// Returns the pixels that contribute to pixel `index`, and writes their weights, whose sum is one.
    pub(super) fn weights(self, index: usize, weights: &mut Vec<f64>) -> Range<usize> {
        let stretch = self.scale().max(1.0);
        let support = self.kernel.support() * stretch;
        let shrink = 1.0 / stretch;
        let centre = (index as f64 + 0.5) * self.scale();
        let first = (centre - support + 0.5).max(0.0) as usize;
        let end = ((centre + support + 0.5) as usize).min(self.from);
        weights.clear();
        for x in first..end {
            weights.push(self.kernel.weight((x as f64 - centre + 0.5) * shrink));
        }
        let sum: f64 = weights.iter().sum();
        if sum != 0.0 {
            for weight in weights {
                *weight *= 1.0 / sum;
            }
        }
        first..end
    }

    /// Returns the largest weight, or any weight of about one. Weights from one to two need the same number of bits, and no weight
    /// reaches two. A line that becomes longer has a weight of about one at its very beginning.
    pub(super) fn largest(self) -> f64 {
        let mut weights = Vec::new();
        let mut largest = 0.0;
        for index in 0..self.to {
            self.weights(index, &mut weights);
            largest = weights.iter().copied().fold(largest, f64::max);
            if largest >= AS_GOOD_AS_ONE {
                break;
            }
        }
        largest
    }
}

/// Rounded to 15 bits this is one.
const AS_GOOD_AS_ONE: f64 = 0.99999;
