//! Reads a model's audio settings from its description: the feature extractor, its settings, and the texts in the prompt.

use std::ops::RangeInclusive;

use alloquy_core::{Error, ErrorKind, Result};

use super::limits::AudioLimits;
use crate::description::{Description, Settings};

/// The supported feature extractors, by the names of their classes in transformers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ExtractorKind {
    /// `WhisperFeatureExtractor`, and how many seconds the model accepts where its description has no number.
    Whisper(usize),
    /// `Gemma3nAudioFeatureExtractor`.
    Gemma3n,
    /// `Gemma4AudioFeatureExtractor`.
    Gemma4,
    /// `Gemma4UnifiedAudioFeatureExtractor`.
    Gemma4Unified,
}

impl ExtractorKind {
    /// By `model_type`.
    fn of(model_type: &str) -> Option<Self> {
        match model_type {
            "gemma3n" => Some(Self::Gemma3n),
            "gemma4" => Some(Self::Gemma4),
            "gemma4_unified" => Some(Self::Gemma4Unified),
            "qwen2_audio" => Some(Self::Whisper(30)),
            "qwen2_5_omni" | "qwen2_5_omni_thinker" => Some(Self::Whisper(300)),
            _ => None,
        }
    }

    fn class(self) -> &'static str {
        match self {
            Self::Whisper(_) => "WhisperFeatureExtractor",
            Self::Gemma3n => "Gemma3nAudioFeatureExtractor",
            Self::Gemma4 => "Gemma4AudioFeatureExtractor",
            Self::Gemma4Unified => "Gemma4UnifiedAudioFeatureExtractor",
        }
    }

    /// The published texts before the positions, at each position, and after them.
    fn texts(self) -> [&'static str; 3] {
        match self {
            Self::Whisper(_) => ["<|audio_bos|>", "<|AUDIO|>", "<|audio_eos|>"],
            Self::Gemma3n => ["<start_of_audio>", "<audio_soft_token>", "<end_of_audio>"],
            Self::Gemma4 | Self::Gemma4Unified => ["<|audio>", "<|audio|>", "<audio|>"],
        }
    }

    /// Returns where `config.json` has the ids of these texts. Qwen2.5-Omni's audio encoder belongs to its thinker.
    fn ids(self) -> [&'static [&'static str]; 3] {
        match self {
            Self::Whisper(_) => [
                &["/audio_start_token_id", "/thinker_config/audio_start_token_id"],
                &[
                    "/audio_token_id",
                    "/audio_token_index",
                    "/thinker_config/audio_token_id",
                    "/thinker_config/audio_token_index",
                ],
                &["/audio_end_token_id", "/thinker_config/audio_end_token_id"],
            ],
            _ => [&["/boa_token_id"], &["/audio_token_id"], &["/eoa_token_id", "/eoa_token_index"]],
        }
    }
}

/// The texts of an audio clip in a prompt. They replace the one token that a chat template prints.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Texts {
    pub(super) before: String,
    pub(super) token: String,
    /// The text between two chunks of an audio clip.
    pub(super) between: String,
    pub(super) after: String,
}

/// The audio settings of a model.
#[derive(Debug)]
pub(super) struct AudioSettings<'a> {
    pub(super) kind: ExtractorKind,
    pub(super) texts: Texts,
    /// The extractor's settings.
    settings: Settings<'a>,
    /// The settings of `config.json`.
    model: Settings<'a>,
}

impl<'a> AudioSettings<'a> {
    /// Reads the settings; `None` for a model that accepts no audio, or whose type is unknown.
    pub(super) fn of(model: &'a Description<'_>) -> Result<Option<Self>> {
        let Some(kind) = model.model_type().and_then(ExtractorKind::of) else { return Ok(None) };
        if !model.accepts_audio() {
            return Ok(None);
        }
        let settings = model.clips();
        check_class(kind, &settings)?;
        Ok(Some(Self { kind, texts: Texts::of(kind, model), settings, model: model.config() }))
    }

    /// A whole number from 1 to `most`.
    pub(super) fn count(&self, name: &str, default: usize, most: usize) -> Result<usize> {
        Ok(self.settings.number_within(&place(name), most)?.unwrap_or(default))
    }

    /// A number within a range.
    pub(super) fn number(&self, name: &str, default: f64, range: RangeInclusive<f64>) -> Result<f64> {
        Ok(self.settings.real_within(&place(name), &range)?.unwrap_or(default))
    }

    /// A truth value.
    pub(super) fn flag(&self, name: &str, default: bool) -> Result<bool> {
        Ok(self.settings.flag(&place(name))?.unwrap_or(default))
    }

    /// `count` numbers, if the setting is there.
    pub(super) fn numbers(&self, name: &str, count: usize) -> Result<Option<Vec<f64>>> {
        self.settings.reals(&place(name), count)
    }

    /// Refuses a setting with another value than the supported one.
    pub(super) fn only(&self, name: &str, value: f64) -> Result<()> {
        let number = self.number(name, value, f64::MIN..=f64::MAX)?;
        if number == value {
            return Ok(());
        }
        let message = format!("the model sets {name} to {number} for audio; supported: {value}");
        Err(Error::new(ErrorKind::Unsupported, message))
    }

    /// The rate of the samples that the model accepts.
    pub(super) fn rate(&self) -> Result<u32> {
        let rate = self.count("sampling_rate", 16_000, 768_000)? as u32;
        AudioLimits::check_rate(rate).map_err(|error| error.context("the model's sampling_rate"))?;
        Ok(rate)
    }

    /// Returns the most positions that an audio clip takes.
    pub(super) fn tokens(&self, default: usize) -> Result<usize> {
        if let Some(own) = self.settings.number_within("/audio_seq_length", MOST_TOKENS)? {
            return Ok(own);
        }
        let of_model = self.model.number_within("/audio_soft_tokens_per_image", MOST_TOKENS)?;
        Ok(of_model.unwrap_or(default))
    }
}

/// The most positions that a model's settings may have for an audio clip.
const MOST_TOKENS: usize = 1 << 20;

fn place(name: &str) -> String {
    format!("/{name}")
}

impl Texts {
    /// The texts of the tokens that the model names; the published ones where it names none.
    fn of(kind: ExtractorKind, model: &Description<'_>) -> Self {
        let [before, token, after] = kind.texts();
        let [start, middle, end] = kind.ids();
        // Gemma 3n was trained with empty lines around audio clips.
        let lines = if kind == ExtractorKind::Gemma3n { "\n\n" } else { "" };
        let before = format!("{lines}{}", model.token(start, before));
        let after = format!("{}{lines}", model.token(end, after));
        let token = model.token(middle, token);
        let between = format!("{after}{before}");
        match kind {
            // Chat templates of these models print the texts around the token themselves.
            ExtractorKind::Whisper(_) => Self { before: String::new(), token, between, after: String::new() },
            _ => Self { before, token, between, after },
        }
    }
}

fn check_class(kind: ExtractorKind, settings: &Settings<'_>) -> Result<()> {
    match settings.text("/feature_extractor_type") {
        Some(class) if class != kind.class() => {
            let message = format!(
                "the model's feature extractor for audio is {class:?}; supported: {:?}",
                kind.class()
            );
            Err(Error::new(ErrorKind::Unsupported, message))
        }
        _ => Ok(()),
    }
}
