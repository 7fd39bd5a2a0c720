//! Whisper's log-mel spectrogram, as Qwen2-Audio and Qwen2.5-Omni use it (`WhisperFeatureExtractor` of transformers). The audio is
//! padded to a fixed length, and the loudest band of the whole audio decides what counts as silence.

use std::f64::consts::LOG10_E;

use alloquy_core::{Error, ErrorKind, Result};
use alloquy_engine::media_processor::{MediaTensor, TensorData};

use super::extractor::{Extractor, WaveformShape, cut, longest, mask, tables};
use super::logarithm::logarithms;
use super::mel::MelScale;
use super::settings::AudioSettings;
use super::spectrum::{Bands, Bins, Spectrum};
use super::window::hann;
use crate::tensors::{floats, tensor};

/// The settings of a model, and its tables.
#[derive(Clone, Debug)]
pub(super) struct Whisper {
    rate: u32,
    hop: usize,
    /// How many frames the encoder receives.
    frames: usize,
    spectrum: Spectrum,
}

/// The most features of a chunk; Qwen2.5-Omni has 3.8 million.
const MOST_FEATURES: usize = 1 << 26;
/// The energy below which a band counts as silent.
const FLOOR: f64 = 1e-10;
/// How many frames are computed before they are written band by band: a cache line has 16 features.
const TOGETHER: usize = 16;
/// How far below the loudest band another one may be, in powers of ten.
const DYNAMICS: f64 = 8.0;

impl Whisper {
    /// Reads the settings; `seconds` is the length of the model's audio clips where the description has none.
    pub(super) fn new(settings: &AudioSettings<'_>, seconds: usize) -> Result<Self> {
        settings.only("dither", 0.0)?;
        let rate = settings.rate()?;
        let length = settings.count("n_fft", 400, 1 << 16)?;
        let hop = settings.count("hop_length", 160, 1 << 16)?;
        let bands = settings.count("feature_size", 128, 4096)?;
        let seconds = settings.count("chunk_length", seconds, 3600)?;
        let frames = seconds * rate as usize / hop;
        if frames == 0 || frames.saturating_mul(bands) > MOST_FEATURES {
            let message = format!(
                "the model's audio clips are {frames} frames of {bands} bands, and {MOST_FEATURES} are taken"
            );
            return Err(Error::new(ErrorKind::Model, message));
        }
        let bands = Bands { scale: MelScale::Slaney, range: (0.0, 8000.0), count: bands };
        let spectrum = Spectrum::new(hann(length), length, rate, Bins::Power, bands);
        Ok(Self { rate, hop, frames, spectrum })
    }

    /// Computes the features of one chunk, band by band.
    fn features(&self, samples: &[f32], features: &mut [f32]) {
        features.fill(scaled(FLOOR.log10()));
        let mut analysis = self.spectrum.analysis();
        let mut frame = vec![0.0; self.spectrum.frame()];
        let mut energies = Vec::with_capacity(TOGETHER * self.spectrum.bands());
        let mut loudest = FLOOR;
        let sounding = self.sounding(samples.len());
        for first in (0..sounding).step_by(TOGETHER) {
            energies.clear();
            for index in first..sounding.min(first + TOGETHER) {
                self.cut(samples, index, &mut frame);
                energies.extend(analysis.energies([&frame, &[]]).map(|energy| energy.max(FLOOR)));
            }
            loudest = energies.iter().copied().fold(loudest, f64::max);
            logarithms(&mut energies);
            for (band, row) in features.chunks_exact_mut(self.frames).enumerate() {
                let found = energies.iter().skip(band).step_by(self.spectrum.bands());
                for (place, found) in row.iter_mut().skip(first).zip(found) {
                    *place = scaled(found * LOG10_E);
                }
            }
        }
        let least = scaled(loudest.log10() - DYNAMICS);
        for feature in features {
            *feature = feature.max(least);
        }
    }

    /// Returns how many frames have any samples. Those after them, in the padding, need no transform.
    fn sounding(&self, samples: usize) -> usize {
        (samples + self.spectrum.frame() / 2).div_ceil(self.hop).min(self.frames)
    }

    /// Copies a frame, whose middle is on a multiple of the hop. The samples before the audio are its mirror image, and so are
    /// those after the padding.
    fn cut(&self, samples: &[f32], index: usize, frame: &mut [f64]) {
        let start = index * self.hop;
        let length = self.frames * self.hop;
        let half = frame.len() / 2;
        let end = start + frame.len();
        cut(samples, half, start, frame);
        if half <= start && end <= length + half {
            return;
        }
        for (at, place) in (start..end).zip(frame) {
            let mirrored = match at {
                _ if at < half => half - at,
                _ if at < length + half => continue,
                _ => (2 * length + half).saturating_sub(2 + at),
            };
            *place = samples.get(mirrored).map_or(0.0, |&sample| f64::from(sample));
        }
    }
}

/// A decimal logarithm as the encoder expects it.
fn scaled(logarithm: f64) -> f32 {
    ((logarithm + 4.0) / 4.0) as f32
}

impl Extractor for Whisper {
    fn rate(&self) -> u32 {
        self.rate
    }

    fn longest(&self) -> usize {
        self.frames * self.hop
    }

    fn shape(&self, samples: usize) -> WaveformShape {
        let valid = samples.div_ceil(self.hop).min(self.frames);
        // Two layers of the encoder halve the length, and leave nothing of very short audio clips.
        let halved = valid.div_ceil(2);
        let tokens = halved.checked_sub(2).map_or(0, |length| length / 2 + 1);
        WaveformShape { frames: self.frames, valid, tokens }
    }

    fn tensors(&self, chunks: &[&[f32]]) -> Vec<MediaTensor> {
        debug_assert!(longest(chunks) <= self.longest());
        let bands = self.spectrum.bands();
        let mut features = vec![0.0; chunks.len() * bands * self.frames];
        let places = features.chunks_exact_mut((bands * self.frames).max(1));
        for (place, chunk) in places.zip(chunks) {
            self.features(chunk, place);
        }
        let valid = chunks.iter().flat_map(|chunk| mask(self.shape(chunk.len()).valid, self.frames));
        let valid = TensorData::I32(valid.map(i32::from).collect());
        vec![
            floats("input_features", &[chunks.len(), bands, self.frames], features),
            tensor("feature_attention_mask", &[chunks.len(), self.frames], valid),
        ]
    }

    fn tables(&self) -> Vec<MediaTensor> {
        tables(&self.spectrum)
    }
}
