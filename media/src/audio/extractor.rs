//! What the feature extractors of all models have in common.

use std::fmt::Debug;

use alloquy_engine::media_processor::MediaTensor;

use crate::tensors::{floats, truths};

/// How many frames and positions a chunk of an audio clip has.
///
/// [`AudioProcessor`](crate::AudioProcessor) has an example.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WaveformShape {
    /// How many frames of features there are, including those of the padding after the audio.
    pub frames: usize,
    /// How many of the frames the mask marks as audio.
    pub valid: usize,
    /// How many positions the encoder's features take in a prompt.
    pub tokens: usize,
}

/// Computes the features of chunks of audio at the model's rate.
pub(super) trait Extractor: Send + Sync + Debug {
    /// Returns how many samples a second has.
    fn rate(&self) -> u32;

    /// Returns how many samples the model takes at once.
    fn longest(&self) -> usize;

    /// Returns the shape for so many samples, [`Extractor::longest`] at most.
    fn shape(&self, samples: usize) -> WaveformShape;

    /// Returns the inputs of the encoder for several chunks, each of [`Extractor::longest`] samples at most.
    fn tensors(&self, chunks: &[&[f32]]) -> Vec<MediaTensor>;

    /// Returns the window and the filters, if there are any.
    fn tables(&self) -> Vec<MediaTensor>;
}

/// `valid` times true, and false up to `length`.
pub(super) fn mask(valid: usize, length: usize) -> impl Iterator<Item = bool> {
    (0..length).map(move |index| index < valid)
}

/// The features and their mask as tensors: `[chunks, frames, bands]` and `[chunks, frames]`.
pub(super) fn masked(
    [chunks, frames, bands]: [usize; 3],
    features: Vec<f32>,
    valid: Vec<bool>,
) -> Vec<MediaTensor> {
    vec![
        floats("input_features", &[chunks, frames, bands], features),
        truths("input_features_mask", &[chunks, frames], valid),
    ]
}

/// Copies to `frame` what begins at `start` of the padded audio clip: `before` zeros, the samples, and zeros without end.
///
/// A single frame stays in the processor's nearest cache. A padded copy of the whole audio clip would cost as much as its
/// transforms.
pub(super) fn cut(samples: &[f32], before: usize, start: usize, frame: &mut [f64]) {
    let silent = before.saturating_sub(start).min(frame.len());
    let (silence, frame) = frame.split_at_mut(silent);
    let samples = samples.get((start + silent).saturating_sub(before)..).unwrap_or_default();
    let (sounding, rest) = frame.split_at_mut(samples.len().min(frame.len()));
    silence.fill(0.0);
    for (place, &sample) in sounding.iter_mut().zip(samples) {
        *place = f64::from(sample);
    }
    rest.fill(0.0);
}

/// Returns the length of the longest chunk.
pub(super) fn longest(chunks: &[&[f32]]) -> usize {
    chunks.iter().map(|chunk| chunk.len()).max().unwrap_or_default()
}

/// The window and the filters of a spectrum.
pub(super) fn tables(spectrum: &super::spectrum::Spectrum) -> Vec<MediaTensor> {
    let window: Vec<f32> = spectrum.window().iter().map(|&weight| weight as f32).collect();
    let (bins, filters) = spectrum.filters();
    vec![floats("window", &[window.len()], window), floats("mel_filters", &[bins, spectrum.bands()], filters)]
}
