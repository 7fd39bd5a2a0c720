//! What the mel spectrograms of Gemma 3n and Gemma 4 have in common, as their feature extractors in transformers name it.

use alloquy_core::Result;

use super::description::Description;
use super::mel::MelScale;
use super::spectrum::{Analysis, Bands, Bins, Spectrum};

/// What one of the two has where a model's description does not say otherwise.
pub(super) struct Defaults {
    pub(super) frame_milliseconds: f64,
    /// From where to where the bands reach, in hertz.
    pub(super) range: (f64, f64),
    pub(super) preemphasis: f64,
    pub(super) doubled_transform: bool,
    pub(super) floor: f64,
    pub(super) window: fn(usize) -> Vec<f64>,
}

/// The settings of a model, and its tables.
#[derive(Clone, Debug)]
pub(super) struct GemmaMel {
    pub(super) rate: u32,
    pub(super) hop: usize,
    pub(super) floor: f64,
    pub(super) spectrum: Spectrum,
    preemphasis: Preemphasis,
    scale: f64,
    mean: Option<Vec<f64>>,
    deviation: Option<Vec<f64>>,
}

/// How much of a sample is taken off the next one.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Preemphasis {
    /// Within the frame; the first sample is scaled. As the Hidden Markov Toolkit does.
    Framed(f64),
    /// Across the frame's beginning.
    Running(f64),
}

impl GemmaMel {
    pub(super) fn new(description: &Description, defaults: &Defaults) -> Result<Self> {
        description.only("dither", 0.0)?;
        let rate = description.rate()?;
        let samples =
            |milliseconds: f64| (f64::from(rate) * milliseconds / 1000.0).round_ties_even() as usize;
        let frame =
            samples(description.number("frame_length_ms", defaults.frame_milliseconds, 1.0..=1000.0)?).max(2);
        let hop = samples(description.number("hop_length_ms", 10.0, 1.0..=1000.0)?).max(1);
        let doubled = usize::from(description.flag("fft_overdrive", defaults.doubled_transform)?);
        let (low, high) = defaults.range;
        let nyquist = f64::from(rate) / 2.0;
        let low = description.number("min_frequency", low, 0.0..=nyquist)?;
        let high = description.number("max_frequency", high, low..=nyquist)?;
        let count = description.count("feature_size", 128, 4096)?;
        let bands = Bands { scale: MelScale::Htk, range: (low, high), count };
        let window = (defaults.window)(frame);
        let amount = description.number("preemphasis", defaults.preemphasis, 0.0..=1.0)?;
        let framed = description.flag("preemphasis_htk_flavor", true)?;
        Ok(Self {
            rate,
            hop,
            floor: description.number("mel_floor", defaults.floor, 1e-30..=1.0)?,
            spectrum: Spectrum::new(
                window,
                frame.next_power_of_two() << doubled,
                rate,
                Bins::Magnitude,
                bands,
            ),
            preemphasis: if framed { Preemphasis::Framed(amount) } else { Preemphasis::Running(amount) },
            scale: description.number("input_scale_factor", 1.0, 1e-9..=1e9)?,
            mean: description.numbers("per_bin_mean", count)?,
            deviation: description.numbers("per_bin_stddev", count)?,
        })
    }

    /// How many frames there are of so many samples: one sample more than a frame is needed for each.
    pub(super) fn frames(&self, samples: usize) -> usize {
        samples.checked_sub(self.spectrum.frame() + 1).map_or(0, |rest| rest / self.hop + 1)
    }

    /// Appends the features of a frame and of the sample behind it.
    pub(super) fn append(
        &self,
        analysis: &mut Analysis<'_>,
        samples: &[f64],
        logarithm: impl Fn(f64) -> f64,
        features: &mut Vec<f32>,
    ) {
        let frame = self.emphasised(samples);
        for (band, energy) in analysis.energies(&frame).enumerate() {
            let of = |values: &Option<Vec<f64>>| values.as_ref().and_then(|values| values.get(band)).copied();
            let centred = logarithm(energy) - of(&self.mean).unwrap_or_default();
            features.push((centred / of(&self.deviation).unwrap_or(1.0)) as f32);
        }
    }

    fn emphasised(&self, samples: &[f64]) -> Vec<f64> {
        let samples: Vec<f64> = samples.iter().map(|sample| sample * self.scale).collect();
        let framed = samples.get(..self.spectrum.frame()).unwrap_or_default();
        let difference = |amount: f64| {
            samples.windows(2).map(move |pair| match pair {
                [before, sample] => sample - amount * before,
                _ => 0.0,
            })
        };
        match self.preemphasis {
            Preemphasis::Framed(0.0) | Preemphasis::Running(0.0) => framed.to_vec(),
            Preemphasis::Running(amount) => difference(amount).collect(),
            Preemphasis::Framed(amount) => {
                let first = framed.first().map(|sample| sample * (1.0 - amount));
                first.into_iter().chain(difference(amount)).take(framed.len()).collect()
            }
        }
    }
}
