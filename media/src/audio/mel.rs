//! Mel filters: triangles over the bins of a spectrum, evenly spread on a scale of pitch.

/// How pitch follows frequency.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MelScale {
    /// The Hidden Markov Toolkit's: `2595 log10(1 + f / 700)`; the triangles have height 1.
    Htk,
    /// That of Slaney's auditory toolbox: linear to 1 kHz and logarithmic above; the triangles have the same area.
    Slaney,
}

impl MelScale {
    fn mel(self, hertz: f64) -> f64 {
        match self {
            Self::Htk => 2595.0 * (1.0 + hertz / 700.0).log10(),
            Self::Slaney if hertz < 1000.0 => 3.0 * hertz / 200.0,
            Self::Slaney => 15.0 + 27.0 * (hertz / 1000.0).ln() / 6.4_f64.ln(),
        }
    }

    fn hertz(self, mel: f64) -> f64 {
        match self {
            Self::Htk => 700.0 * (10.0_f64.powf(mel / 2595.0) - 1.0),
            Self::Slaney if mel < 15.0 => 200.0 * mel / 3.0,
            Self::Slaney => 1000.0 * ((mel - 15.0) * 6.4_f64.ln() / 27.0).exp(),
        }
    }

    /// `count` frequencies from `low` to `high`, evenly spread on the scale.
    fn corners(self, low: f64, high: f64, count: usize) -> Vec<f64> {
        let low = self.mel(low);
        let high = self.mel(high);
        let step = (high - low) / count.saturating_sub(1).max(1) as f64;
        (0..count).map(|index| self.hertz(low + step * index as f64)).collect()
    }
}

/// A bank of filters.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct MelFilters {
    filters: Vec<Filter>,
}

/// The weights that are not zero, and the bin of the first.
#[derive(Clone, Debug, PartialEq)]
struct Filter {
    first: usize,
    weights: Vec<f64>,
}

impl MelFilters {
    /// `count` filters from `low` to `high` hertz for spectra of `bins` bins that end at half of `rate`.
    pub(super) fn new(
        scale: MelScale,
        (low, high): (f64, f64),
        count: usize,
        (bins, rate): (usize, u32),
    ) -> Self {
        let width = f64::from(rate) / 2.0 / bins.saturating_sub(1).max(1) as f64;
        let corners = scale.corners(low, high, count + 2);
        let mut filters = Vec::with_capacity(count);
        for corners in corners.windows(3) {
            if let &[left, peak, right] = corners {
                filters.push(Filter::new(scale, [left, peak, right], (bins, width)));
            }
        }
        Self { filters }
    }

    /// Returns how many filters there are.
    pub(super) fn len(&self) -> usize {
        self.filters.len()
    }

    /// Weighs a spectrum by each filter.
    pub(super) fn weigh<'a>(&'a self, spectrum: &'a [f64]) -> impl Iterator<Item = f64> + 'a {
        self.filters.iter().map(|filter| filter.weigh(spectrum))
    }

    /// The weights as a matrix of `bins` rows.
    pub(super) fn matrix(&self, bins: usize) -> Vec<f32> {
        let mut matrix = Vec::with_capacity(bins * self.filters.len());
        for bin in 0..bins {
            matrix.extend(self.filters.iter().map(|filter| filter.weight(bin) as f32));
        }
        matrix
    }
}

impl Filter {
    fn new(scale: MelScale, [left, peak, right]: [f64; 3], (bins, width): (usize, f64)) -> Self {
        let height = match scale {
            MelScale::Htk => 1.0,
            MelScale::Slaney => 2.0 / (right - left),
        };
        let mut first = 0;
        let mut weights = Vec::new();
        for bin in 0..bins {
            let hertz = bin as f64 * width;
            let rising = (hertz - left) / (peak - left);
            let falling = (right - hertz) / (right - peak);
            let weight = rising.min(falling).max(0.0) * height;
            if weight > 0.0 {
                if weights.is_empty() {
                    first = bin;
                }
                weights.push(weight);
            } else if !weights.is_empty() {
                break;
            }
        }
        Self { first, weights }
    }

    fn weight(&self, bin: usize) -> f64 {
        bin.checked_sub(self.first).and_then(|at| self.weights.get(at)).copied().unwrap_or_default()
    }

    fn weigh(&self, spectrum: &[f64]) -> f64 {
        product(&self.weights, spectrum.get(self.first..).unwrap_or_default())
    }
}

/// The scalar product. Four sums do not depend on each other, so that a processor adds them in parallel.
fn product(left: &[f64], right: &[f64]) -> f64 {
    let right = right.get(..left.len()).unwrap_or(right);
    let (left, left_rest) = left.as_chunks::<4>();
    let (right, right_rest) = right.as_chunks::<4>();
    let mut sums = [0.0; 4];
    for (left, right) in left.iter().zip(right) {
        for (sum, (left, right)) in sums.iter_mut().zip(left.iter().zip(right)) {
            *sum += left * right;
        }
    }
    let rest = left_rest.iter().zip(right_rest).map(|(left, right)| left * right);
    sums.iter().sum::<f64>() + rest.sum::<f64>()
}
