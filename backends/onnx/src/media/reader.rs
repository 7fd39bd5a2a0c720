//! What turns media into positions and features, and remembers both. Knows no session.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use alloquy_core::media::Digest;
use alloquy_core::{Error, ErrorKind, Media, Result};
use alloquy_engine::media_processor::{MediaProcessor, MediaTensor};
use alloquy_model_files::HuggingFaceTokenizer;
use ort::session::RunOptions;

use super::encoder::{Encoded, Encoder, EncoderKind};
use super::passage::Passage;
use super::recent::Recent;
use crate::compute_time::ComputeTime;
use crate::error::{model, unsupported};
use crate::layout::EMBEDDINGS;

/// How many bytes of positions are remembered: those of ten pictures of the largest kind, and of thousands of the usual one.
const PASSAGES: usize = 8 << 20;

/// What a decoder says of media that it is given.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fixed {
    pub(crate) vocabulary: usize,
    /// How many numbers stand for a position.
    pub(crate) width: usize,
    /// On how many axes positions are numbered.
    pub(crate) axes: usize,
}

/// What became of the encoders' results.
///
/// ```no_run
/// use alloquy_onnx::OnnxEngine;
///
/// let engine = OnnxEngine::load("models/qwen2.5-vl-3b")?;
/// let statistics = engine.media_statistics();
/// println!("{} of {} encoded anew", statistics.misses, statistics.hits + statistics.misses);
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct MediaStatistics {
    /// How often media had been encoded before.
    pub hits: u64,
    /// How often media were encoded.
    pub misses: u64,
    /// Of how many media the features are kept.
    pub kept: usize,
    /// How many bytes these features take.
    pub bytes: usize,
    /// How many positions of sounds were left to the embedding of their token, because the encoder gave fewer features than
    /// the processor said.
    pub unfilled: u64,
}

/// The positions of media, and what stands there.
#[derive(Debug)]
pub(crate) struct Shown {
    pub(crate) passage: Arc<Passage>,
    pub(crate) encoded: Arc<Encoded>,
}

/// A processor, the encoders it feeds, and what they gave.
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
    passages: Recent<Passage>,
    encoded: Recent<Encoded>,
    statistics: MediaStatistics,
}

impl MediaReader {
    /// Reads with a processor; features of so many bytes are kept.
    pub(crate) fn new(
        processor: Arc<dyn MediaProcessor>,
        tokenizer: Arc<HuggingFaceTokenizer>,
        encoders: Vec<Encoder>,
        fixed: Fixed,
        budget: usize,
    ) -> Self {
        let kept = Kept {
            passages: Recent::new(PASSAGES),
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
        let (count, bytes) = (kept.encoded.count(), kept.encoded.bytes());
        MediaStatistics { kept: count, bytes, ..kept.statistics }
    }

    /// Returns the positions of media.
    pub(crate) fn passage(&self, media: &Media) -> Result<Arc<Passage>> {
        let key = self.key(media);
        let known = self.kept().passages.get(key);
        if let Some(passage) = known {
            return Ok(passage);
        }
        let outline = self.processor.outline(media)?;
        let passage = Passage::of(&outline, &self.tokenizer, self.fixed.axes)?;
        self.check(&passage)?;
        let passage = Arc::new(passage);
        self.kept().passages.keep(key, Arc::clone(&passage), passage.bytes());
        Ok(passage)
    }

    /// Returns media as a decoder is shown them. Whatever ends `options` ends the encoder too.
    pub(crate) fn shown(&self, media: &Media, time: &ComputeTime, options: &RunOptions) -> Result<Shown> {
        let (key, passage) = (self.key(media), self.passage(media)?);
        let known = self.kept().encoded.get(key);
        if let Some(encoded) = known {
            self.kept().statistics.hits += 1;
            return Ok(Shown { passage, encoded });
        }
        let tensors = self.processor.tensors(media)?;
        let encoder = self.encoder(&tensors)?;
        let encoded = Arc::new(encoder.encode(tensors, self.fixed.width, time, options)?);
        let unfilled = self.unfilled(encoder, &encoded, &passage)?;
        let mut kept = self.kept();
        kept.statistics.misses += 1;
        kept.statistics.unfilled += unfilled as u64;
        kept.encoded.keep(key, Arc::clone(&encoded), encoded.bytes());
        Ok(Shown { passage, encoded })
    }

    /// What is kept of media is found by what they are, how their bytes are read, and what reads them.
    fn key(&self, media: &Media) -> Digest {
        let (processor, digest) = (self.processor.identity(), media.digest());
        Digest::of(&[processor.as_bytes(), digest.as_bytes(), media.media_type().as_bytes()].concat())
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        // A panic while it was locked leaves numbers behind that are at most a little wrong.
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

    fn check(&self, passage: &Passage) -> Result<()> {
        let unknown = passage.tokens().iter().find(|&&token| token as usize >= self.fixed.vocabulary);
        match (unknown, passage.tokens().is_empty()) {
            (None, false) => Ok(()),
            (None, true) => Err(Error::new(ErrorKind::Invalid, "media for which no position stands")),
            (Some(token), _) => Err(model(format!(
                "media stand at token {token}, which is not one of the {} tokens",
                self.fixed.vocabulary
            ))),
        }
    }

    /// Returns how many positions have no feature. Sounds may have such: Gemma 3n gives every sound as many positions, and
    /// some exports leave out what fills them up.
    fn unfilled(&self, encoder: &Encoder, encoded: &Encoded, passage: &Passage) -> Result<usize> {
        let given = encoded.values(EMBEDDINGS).map_or(0, <[f32]>::len) / self.fixed.width.max(1);
        match passage.count().checked_sub(given) {
            Some(0) => Ok(0),
            Some(unfilled) if encoder.kind == EncoderKind::Audio && given > 0 => Ok(unfilled),
            _ => Err(model(format!(
                "the encoder gave {given} features for {} positions: {encoder}",
                passage.count()
            ))),
        }
    }
}
