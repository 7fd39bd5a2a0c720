//! Which pixels of a line go into each pixel of a longer or shorter one, and by how much.

use std::ops::Range;

use super::kernel::Kernel;

/// A line of pixels that becomes another.
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

    /// The pixels that go into pixel `index`, and their weights, which sum to one.
    pub(super) fn weights(self, index: usize, weights: &mut Vec<f64>) -> Range<usize> {
        let stretch = self.scale().max(1.0);
        let (support, shrink) = (self.kernel.support() * stretch, 1.0 / stretch);
        let centre = (index as f64 + 0.5) * self.scale();
        let first = (centre - support + 0.5).max(0.0) as usize;
        let end = ((centre + support + 0.5) as usize).min(self.from);
        let weigh = |x: usize| self.kernel.weight((x as f64 - centre + 0.5) * shrink);
        weights.clear();
        weights.extend((first..end).map(weigh));
        let sum: f64 = weights.iter().sum();
        if sum != 0.0 {
            weights.iter_mut().for_each(|weight| *weight *= 1.0 / sum);
        }
        first..end
    }

    /// The largest weight of all, or one that is as good as one: no weight reaches two, and between is no difference in how many
    /// bits are left for it. A line that becomes longer has one at its very beginning.
    pub(super) fn largest(self) -> f64 {
        let (mut weights, mut largest) = (Vec::new(), 0.0);
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

/// In 15 bits this is one.
const AS_GOOD_AS_ONE: f64 = 0.99999;
