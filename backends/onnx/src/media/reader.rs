//! Turns media into positions and features, and caches both.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use alloquy_core::media::Digest;
use alloquy_core::{Media, Result};
use alloquy_engine::media_processor::{MediaProcessor, MediaTensor};
use alloquy_model_files::HuggingFaceTokenizer;
use ort::session::RunOptions;

use super::encoder::{Encoded, Encoder, EncoderKind, EncoderRun};
use super::media_positions::MediaPositions;
use super::recent::Recent;
use crate::compute_time::ComputeTime;
use crate::error::{invalid, model, unsupported};

/// How many bytes of positions are cached: ten images of the largest size, or thousands of the usual size.
const PASSAGES: usize = 8 << 20;

/// The decoder's requirements for media.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fixed {
    pub(crate) vocabulary: usize,
    /// How many numbers a feature has.
    pub(crate) width: usize,
    /// How many axes position numbers have.
    pub(crate) axes: usize,
}

/// Statistics of the cache of encoded media.
///
/// ```no_run
/// use alloquy_onnx::OnnxEngine;
///
/// let engine = OnnxEngine::load("models/qwen2.5-vl-3b")?;
/// let statistics = engine.media_statistics();
/// println!("{} of {} were encoded", statistics.misses, statistics.hits + statistics.misses);
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct MediaStatistics {
    /// How often encoded media were found in the cache.
    pub hits: u64,
    /// How often media had to be encoded.
    pub misses: u64,
    /// How many encoded media are in the cache.
    pub kept: usize,
    /// How many bytes they take.
    pub bytes: usize,
    /// How many positions of audio kept the embedding of their token, because the encoder gave fewer features than the media
    /// processor has positions.
    pub unfilled: u64,
}

/// The positions of media, and their features.
#[derive(Debug)]
pub(crate) struct MediaInput {
    pub(crate) positions: Arc<MediaPositions>,
    pub(crate) encoded: Arc<Encoded>,
}

/// A media processor, the encoders that it feeds, and the cache of their results.
#[derive(Debug)]
pub(crate) struct MediaReader {
    processor: Arc<dyn MediaProcessor>,
    tokenizer: Arc<HuggingFaceTokenizer>,
    encoders: Vec<Encoder>,
    fixed: Fixed,
    kept: Mutex<Kept>,
}

#[derive(Debug)]
struct Kept {
    positions_of: Recent<MediaPositions>,
    encoded: Recent<Encoded>,
    statistics: MediaStatistics,
}

impl MediaReader {
    /// Makes a reader that keeps features of up to `budget` bytes.
    pub(crate) fn new(
        processor: Arc<dyn MediaProcessor>,
        tokenizer: Arc<HuggingFaceTokenizer>,
        encoders: Vec<Encoder>,
        fixed: Fixed,
        budget: usize,
    ) -> Self {
        let kept = Kept {
            positions_of: Recent::new(PASSAGES),
            encoded: Recent::new(budget),
            statistics: MediaStatistics::default(),
        };
        Self { processor, tokenizer, encoders, fixed, kept: Mutex::new(kept) }
    }

    pub(crate) fn processor(&self) -> &dyn MediaProcessor {
        &*self.processor
    }

    pub(crate) fn statistics(&self) -> MediaStatistics {
        let kept = self.kept();
        let count = kept.encoded.count();
        let bytes = kept.encoded.bytes();
        MediaStatistics { kept: count, bytes, ..kept.statistics }
    }

    /// Returns the positions of media.
    pub(crate) fn positions(&self, media: &Media) -> Result<Arc<MediaPositions>> {
        let key = self.key(media);
        let known = self.kept().positions_of.get(key);
        if let Some(positions) = known {
            return Ok(positions);
        }
        let outline = self.processor.outline(media)?;
        let positions = MediaPositions::of(&outline, &self.tokenizer, self.fixed.axes)?;
        self.check(&positions)?;
        let positions = Arc::new(positions);
        self.kept().positions_of.keep(key, Arc::clone(&positions), positions.bytes());
        Ok(positions)
    }

    /// Returns the positions and features of media. Ending the run through `options` also ends the encoder.
    pub(crate) fn input(
        &self,
        media: &Media,
        time: &ComputeTime,
        options: &RunOptions,
    ) -> Result<MediaInput> {
        let key = self.key(media);
        let positions = self.positions(media)?;
        let known = self.kept().encoded.get(key);
        if let Some(encoded) = known {
            self.kept().statistics.hits += 1;
            return Ok(MediaInput { positions, encoded });
        }
        let tensors = self.processor.tensors(media)?;
        let encoder = self.encoder(&tensors)?;
        let encoded =
            Arc::new(encoder.encode(tensors, EncoderRun { width: self.fixed.width, time, options })?);
        let unfilled = self.unfilled(encoder, &encoded, &positions)?;
        let mut kept = self.kept();
        kept.statistics.misses += 1;
        kept.statistics.unfilled += unfilled as u64;
        kept.encoded.keep(key, Arc::clone(&encoded), encoded.bytes());
        Ok(MediaInput { positions, encoded })
    }

    /// Returns the key of the cache: a digest of the processor's identity, the bytes of the media and their type.
    fn key(&self, media: &Media) -> Digest {
        let processor = self.processor.identity();
        let digest = media.digest();
        Digest::of(&[processor.as_bytes(), digest.as_bytes(), media.media_type().as_bytes()].concat())
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        // A panic while it was locked leaves statistics that are at most a little wrong.
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn encoder(&self, tensors: &[MediaTensor]) -> Result<&Encoder> {
        let takes = self.encoders.iter().find(|encoder| encoder.takes(tensors));
        takes.ok_or_else(|| {
            let given: Vec<_> = tensors.iter().map(|tensor| tensor.name.as_str()).collect();
            let taken: Vec<_> = self.encoders.iter().map(ToString::to_string).collect();
            let taken = if taken.is_empty() { "there is none".to_owned() } else { taken.join("; ") };
            unsupported(format!(
                "no encoder of the model takes just what the processor gives, {}: {taken}",
                given.join(", ")
            ))
        })
    }

    fn check(&self, positions: &MediaPositions) -> Result<()> {
        if positions.tokens().is_empty() {
            return Err(invalid("media without any position"));
        }
        let vocabulary = self.fixed.vocabulary;
        if let Some(token) = positions.tokens().iter().find(|&&token| token as usize >= vocabulary) {
            return Err(model(format!(
                "media have positions with token {token}, which is not one of the {vocabulary} tokens"
            )));
        }
        Ok(())
    }

    /// Returns how many positions have no feature. Only audio clips may have such positions: Gemma 3n gives every clip the same
    /// number of positions, and some exports do not make the features that fill them up.
    fn unfilled(&self, encoder: &Encoder, encoded: &Encoded, positions: &MediaPositions) -> Result<usize> {
        let given = encoded.features().len() / self.fixed.width.max(1);
        match positions.count().checked_sub(given) {
            Some(0) => Ok(0),
            Some(unfilled) if encoder.kind == EncoderKind::Audio && given > 0 => Ok(unfilled),
            _ => Err(model(format!(
                "the encoder gave {given} features for {} positions: {encoder}",
                positions.count()
            ))),
        }
    }
}
