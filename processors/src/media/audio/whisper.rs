//! Whisper's log-mel spectrogram, as Qwen2-Audio and Qwen2.5-Omni use it (`WhisperFeatureExtractor` of transformers): the
//! sound is padded to a fixed length, and the loudest band of the whole sets what counts as silence.

use alloquy_core::{Error, ErrorKind, MediaTensor, Result, TensorData};

use super::description::Description;
use super::extractor::{Extractor, SoundShape, longest, mask, tables};
use super::mel::MelScale;
use super::spectrum::{Bands, Bins, Spectrum};
use super::window::hann;
use crate::media::tensors::{floats, tensor};

/// The settings of a model, and its tables.
#[derive(Clone, Debug)]
pub(super) struct Whisper {
    rate: u32,
    hop: usize,
    /// How many frames the encoder takes.
    frames: usize,
    spectrum: Spectrum,
}

/// How many features a model may want of a stretch; Qwen2.5-Omni's are 3.8 million.
const MOST_FEATURES: usize = 1 << 26;
/// The energy below which a band counts as silent.
const FLOOR: f64 = 1e-10;

impl Whisper {
    /// Reads the settings; `seconds` is how long the model's sounds are where the description does not say it.
    pub(super) fn new(description: &Description, seconds: usize) -> Result<Self> {
        description.only("dither", 0.0)?;
        let rate = description.rate()?;
        let length = description.count("n_fft", 400, 1 << 16)?;
        let hop = description.count("hop_length", 160, 1 << 16)?;
        let bands = description.count("feature_size", 128, 4096)?;
        let seconds = description.count("chunk_length", seconds, 3600)?;
        let frames = seconds * rate as usize / hop;
        if frames == 0 || frames.saturating_mul(bands) > MOST_FEATURES {
            let message = format!(
                "the model's sounds are {frames} frames of {bands} bands, and {MOST_FEATURES} are taken"
            );
            return Err(Error::new(ErrorKind::Model, message));
        }
        let bands = Bands { scale: MelScale::Slaney, range: (0.0, 8000.0), count: bands };
        let spectrum = Spectrum::new(hann(length), length, rate, Bins::Power, bands);
        Ok(Self { rate, hop, frames, spectrum })
    }

    /// The features of one stretch, band by band.
    fn features(&self, samples: &[f32], features: &mut [f32]) {
        let silence = FLOOR.log10();
        let mut analysis = self.spectrum.analysis();
        // Frames that lie in the silence behind the sound need no transform.
        let sounding = (samples.len() + self.spectrum.frame() / 2).div_ceil(self.hop).min(self.frames);
        let padded = self.padded(samples, sounding);
        let mut logarithms = Vec::with_capacity(sounding * self.spectrum.bands());
        for frame in padded.windows(self.spectrum.frame()).step_by(self.hop) {
            logarithms.extend(analysis.energies(frame).map(|energy| energy.max(FLOOR).log10()));
        }
        let loudest = logarithms.iter().copied().fold(silence, f64::max);
        let scaled = |logarithm: f64| ((logarithm.max(loudest - 8.0) + 4.0) / 4.0) as f32;
        features.fill(scaled(silence));
        for (frame, row) in logarithms.chunks_exact(self.spectrum.bands()).enumerate() {
            let places = features.iter_mut().skip(frame).step_by(self.frames);
            places.zip(row).for_each(|(place, &logarithm)| *place = scaled(logarithm));
        }
    }

    /// The samples that a number of frames lie on. A frame's middle lies on a multiple of the hop: what is before the sound
    /// is its mirror image, and so is what is behind the padding.
    fn padded(&self, samples: &[f32], frames: usize) -> Vec<f64> {
        let (end, half) = (self.frames * self.hop, self.spectrum.frame() / 2);
        let sample = |at: usize| {
            let place = at.abs_diff(half);
            let place = if place < end { place } else { (2 * end).saturating_sub(2 + place) };
            samples.get(place).map_or(0.0, |&sample| f64::from(sample))
        };
        let length = frames.checked_sub(1).map_or(0, |last| last * self.hop + self.spectrum.frame());
        (0..length).map(sample).collect()
    }
}

impl Extractor for Whisper {
    fn rate(&self) -> u32 {
        self.rate
    }

    fn longest(&self) -> usize {
        self.frames * self.hop
    }

    fn shape(&self, samples: usize) -> SoundShape {
        let valid = samples.div_ceil(self.hop).min(self.frames);
        // Two layers of the encoder halve the length, and short sounds come out as nothing.
        let halved = |length: usize| length.checked_sub(1).map_or(0, |length| length / 2 + 1);
        let tokens = halved(valid).checked_sub(2).map_or(0, |length| length / 2 + 1);
        SoundShape { frames: self.frames, valid, tokens }
    }

    fn tensors(&self, stretches: &[&[f32]]) -> Vec<MediaTensor> {
        debug_assert!(longest(stretches) <= self.longest());
        let bands = self.spectrum.bands();
        let mut features = vec![0.0; stretches.len() * bands * self.frames];
        let places = features.chunks_exact_mut((bands * self.frames).max(1));
        places.zip(stretches).for_each(|(place, stretch)| self.features(stretch, place));
        let valid = stretches.iter().flat_map(|stretch| mask(self.shape(stretch.len()).valid, self.frames));
        let valid = TensorData::I32(valid.map(i32::from).collect());
        vec![
            floats("input_features", &[stretches.len(), bands, self.frames], features),
            tensor("feature_attention_mask", &[stretches.len(), self.frames], valid),
        ]
    }

    fn tables(&self) -> Vec<MediaTensor> {
        tables(&self.spectrum)
    }
}
