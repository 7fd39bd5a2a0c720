//! The mel spectrogram that Gemma 3n and Gemma 4 share. Settings have the names of their feature extractors in transformers.

use alloquy_core::Result;

use super::extractor::cut;
use super::logarithm::logarithms;
use super::mel::MelScale;
use super::settings::AudioSettings;
use super::spectrum::{Bands, Bins, Spectrum};

/// The settings of one of the two where a model's description names none.
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

/// How much of a sample is subtracted from the next one.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Preemphasis {
    /// Within the frame; the first sample is scaled. As the Hidden Markov Toolkit does.
    Framed(f64),
    /// Across the frame's beginning.
    Running(f64),
}

impl GemmaMel {
    pub(super) fn new(settings: &AudioSettings<'_>, defaults: &Defaults) -> Result<Self> {
        settings.only("dither", 0.0)?;
        let rate = settings.rate()?;
        let frame = settings.number("frame_length_ms", defaults.frame_milliseconds, 1.0..=1000.0)?;
        let frame = samples(rate, frame).max(2);
        let hop = settings.number("hop_length_ms", 10.0, 1.0..=1000.0)?;
        let hop = samples(rate, hop).max(1);
        let doubled = usize::from(settings.flag("fft_overdrive", defaults.doubled_transform)?);
        let (low, high) = defaults.range;
        let nyquist = f64::from(rate) / 2.0;
        let low = settings.number("min_frequency", low, 0.0..=nyquist)?;
        let high = settings.number("max_frequency", high, low..=nyquist)?;
        let count = settings.count("feature_size", 128, 4096)?;
        let bands = Bands { scale: MelScale::Htk, range: (low, high), count };
        let window = (defaults.window)(frame);
        let amount = settings.number("preemphasis", defaults.preemphasis, 0.0..=1.0)?;
        let framed = settings.flag("preemphasis_htk_flavor", true)?;
        Ok(Self {
            rate,
            hop,
            floor: settings.number("mel_floor", defaults.floor, 1e-30..=1.0)?,
            spectrum: Spectrum::new(
                window,
                frame.next_power_of_two() << doubled,
                rate,
                Bins::Magnitude,
                bands,
            ),
            preemphasis: if framed { Preemphasis::Framed(amount) } else { Preemphasis::Running(amount) },
            scale: settings.number("input_scale_factor", 1.0, 1e-9..=1e9)?,
            mean: settings.numbers("per_bin_mean", count)?,
            deviation: settings.numbers("per_bin_stddev", count)?,
        })
    }

    /// Returns how many frames so many samples have. Each needs one sample more than its length, for the preemphasis.
    pub(super) fn frames(&self, samples: usize) -> usize {
        samples.checked_sub(self.spectrum.frame() + 1).map_or(0, |rest| rest / self.hop + 1)
    }

    /// Appends the features of a chunk's frames. The chunk has `before` zeros before it; `floored` keeps the energies above
    /// zero.
    pub(super) fn append(
        &self,
        (chunk, before): (&[f32], usize),
        frames: usize,
        floored: impl Fn(f64) -> f64,
        features: &mut Vec<f32>,
    ) {
        let mut analysis = self.spectrum.analysis();
        let mut frame = vec![0.0; self.spectrum.frame() + 1];
        let mut differences = Vec::new();
        let mut bands = Vec::with_capacity(self.spectrum.bands());
        for start in (0..frames).map(|index| index * self.hop) {
            cut(chunk, before, start, &mut frame);
            for sample in &mut frame {
                *sample *= self.scale;
            }
            let emphasised = self.preemphasis.emphasised(&mut frame, &mut differences);
            bands.clear();
            bands.extend(analysis.energies(emphasised).map(&floored));
            logarithms(&mut bands);
            self.normalise(&mut bands);
            features.extend(bands.iter().map(|&band| band as f32));
        }
    }

    fn normalise(&self, bands: &mut [f64]) {
        if let Some(mean) = &self.mean {
            for (band, mean) in bands.iter_mut().zip(mean) {
                *band -= mean;
            }
        }
        if let Some(deviation) = &self.deviation {
            for (band, deviation) in bands.iter_mut().zip(deviation) {
                *band /= deviation;
            }
        }
    }
}

/// Returns how many samples a time has.
fn samples(rate: u32, milliseconds: f64) -> usize {
    (f64::from(rate) * milliseconds / 1000.0).round_ties_even() as usize
}

impl Preemphasis {
    /// Returns the parts of an emphasised frame. `frame` has one sample more than they have together.
    fn emphasised<'a>(self, frame: &'a mut [f64], differences: &'a mut Vec<f64>) -> [&'a [f64]; 2] {
        let (Self::Framed(amount) | Self::Running(amount)) = self;
        differences.clear();
        differences
            .extend(frame.iter().skip(1).zip(&*frame).map(|(sample, before)| sample - amount * before));
        match self {
            Self::Framed(0.0) | Self::Running(0.0) => [without_last(frame), &[]],
            Self::Running(_) => [differences, &[]],
            Self::Framed(_) => {
                let first = frame.get_mut(..1).unwrap_or_default();
                for sample in first.iter_mut() {
                    *sample *= 1.0 - amount;
                }
                [first, without_last(differences)]
            }
        }
    }
}

fn without_last(samples: &[f64]) -> &[f64] {
    samples.split_last().map_or(samples, |(_, before)| before)
}
