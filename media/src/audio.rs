//! Sounds as models take them: decoded, resampled, and turned into features. Knows no session and no prompt but the texts
//! that stand around a sound.

mod adpcm;
mod decoded;
mod edit_list;
mod extractor;
mod gemma3n;
mod gemma4;
mod gemma4_unified;
mod gemma_mel;
mod limits;
mod logarithm;
mod mel;
mod mpeg;
mod resampler;
mod settings;
mod signature;
mod spectrum;
mod wave;
mod waveform;
mod whisper;
mod window;

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use alloquy_core::media::{Digest, MediaKind};
use alloquy_core::model_info::ModelInfo;
use alloquy_core::report::Degradation;
use alloquy_core::{Error, ErrorKind, Media, Result};
use alloquy_engine::media_processor::{MediaOutline, MediaPiece, MediaProcessor, MediaTensor};

pub use extractor::WaveformShape;
pub use limits::AudioLimits;
pub use wave::WaveformCut;
pub use waveform::Waveform;

use crate::description::Description;
use crate::identity::identity;
use decoded::DecodedAudio;
use extractor::Extractor;
use limits::invalid;
use settings::{AudioSettings, ExtractorKind, Texts};

/// Makes of sounds what the audio encoder of a model is fed, as its processor in transformers does.
///
/// A sound that is longer than the model takes at once is cut into stretches of the same length, each with positions and
/// features of its own.
///
/// ```
/// use alloquy_core::model_info::ModelInfo;
/// use alloquy_engine::media_processor::MediaProcessor;
/// use alloquy_media::{AudioProcessor, Waveform};
///
/// let mut model = ModelInfo::default();
/// model.model_type = Some("gemma4".to_owned());
/// model.files.insert("config.json".to_owned(), r#"{"audio_config": {}}"#.to_owned());
/// let processor = AudioProcessor::of(&model)?.expect("the model hears");
///
/// let second = Waveform::new(16_000, vec![0.0; 16_000])?;
/// assert_eq!(processor.shape(&second)?.tokens, 25);
/// let features = &processor.features(&second)?[0];
/// assert_eq!((features.name.as_str(), features.shape.as_slice()), ("input_features", &[1, 99, 128][..]));
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct AudioProcessor {
    extractor: Arc<dyn Extractor>,
    texts: Texts,
    options: AudioOptions,
    decoded: Arc<DecodedAudio>,
    identity: Digest,
}

/// What a host sets about sounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AudioOptions {
    /// How large a sound may be.
    pub limits: AudioLimits,
    /// How long a sound is at least, by silence behind it: 100 ms. Of shorter ones some models make no features at all.
    pub shortest: Duration,
    /// What becomes of sounds that are longer than the model takes at once.
    pub overlong: AudioOverflow,
}

/// What becomes of a sound that is longer than the model takes at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum AudioOverflow {
    /// It is cut into stretches of the same length, and [`Degradation::SoundChunked`] tells it.
    #[default]
    Chunk,
    /// It is an error.
    Refuse,
}

impl Default for AudioOptions {
    fn default() -> Self {
        Self {
            limits: AudioLimits::default(),
            shortest: Duration::from_millis(100),
            overlong: AudioOverflow::default(),
        }
    }
}

/// To a multiple of how many milliseconds a sound is cut: the positions of the models there are stand for this or a divisor.
const CUT: Duration = Duration::from_millis(160);

impl AudioProcessor {
    /// Reads what a model says of the sounds that it takes; `None` where it takes none.
    ///
    /// `preprocessor_config.json`, `processor_config.json` and `config.json` decide, and what they leave out is as
    /// published.
    ///
    /// # Errors
    /// [`ErrorKind::Model`] for settings that make no sense, [`ErrorKind::Unsupported`] for such as are not done here.
    pub fn of(model: &ModelInfo) -> Result<Option<Self>> {
        Self::with_options(model, AudioOptions::default())
    }

    /// As [`AudioProcessor::of`], with other limits.
    ///
    /// # Errors
    /// As [`AudioProcessor::of`].
    pub fn with_options(model: &ModelInfo, options: AudioOptions) -> Result<Option<Self>> {
        let description = Description::of(model)?;
        let Some(settings) = AudioSettings::of(&description)? else { return Ok(None) };
        let extractor: Arc<dyn Extractor> = match settings.kind {
            ExtractorKind::Whisper(seconds) => Arc::new(whisper::Whisper::new(&settings, seconds)?),
            ExtractorKind::Gemma3n => Arc::new(gemma3n::Gemma3n::new(&settings)?),
            ExtractorKind::Gemma4 => Arc::new(gemma4::Gemma4::new(&settings)?),
            ExtractorKind::Gemma4Unified => Arc::new(gemma4_unified::Gemma4Unified::new(&settings)?),
        };
        let identity = identity("sounds", model, &options);
        Ok(Some(Self { extractor, texts: settings.texts, options, decoded: Arc::default(), identity }))
    }

    /// Returns how many features a sound becomes, and how many positions they take; of several stretches the sum.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] for a sound that becomes nothing, or is longer than is taken.
    pub fn shape(&self, sound: &Waveform) -> Result<WaveformShape> {
        let samples = self.padded(sound.length_at(self.extractor.rate()));
        let shapes = self.spans(samples)?.into_iter().map(|span| self.extractor.shape(span.len()));
        Ok(shapes.fold(WaveformShape::default(), |sum, shape| WaveformShape {
            frames: sum.frames + shape.frames,
            valid: sum.valid + shape.valid,
            tokens: sum.tokens + shape.tokens,
        }))
    }

