//! Gemma 4's mel spectrogram (`Gemma4AudioFeatureExtractor` of transformers): the first frame's middle is the sound's
//! beginning, and frames that reach behind its end are zeros.

use alloquy_core::{MediaTensor, Result};

use super::description::Description;
use super::extractor::{Extractor, SoundShape, longest, mask, masked, tables};
use super::gemma_mel::{Defaults, GemmaMel};
use super::gemma3n::{MOST_SAMPLES, MULTIPLE};
use super::window::hann;

/// What transformers has where a model's description says nothing.
const DEFAULTS: Defaults = Defaults {
    frame_milliseconds: 20.0,
    range: (0.0, 8000.0),
    preemphasis: 0.0,
    doubled_transform: false,
    floor: 1e-3,
    window: rounded_hann,
};

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
    pub(super) fn new(description: &Description) -> Result<Self> {
        let most_tokens = description.tokens(750)?;
        Ok(Self { mel: GemmaMel::new(description, &DEFAULTS)?, most_tokens })
    }

    /// How many zeros stand before a sound.
    fn before(&self) -> usize {
        self.mel.spectrum.frame() / 2
    }

    /// How many frames lie in the sound wholly, with the sample behind each.
    fn valid(&self, samples: usize) -> usize {
        self.mel.frames(self.before() + samples)
    }

    /// The features of a stretch, and zeros up to `frames` of them.
    fn features(&self, stretch: &[f32], frames: usize, features: &mut Vec<f32>) {
        let filled = features.len() + frames * self.mel.spectrum.bands();
        let mut samples = vec![0.0; self.before()];
        samples.extend(stretch.iter().copied().map(f64::from));
        let mut analysis = self.mel.spectrum.analysis();
        let windows = samples.windows(self.mel.spectrum.frame() + 1).step_by(self.mel.hop);
        windows.for_each(|frame| {
            self.mel.append(&mut analysis, frame, |energy| (energy + self.mel.floor).ln(), features);
        });
        features.resize(filled, 0.0);
    }
}

impl Extractor for Gemma4 {
    fn rate(&self) -> u32 {
        self.mel.rate
    }

    fn longest(&self) -> usize {
        MOST_SAMPLES.min(self.most_tokens * 4 * self.mel.hop)
    }

    fn shape(&self, samples: usize) -> SoundShape {
        let frames = self.valid(samples.next_multiple_of(MULTIPLE));
        let valid = self.valid(samples);
        SoundShape { frames, valid, tokens: valid.div_ceil(4).min(self.most_tokens) }
    }

    fn tensors(&self, stretches: &[&[f32]]) -> Vec<MediaTensor> {
        let frames = self.valid(longest(stretches).next_multiple_of(MULTIPLE));
        let (mut features, mut valid) = (Vec::new(), Vec::new());
        for stretch in stretches {
            self.features(stretch, frames, &mut features);
            valid.extend(mask(self.valid(stretch.len()), frames));
        }
        masked([stretches.len(), frames, self.mel.spectrum.bands()], features, valid)
    }

    fn tables(&self) -> Vec<MediaTensor> {
        tables(&self.mel.spectrum)
    }
}
