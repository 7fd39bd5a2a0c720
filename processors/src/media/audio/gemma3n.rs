//! Gemma 3n's mel spectrogram (`Gemma3nAudioFeatureExtractor` of transformers). A sound takes as many positions as the
//! longest one does, however short it is.

use alloquy_core::{MediaTensor, Result};

use super::description::Description;
use super::extractor::{Extractor, SoundShape, longest, mask, masked, tables};
use super::gemma_mel::{Defaults, GemmaMel};
use super::window::single_hann;

/// What transformers has where a model's description says nothing.
const DEFAULTS: Defaults = Defaults {
    frame_milliseconds: 32.0,
    range: (125.0, 7600.0),
    preemphasis: 0.97,
    doubled_transform: true,
    floor: 1e-5,
    window: single_hann,
};
/// To a multiple of how many samples a sound is padded.
pub(super) const MULTIPLE: usize = 128;
/// How many samples are taken at most: 30 s of 16 kHz.
pub(super) const MOST_SAMPLES: usize = 480_000;
/// How many frames become one position.
const FRAMES_PER_TOKEN: usize = 16;

/// The settings of a model, and its tables.
#[derive(Clone, Debug)]
pub(super) struct Gemma3n {
    mel: GemmaMel,
    tokens: usize,
}

impl Gemma3n {
    pub(super) fn new(description: &Description) -> Result<Self> {
        let tokens = description.tokens(188)?;
        Ok(Self { mel: GemmaMel::new(description, &DEFAULTS)?, tokens })
    }

    /// The features of a stretch with silence up to `length` samples.
    fn features(&self, stretch: &[f32], length: usize, features: &mut Vec<f32>) {
        let mut samples: Vec<f64> = stretch.iter().copied().map(f64::from).collect();
        samples.resize(length, 0.0);
        let mut analysis = self.mel.spectrum.analysis();
        let frames = samples.windows(self.mel.spectrum.frame() + 1).step_by(self.mel.hop);
        frames.for_each(|frame| {
            self.mel.append(&mut analysis, frame, |energy| energy.max(self.mel.floor).ln(), features);
        });
    }
}

impl Extractor for Gemma3n {
    fn rate(&self) -> u32 {
        self.mel.rate
    }

    fn longest(&self) -> usize {
        MOST_SAMPLES.min(self.tokens * FRAMES_PER_TOKEN * self.mel.hop)
    }

    fn shape(&self, samples: usize) -> SoundShape {
        let frames = self.mel.frames(samples.next_multiple_of(MULTIPLE));
        SoundShape { frames, valid: samples.div_ceil(self.mel.hop).min(frames), tokens: self.tokens }
    }

    fn tensors(&self, stretches: &[&[f32]]) -> Vec<MediaTensor> {
        let length = longest(stretches).next_multiple_of(MULTIPLE);
        let frames = self.mel.frames(length);
        let (mut features, mut valid) = (Vec::new(), Vec::new());
        for stretch in stretches {
            self.features(stretch, length, &mut features);
            valid.extend(mask(stretch.len().div_ceil(self.mel.hop), frames));
        }
        masked([stretches.len(), frames, self.mel.spectrum.bands()], features, valid)
    }

    fn tables(&self) -> Vec<MediaTensor> {
        tables(&self.mel.spectrum)
    }
}
