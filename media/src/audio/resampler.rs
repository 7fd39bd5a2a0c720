//! Resamples audio from one rate to another with a windowed sinc of linear phase, evaluated at the times of the new samples.

use std::f64::consts::PI;

/// How far everything from the lower of both Nyquist frequencies on is damped, in decibels.
const DAMPING: f64 = 125.0;
/// The window's shape, by Kaiser's formula for more than 50 decibels.
const BETA: f64 = 0.1102 * (DAMPING - 8.7);
/// Where the damping begins, as a part of the lower Nyquist frequency: libsoxr's "high quality" has the same pass band.
const PASS_BAND: f64 = 0.913;
/// The most shifts of the filter that are tabulated, where the rate is not lowered. Between two of them values are
/// interpolated. The error of that is below the damping.
const MOST_PHASES: usize = 2048;

/// Resamples audio clips from one rate to another.
#[derive(Clone, Debug)]
pub(super) struct Resampler {
    /// The rates without their common factors.
    rates: (usize, usize),
    /// How many samples before the filter's middle the first tap lies.
    half: usize,
    /// The filter shifted by each phase, and by a whole sample at the end.
    phases: Vec<Vec<f32>>,
}

impl Resampler {
    /// From `from` to `to` samples a second; both are more than 0.
    pub(super) fn new(from: u32, to: u32) -> Self {
        let common = common_factor(from, to).max(1);
        let old = (from / common) as usize;
        let new = (to / common) as usize;
        // The lower of both Nyquist frequencies, where the old one is 1.
        let lower = (new as f64 / old as f64).min(1.0);
        let width = (1.0 - PASS_BAND) * PI * lower;
        let half = ((DAMPING - 7.95) / (2.285 * width) / 2.0).ceil();
        let filter = Filter { cutoff: lower * (1.0 + PASS_BAND) / 2.0, half, peak: bessel(BETA) };
        // A filter for a lower rate is longer and as much smoother: fewer shifts keep the table as small.
        let most = (MOST_PHASES as f64 * lower).ceil() as usize;
        let count = new.min(most.max(1));
        let phases = (0..=count).map(|phase| filter.taps(phase as f64 / count as f64)).collect();
        Self { rates: (old, new), half: half as usize, phases }
    }

    /// Returns how many samples the resampled audio has.
    pub(super) fn length(&self, samples: usize) -> usize {
        let (old, new) = self.rates;
        (samples as u128 * new as u128).div_ceil(old as u128) as usize
    }

    /// Resamples an audio clip, which has silence before and after it.
    pub(super) fn resample(&self, samples: &[f32]) -> Vec<f32> {
        (0..self.length(samples.len())).map(|at| self.sample(samples, at)).collect()
    }

    /// Returns one sample at the new rate.
    fn sample(&self, samples: &[f32], at: usize) -> f32 {
        let (old, new) = self.rates;
        let new_rate = new as u128;
        // The new sample lies `rest / new` of a sample after the old one. From 44.1 to 16 kHz the rates are 441 and 160, and
        // sample 3 lies at 3 * 441 / 160 = 8 + 43 / 160.
        let whole = at as u128 * old as u128 / new_rate;
        let rest = at as u128 * old as u128 % new_rate;
        // Of 100 tabulated shifts that is shift 26, and 140 / 160 of the way to the next one.
        let steps = self.phases.len().saturating_sub(1) as u128;
        let phase = (rest * steps / new_rate) as usize;
        let between = rest * steps % new_rate;
        let near = self.value(samples, whole as usize, phase);
        if between == 0 {
            return near;
        }
        let next = self.value(samples, whole as usize, phase + 1);
        near + (next - near) * (between as f64 / new as f64) as f32
    }

    /// The filter's sum around the sample `whole`, shifted by a phase.
    fn value(&self, samples: &[f32], whole: usize, phase: usize) -> f32 {
        let taps = self.phases.get(phase).map(Vec::as_slice).unwrap_or_default();
        let skipped = self.half.saturating_sub(whole);
        let first = (whole + skipped).saturating_sub(self.half);
        let taps = taps.get(skipped..);
        let samples = samples.get(first..);
        product(taps.unwrap_or_default(), samples.unwrap_or_default())
    }
}

/// A sinc under a Kaiser window.
#[derive(Clone, Copy, Debug)]
struct Filter {
    /// Where the damping is half done; 1 is the old Nyquist frequency.
    cutoff: f64,
    /// How many samples there are on each side of the middle.
    half: f64,
    /// The window's highest value before it is scaled.
    peak: f64,
}

impl Filter {
    /// The weights of the samples around a time that is `shift` of a sample after the middle one.
    fn taps(&self, shift: f64) -> Vec<f32> {
        let half = self.half as usize;
        (0..2 * half + 2).map(|tap| self.weight(tap as f64 - self.half - shift) as f32).collect()
    }

    fn weight(&self, distance: f64) -> f64 {
        let angle = PI * self.cutoff * distance;
        let sinc = if angle == 0.0 { 1.0 } else { angle.sin() / angle };
        let beyond = (distance / self.half).powi(2);
        let window = if beyond >= 1.0 { 0.0 } else { bessel(BETA * (1.0 - beyond).sqrt()) / self.peak };
        self.cutoff * sinc * window
    }
}

/// The modified Bessel function of the first kind and order 0, by its series.
fn bessel(x: f64) -> f64 {
    let mut term = 1.0;
    let mut sum = 0.0;
    for index in 1..64 {
        term *= (x / 2.0 / f64::from(index)).powi(2);
        if term <= 1e-18 {
            break;
        }
        sum += term;
    }
    1.0 + sum
}

/// The scalar product, in eight sums that a processor adds in parallel.
fn product(left: &[f32], right: &[f32]) -> f32 {
    let length = left.len().min(right.len());
    let left = left.get(..length).unwrap_or_default();
    let right = right.get(..length).unwrap_or_default();
    let (left, left_rest) = left.as_chunks::<8>();
    let (right, right_rest) = right.as_chunks::<8>();
    let mut sums = [0.0; 8];
    for (left, right) in left.iter().zip(right) {
        for (sum, (left, right)) in sums.iter_mut().zip(left.iter().zip(right)) {
            *sum += left * right;
        }
    }
    let rest = left_rest.iter().zip(right_rest).map(|(left, right)| left * right);
    sums.iter().sum::<f32>() + rest.sum::<f32>()
}

fn common_factor(left: u32, right: u32) -> u32 {
    if right == 0 { left } else { common_factor(right, left % right) }
}
