//! Gemma 3n's mel spectrogram (`Gemma3nAudioFeatureExtractor` of transformers). An audio clip takes as many positions as
//! the longest one, however short it is.

use alloquy_core::Result;
use alloquy_engine::media_processor::MediaTensor;

use super::extractor::{Extractor, WaveformShape, longest, mask, masked, tables};
use super::gemma_mel::{Defaults, GemmaMel};
use super::settings::AudioSettings;
use super::window::single_hann;

/// The values that transformers uses where a model's description has none.
const DEFAULTS: Defaults = Defaults {
    frame_milliseconds: 32.0,
    range: (125.0, 7600.0),
    preemphasis: 0.97,
    doubled_transform: true,
    floor: 1e-5,
    window: single_hann,
};
/// An audio clip is padded to a multiple of so many samples.
pub(super) const MULTIPLE: usize = 128;
/// The most samples of a chunk: 30 s at 16 kHz.
pub(super) const MOST_SAMPLES: usize = 480_000;
/// How many frames become one position: the encoder keeps every sixteenth (4 by its convolutions, 4 by its reduction).
const FRAMES_PER_TOKEN: usize = 16;

/// The settings of a model, and its tables.
#[derive(Clone, Debug)]
pub(super) struct Gemma3n {
    mel: GemmaMel,
    tokens: usize,
}

impl Gemma3n {
    pub(super) fn new(settings: &AudioSettings<'_>) -> Result<Self> {
        let tokens = settings.tokens(188)?;
        Ok(Self { mel: GemmaMel::new(settings, &DEFAULTS)?, tokens })
    }
}

impl Extractor for Gemma3n {
    fn rate(&self) -> u32 {
        self.mel.rate
    }

    fn longest(&self) -> usize {
        MOST_SAMPLES.min(self.tokens * FRAMES_PER_TOKEN * self.mel.hop)
    }

    fn shape(&self, samples: usize) -> WaveformShape {
        let frames = self.mel.frames(samples.next_multiple_of(MULTIPLE));
        WaveformShape { frames, valid: samples.div_ceil(self.mel.hop).min(frames), tokens: self.tokens }
    }

    fn tensors(&self, chunks: &[&[f32]]) -> Vec<MediaTensor> {
        let length = longest(chunks).next_multiple_of(MULTIPLE);
        let frames = self.mel.frames(length);
        let mut features = Vec::with_capacity(chunks.len() * frames * self.mel.spectrum.bands());
        let mut valid = Vec::with_capacity(chunks.len() * frames);
        for chunk in chunks {
            self.mel.append((chunk, 0), frames, |energy| energy.max(self.mel.floor), &mut features);
            valid.extend(mask(chunk.len().div_ceil(self.mel.hop), frames));
        }
        masked([chunks.len(), frames, self.mel.spectrum.bands()], features, valid)
    }

    fn tables(&self) -> Vec<MediaTensor> {
        tables(&self.mel.spectrum)
    }
}
