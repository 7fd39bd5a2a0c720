//! What the feature extractors of all models have in common. Knows no model.

use std::fmt::Debug;

use alloquy_engine::media_processor::MediaTensor;

use crate::tensors::{floats, truths};

/// How much a stretch of a sound becomes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WaveformShape {
    /// How many frames of features there are, with those that lie in silence behind the sound.
    pub frames: usize,
    /// How many of them the mask says to be the sound's.
    pub valid: usize,
    /// How many positions the encoder's features take in a prompt.
    pub tokens: usize,
}

/// Makes the features of stretches of sound, at the model's rate.
pub(super) trait Extractor: Send + Sync + Debug {
    /// Returns the samples for a second.
    fn rate(&self) -> u32;

    /// Returns how many samples the model takes at once.
    fn longest(&self) -> usize;

    /// Returns what becomes of so many samples, of [`Extractor::longest`] at most.
    fn shape(&self, samples: usize) -> WaveformShape;

    /// Returns what the encoder is fed for several stretches, each of [`Extractor::longest`] samples at most.
    fn tensors(&self, stretches: &[&[f32]]) -> Vec<MediaTensor>;

    /// Returns the window and the filters, where there are some.
    fn tables(&self) -> Vec<MediaTensor>;
}

/// `valid` times true, and false up to `length`.
pub(super) fn mask(valid: usize, length: usize) -> impl Iterator<Item = bool> {
    (0..length).map(move |index| index < valid)
}

/// Features of frames, and which of these are the sound's: `[stretches, frames, bands]` and `[stretches, frames]`.
pub(super) fn masked(
    [stretches, frames, bands]: [usize; 3],
    features: Vec<f32>,
    valid: Vec<bool>,
) -> Vec<MediaTensor> {
    vec![
        floats("input_features", &[stretches, frames, bands], features),
        truths("input_features_mask", &[stretches, frames], valid),
    ]
}

/// Copies samples to a frame that begins at `start`, where `before` zeros stand before them and zeros behind.
///
/// A frame at a time stays in the processor's nearest memory; a copy of the whole sound costs as much as its transforms.
pub(super) fn cut(samples: &[f32], before: usize, start: usize, frame: &mut [f64]) {
    let silent = before.saturating_sub(start).min(frame.len());
    let (silence, frame) = frame.split_at_mut(silent);
    let samples = samples.get((start + silent).saturating_sub(before)..).unwrap_or_default();
    let (sounding, rest) = frame.split_at_mut(samples.len().min(frame.len()));
    silence.fill(0.0);
    sounding.iter_mut().zip(samples).for_each(|(place, &sample)| *place = f64::from(sample));
    rest.fill(0.0);
}

/// The longest of several stretches.
pub(super) fn longest(stretches: &[&[f32]]) -> usize {
    stretches.iter().map(|stretch| stretch.len()).max().unwrap_or_default()
}

/// The window and the filters of a spectrum.
pub(super) fn tables(spectrum: &super::spectrum::Spectrum) -> Vec<MediaTensor> {
    let window: Vec<f32> = spectrum.window().iter().map(|&weight| weight as f32).collect();
    let (bins, filters) = spectrum.filters();
    vec![floats("window", &[window.len()], window), floats("mel_filters", &[bins, spectrum.bands()], filters)]
}