    /// Returns the features of a sound. The first axis of each tensor counts the stretches.
    ///
    /// # Errors
    /// As [`AudioProcessor::shape`].
    pub fn features(&self, sound: &Waveform) -> Result<Vec<MediaTensor>> {
        let mut samples = match sound.rate() == self.extractor.rate() {
            true => Cow::Borrowed(sound.samples()),
            false => Cow::Owned(sound.at_rate(self.extractor.rate())),
        };
        let length = self.padded(samples.len());
        if samples.len() < length {
            samples.to_mut().resize(length, 0.0);
        }
        let spans = self.spans(samples.len())?;
        let stretches: Vec<&[f32]> = spans.into_iter().filter_map(|span| samples.get(span)).collect();
        Ok(self.extractor.tensors(&stretches))
    }

    /// Returns the tables that features are computed with, where the model has some: `window`, and `mel_filters` with a row
    /// for each bin of the spectrum.
    pub fn tables(&self) -> Vec<MediaTensor> {
        self.extractor.tables()
    }

    fn decoded(&self, media: &Media) -> Result<Arc<Waveform>> {
        let bytes = media.bytes().ok_or_else(|| match media.frames() {
            Some(_) => Error::new(ErrorKind::Unsupported, "a film is no sound"),
            None => invalid(format!("the bytes of the sound {} are not loaded", media.digest())),
        })?;
        if let Some(sound) = self.decoded.find(&media.digest()) {
            return Ok(sound);
        }
        let sound = Arc::new(Waveform::decode(bytes, &self.options.limits)?);
        self.decoded.keep(media.digest(), Arc::clone(&sound));
        Ok(sound)
    }

    /// How many of the model's samples lie in a stretch of time.
    fn samples(&self, time: Duration) -> usize {
        (time.as_micros() * u128::from(self.extractor.rate())).div_ceil(1_000_000) as usize
    }

    fn padded(&self, samples: usize) -> usize {
        samples.max(self.samples(self.options.shortest))
    }

    /// Cuts a sound of so many samples.
    fn spans(&self, samples: usize) -> Result<Vec<Range<usize>>> {
        let longest = self.extractor.longest();
        let count = samples.div_ceil(longest.max(1));
        if count > 1 && self.options.overlong == AudioOverflow::Refuse {
            let seconds = |samples: usize| samples as f64 / f64::from(self.extractor.rate());
            let message = format!(
                "the sound is {:.2} s long, and the model takes {:.2} s",
                seconds(samples),
                seconds(longest)
            );
            return Err(invalid(message));
        }
        let length =
            samples.div_ceil(count.max(1)).next_multiple_of(self.samples(CUT).max(1)).min(longest).max(1);
        let spans: Vec<_> =
            (0..samples).step_by(length).map(|start| start..samples.min(start + length)).collect();
        let empty = |span: &Range<usize>| {
            let shape = self.extractor.shape(span.len());
            shape.frames == 0 || shape.tokens == 0
        };
        match spans.is_empty() || spans.iter().any(empty) {
            true => Err(invalid(format!("the model makes no features of a sound of {samples} samples"))),
            false => Ok(spans),
        }
    }

    fn degradations(&self, media: &Media, sound: &Waveform, stretches: usize) -> Vec<Degradation> {
        let samples = sound.length_at(self.extractor.rate());
        let milliseconds = |samples: usize| samples as u64 * 1000 / u64::from(self.extractor.rate());
        let padded = (self.padded(samples) > samples).then(|| Degradation::SoundPadded {
            media: media.digest(),
            milliseconds: milliseconds(samples),
            padded: milliseconds(self.padded(samples)),
        });
        let chunked =
            (stretches > 1).then(|| Degradation::SoundChunked { media: media.digest(), chunks: stretches });
        let cut = sound.cut().map(|cut| Degradation::SoundCut {
            media: media.digest(),
            missing: cut.missing,
            partial: cut.partial,
        });
        cut.into_iter().chain(padded).chain(chunked).collect()
    }
}

impl MediaProcessor for AudioProcessor {
    fn identity(&self) -> Digest {
        self.identity
    }

    fn kinds(&self) -> &[MediaKind] {
        &[MediaKind::Audio]
    }

    fn outline(&self, media: &Media) -> Result<MediaOutline> {
        let sound = self.decoded(media)?;
        let spans = self.spans(self.padded(sound.length_at(self.extractor.rate())))?;
        let Texts { before, token, between, after } = &self.texts;
        let mut pieces = Vec::new();
        for span in &spans {
            if !pieces.is_empty() {
                pieces.push(MediaPiece::Text(between.clone()));
            }
            pieces.push(MediaPiece::positions(token, self.extractor.shape(span.len()).tokens));
        }
        let degradations = self.degradations(media, &sound, spans.len());
        Ok(MediaOutline { before: before.clone(), pieces, after: after.clone(), degradations })
    }

    fn tensors(&self, media: &Media) -> Result<Vec<MediaTensor>> {
        let sound = self.decoded(media)?;
        self.decoded.forget(&media.digest());
        self.features(&sound)
    }
}
