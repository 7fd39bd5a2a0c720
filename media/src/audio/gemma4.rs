//! Gemma 4's mel spectrogram (`Gemma4AudioFeatureExtractor` of transformers). The middle of the first frame is the audio's first
//! sample, and frames that reach over its end are zeros.

use alloquy_core::Result;
use alloquy_engine::media_processor::MediaTensor;

use super::extractor::{Extractor, WaveformShape, longest, mask, masked, tables};
use super::gemma_mel::{Defaults, GemmaMel};
use super::gemma3n::{MOST_SAMPLES, MULTIPLE};
use super::settings::AudioSettings;
use super::window::hann;

/// The values that transformers uses where a model's description has none.
const DEFAULTS: Defaults = Defaults {
    frame_milliseconds: 20.0,
    range: (0.0, 8000.0),
    preemphasis: 0.0,
    doubled_transform: false,
    floor: 1e-3,
    window: rounded_hann,
};

/// How many frames become one position: two layers of the encoder halve their number.
const FRAMES_PER_TOKEN: usize = 4;

/// The window is kept in single precision.
fn rounded_hann(length: usize) -> Vec<f64> {
    hann(length).into_iter().map(|weight| f64::from(weight as f32)).collect()
}

/// The settings of a model, and its tables.
#[derive(Clone, Debug)]
pub(super) struct Gemma4 {
    mel: GemmaMel,
    most_tokens: usize,
}

impl Gemma4 {
    pub(super) fn new(settings: &AudioSettings<'_>) -> Result<Self> {
        let most_tokens = settings.tokens(750)?;
        Ok(Self { mel: GemmaMel::new(settings, &DEFAULTS)?, most_tokens })
    }

    /// Returns how many zeros precede an audio clip.
    fn before(&self) -> usize {
        self.mel.spectrum.frame() / 2
    }

    /// Returns how many frames, with the sample after each, are entirely audio.
    fn valid(&self, samples: usize) -> usize {
        self.mel.frames(self.before() + samples)
    }
}

impl Extractor for Gemma4 {
    fn rate(&self) -> u32 {
        self.mel.rate
    }

    fn longest(&self) -> usize {
        MOST_SAMPLES.min(self.most_tokens * FRAMES_PER_TOKEN * self.mel.hop)
    }

    fn shape(&self, samples: usize) -> WaveformShape {
        let frames = self.valid(samples.next_multiple_of(MULTIPLE));
        let valid = self.valid(samples);
        WaveformShape { frames, valid, tokens: valid.div_ceil(FRAMES_PER_TOKEN).min(self.most_tokens) }
    }

    fn tensors(&self, chunks: &[&[f32]]) -> Vec<MediaTensor> {
        let frames = self.valid(longest(chunks).next_multiple_of(MULTIPLE));
        let bands = self.mel.spectrum.bands();
        let mut features = Vec::with_capacity(chunks.len() * frames * bands);
        let mut valid = Vec::with_capacity(chunks.len() * frames);
        for (index, chunk) in chunks.iter().enumerate() {
            let sounding = self.valid(chunk.len());
            let before = self.before();
            self.mel.append((chunk, before), sounding, |energy| energy + self.mel.floor, &mut features);
            features.resize((index + 1) * frames * bands, 0.0);
            valid.extend(mask(sounding, frames));
        }
        masked([chunks.len(), frames, bands], features, valid)
    }

    fn tables(&self) -> Vec<MediaTensor> {
        tables(&self.mel.spectrum)
    }
}
