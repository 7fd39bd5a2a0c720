//! The audio input of the unified Gemma 4: the samples, cut into pieces of one position each
//! (`Gemma4UnifiedAudioFeatureExtractor` of transformers).

use alloquy_core::Result;
use alloquy_engine::media_processor::MediaTensor;

use super::extractor::{Extractor, WaveformShape, longest, mask, masked};
use super::settings::AudioSettings;

/// The settings of a model.
#[derive(Clone, Debug)]
pub(super) struct Gemma4Unified {
    rate: u32,
    /// How many samples a position takes.
    piece: usize,
    most_tokens: usize,
}

impl Gemma4Unified {
    pub(super) fn new(settings: &AudioSettings<'_>) -> Result<Self> {
        let piece = settings.count("audio_samples_per_token", 640, 1 << 20)?;
        Ok(Self { rate: settings.rate()?, piece, most_tokens: settings.tokens(750)? })
    }
}

impl Extractor for Gemma4Unified {
    fn rate(&self) -> u32 {
        self.rate
    }

    fn longest(&self) -> usize {
        self.most_tokens * self.piece
    }

    fn shape(&self, samples: usize) -> WaveformShape {
        let pieces = samples.div_ceil(self.piece);
        WaveformShape { frames: pieces, valid: pieces, tokens: pieces }
    }

    fn tensors(&self, chunks: &[&[f32]]) -> Vec<MediaTensor> {
        let frames = longest(chunks).div_ceil(self.piece);
        let mut features = Vec::new();
        let mut valid = Vec::new();
        for (index, chunk) in chunks.iter().enumerate() {
            features.extend_from_slice(chunk);
            features.resize((index + 1) * frames * self.piece, 0.0);
            valid.extend(mask(chunk.len().div_ceil(self.piece), frames));
        }
        masked([chunks.len(), frames, self.piece], features, valid)
    }

    fn tables(&self) -> Vec<MediaTensor> {
        Vec::new()
    }
}
