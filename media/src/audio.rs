//! Decodes audio clips, resamples them to the model's rate, and computes the features that the model's encoder receives.

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
use alloquy_core::report::Warning;
use alloquy_core::{Error, ErrorKind, Media, Result};
use alloquy_engine::media_processor::{MediaOutline, MediaPlaceholder, MediaProcessor, MediaTensor};

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

/// Computes the features that a model's audio encoder receives, as the model's processor in transformers does.
///
/// An audio clip that is longer than the model accepts at once is cut into chunks of the same length. Each chunk has positions
/// and features of its own.
///
/// ```
/// use alloquy_core::model_info::ModelInfo;
/// use alloquy_engine::media_processor::MediaProcessor;
/// use alloquy_media::{AudioProcessor, Waveform};
///
/// let mut model = ModelInfo::default();
/// model.model_type = Some("gemma4".to_owned());
/// model.files.insert("config.json".to_owned(), r#"{"audio_config": {}}"#.to_owned());
/// let processor = AudioProcessor::of(&model)?.expect("the model accepts audio");
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

/// What a host sets about audio clips.
///
/// ```
/// use std::time::Duration;
/// use alloquy_media::{AudioOptions, AudioOverflow, MediaOptions};
///
/// let audio = AudioOptions { overlong: AudioOverflow::Refuse, ..AudioOptions::default() };
/// assert_eq!(audio.shortest, Duration::from_millis(100));
/// let options = MediaOptions::default().audio(audio);
/// assert_eq!(options.audio.overlong, AudioOverflow::Refuse);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AudioOptions {
    /// How large an audio clip may be.
    pub limits: AudioLimits,
    /// The shortest length of an audio clip: 100 ms. A shorter clip is padded with silence at its end, because some models
    /// compute no features at all for it.
    pub shortest: Duration,
    /// What happens to an audio clip that is longer than the model accepts at once.
    pub overlong: AudioOverflow,
}

/// What happens to an audio clip that is longer than the model accepts at once.
///
/// [`AudioOptions`] has an example.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum AudioOverflow {
    /// It is cut into chunks of the same length, and [`Warning::AudioChunked`] reports it.
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

/// Chunks of an audio clip are a multiple of this long: a position of every supported model covers this time or a divisor of it.
const CUT: Duration = Duration::from_millis(160);

impl AudioProcessor {
    /// Reads a model's audio settings; `None` where the model accepts no audio.
    ///
    /// The settings come from `preprocessor_config.json`, `processor_config.json` and `config.json`. A setting that is missing
    /// has the value that the model was published with.
    ///
    /// # Errors
    /// [`ErrorKind::Model`] for settings that make no sense, [`ErrorKind::Unsupported`] for settings that are not implemented.
    pub fn of(model: &ModelInfo) -> Result<Option<Self>> {
        Self::with_options(model, AudioOptions::default())
    }

    /// As [`AudioProcessor::of`], with options of the host.
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
        // The name is part of stored identities: another one would invalidate what is cached for the model.
        let identity = identity("sounds", model, &options);
        Ok(Some(Self { extractor, texts: settings.texts, options, decoded: Arc::default(), identity }))
    }

    /// Returns how many frames of features an audio clip has and how many positions they take, summed over its chunks.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] for an audio clip that has no features, or is longer than the options allow.
    pub fn shape(&self, audio: &Waveform) -> Result<WaveformShape> {
        let samples = self.padded(audio.length_at(self.extractor.rate()));
        let shapes = self.spans(samples)?.into_iter().map(|span| self.extractor.shape(span.len()));
        Ok(shapes.fold(WaveformShape::default(), |sum, shape| WaveformShape {
            frames: sum.frames + shape.frames,
            valid: sum.valid + shape.valid,
            tokens: sum.tokens + shape.tokens,
        }))
    }

    /// Returns the features of an audio clip. The first axis of each tensor counts the chunks.
    ///
    /// # Errors
    /// As [`AudioProcessor::shape`].
    pub fn features(&self, audio: &Waveform) -> Result<Vec<MediaTensor>> {
        let mut samples = if audio.rate() == self.extractor.rate() {
            Cow::Borrowed(audio.samples())
        } else {
            Cow::Owned(audio.at_rate(self.extractor.rate()))
        };
        let length = self.padded(samples.len());
        if samples.len() < length {
            samples.to_mut().resize(length, 0.0);
        }
        let spans = self.spans(samples.len())?;
        let chunks: Vec<&[f32]> = spans.into_iter().filter_map(|span| samples.get(span)).collect();
        Ok(self.extractor.tensors(&chunks))
    }

    /// Returns the tables that the features are computed with, if the model has any: `window`, and `mel_filters` with a row for
    /// each bin of the spectrum.
    pub fn tables(&self) -> Vec<MediaTensor> {
        self.extractor.tables()
    }

    fn decoded(&self, media: &Media) -> Result<Arc<Waveform>> {
        let bytes = media.bytes().ok_or_else(|| match media.frames() {
            Some(_) => Error::new(ErrorKind::Unsupported, "a video is no audio"),
            None => invalid(format!("the bytes of the audio {} are not loaded", media.digest())),
        })?;
        if let Some(audio) = self.decoded.find(&media.digest()) {
            return Ok(audio);
        }
        let audio = Arc::new(Waveform::decode(bytes, &self.options.limits)?);
        self.decoded.keep(media.digest(), Arc::clone(&audio));
        Ok(audio)
    }

    /// Returns how many samples a time has, at the model's rate.
    fn samples(&self, time: Duration) -> usize {
        (time.as_micros() * u128::from(self.extractor.rate())).div_ceil(1_000_000) as usize
    }

    /// Returns the length of an audio clip with the silence that fills it up to the shortest length.
    fn padded(&self, samples: usize) -> usize {
        samples.max(self.samples(self.options.shortest))
    }

    /// Returns the chunks of an audio clip of so many samples.
    fn spans(&self, samples: usize) -> Result<Vec<Range<usize>>> {
        let longest = self.extractor.longest();
        let count = samples.div_ceil(longest.max(1));
        if count > 1 && self.options.overlong == AudioOverflow::Refuse {
            let rate = f64::from(self.extractor.rate());
            let found = samples as f64 / rate;
            let limit = longest as f64 / rate;
            return Err(invalid(format!("the audio is {found:.2} s long, and the model takes {limit:.2} s")));
        }
        // All chunks have the same length but the last, and end between two positions: 40 s at a limit of 30 s are two of 20 s.
        let length =
            samples.div_ceil(count.max(1)).next_multiple_of(self.samples(CUT).max(1)).min(longest).max(1);
        let spans: Vec<_> =
            (0..samples).step_by(length).map(|start| start..samples.min(start + length)).collect();
        if spans.is_empty() || spans.iter().any(|span| self.is_empty(span.len())) {
            return Err(invalid(format!(
                "the model makes no features of an audio clip of {samples} samples"
            )));
        }
        Ok(spans)
    }

    /// Returns whether a chunk of so many samples has no features.
    fn is_empty(&self, samples: usize) -> bool {
        let shape = self.extractor.shape(samples);
        shape.frames == 0 || shape.tokens == 0
    }

    fn warnings(&self, media: &Media, audio: &Waveform, chunks: usize) -> Vec<Warning> {
        let media = media.digest();
        let mut warnings = Vec::new();
        if let Some(cut) = audio.cut() {
            warnings.push(Warning::AudioCut { media, missing: cut.missing, partial: cut.partial });
        }
        let samples = audio.length_at(self.extractor.rate());
        let padded = self.padded(samples);
        if padded > samples {
            let milliseconds = self.milliseconds(samples);
            warnings.push(Warning::AudioPadded { media, milliseconds, padded: self.milliseconds(padded) });
        }
        if chunks > 1 {
            warnings.push(Warning::AudioChunked { media, chunks });
        }
        warnings
    }

    fn milliseconds(&self, samples: usize) -> u64 {
        samples as u64 * 1000 / u64::from(self.extractor.rate())
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
        let audio = self.decoded(media)?;
        let spans = self.spans(self.padded(audio.length_at(self.extractor.rate())))?;
        let Texts { before, token, between, after } = &self.texts;
        let mut pieces = Vec::new();
        for span in &spans {
            if !pieces.is_empty() {
                pieces.push(MediaPlaceholder::Text(between.clone()));
            }
            pieces.push(MediaPlaceholder::positions(token, self.extractor.shape(span.len()).tokens));
        }
        let warnings = self.warnings(media, &audio, spans.len());
        Ok(MediaOutline { before: before.clone(), pieces, after: after.clone(), warnings })
    }

    fn tensors(&self, media: &Media) -> Result<Vec<MediaTensor>> {
        let audio = self.decoded(media)?;
        self.decoded.forget(&media.digest());
        self.features(&audio)
    }
}
