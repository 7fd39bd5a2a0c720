//! What a model's description files say of the sounds that it takes. Knows which files, and what a setting may be.

use std::ops::RangeInclusive;

use alloquy_core::{Error, ErrorKind, ModelInfo, Result};
use serde_json::Value;

use super::limits::SoundLimits;

/// The feature extractors that there are, by the names of their classes in transformers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ExtractorKind {
    /// `WhisperFeatureExtractor`, and how many seconds the model takes where it does not say.
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

    /// The published texts before the positions, at each, and behind them.
    fn texts(self) -> [&'static str; 3] {
        match self {
            Self::Whisper(_) => ["<|audio_bos|>", "<|AUDIO|>", "<|audio_eos|>"],
            Self::Gemma3n => ["<start_of_audio>", "<audio_soft_token>", "<end_of_audio>"],
            Self::Gemma4 | Self::Gemma4Unified => ["<|audio>", "<|audio|>", "<audio|>"],
        }
    }

    /// Where `config.json` has the ids of these texts.
    fn ids(self) -> [&'static [&'static str]; 3] {
        match self {
            Self::Whisper(_) => {
                [&["audio_start_token_id"], &["audio_token_id", "audio_token_index"], &["audio_end_token_id"]]
            }
            _ => [&["boa_token_id"], &["audio_token_id"], &["eoa_token_id", "eoa_token_index"]],
        }
    }
}

/// What stands for a sound in a prompt, in the place of the one token that a chat template prints.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Texts {
    pub(super) before: String,
    pub(super) token: String,
    /// What stands between two stretches of a sound.
    pub(super) between: String,
    pub(super) after: String,
}

/// The settings of a model's feature extractor.
#[derive(Clone, Debug)]
pub(super) struct Description {
    pub(super) kind: ExtractorKind,
    pub(super) texts: Texts,
    /// The extractor's own.
    settings: Value,
    /// `processor_config.json`.
    processor: Value,
    /// `config.json`, or the part of it that is about what is heard.
    config: Value,
}

impl Description {
    /// Reads what a model says; `None` where it takes no sounds, or sounds of a kind that is not known here.
    pub(super) fn of(model: &ModelInfo) -> Result<Option<Self>> {
        let file = |name: &str| Ok::<_, Error>(model.json(name)?.unwrap_or_default());
        let (config, processor) = (file("config.json")?, file("processor_config.json")?);
        let said = model.model_type.as_deref().or_else(|| config.get("model_type").and_then(Value::as_str));
        let Some(kind) = said.and_then(ExtractorKind::of) else { return Ok(None) };
        // Qwen2.5-Omni keeps what it hears with in the configuration of its thinker.
        let config = config.get("thinker_config").cloned().unwrap_or(config);
        let settings = extractor_settings(&processor, file("preprocessor_config.json")?);
        if !hears(&config, &file("genai_config.json")?, &settings) {
            return Ok(None);
        }
        check_class(kind, &settings)?;
        Ok(Some(Self { kind, texts: Texts::of(kind, &config, model), settings, processor, config }))
    }

    /// A whole number from 1 to `most`.
    pub(super) fn count(&self, name: &str, default: usize, most: usize) -> Result<usize> {
        let value = self.number(name, default as f64, 1.0..=most as f64)?;
        if value.fract() == 0.0 {
            Ok(value as usize)
        } else {
            Err(wrong(name, &value.into(), "a whole number"))
        }
    }

    /// A number within a range.
    pub(super) fn number(&self, name: &str, default: f64, range: RangeInclusive<f64>) -> Result<f64> {
        let expected = || format!("a number from {} to {}", range.start(), range.end());
        match self.settings.get(name) {
            None | Some(Value::Null) => Ok(default),
            Some(value) => match value.as_f64() {
                Some(number) if range.contains(&number) => Ok(number),
                _ => Err(wrong(name, value, &expected())),
            },
        }
    }

    /// A truth value.
    pub(super) fn flag(&self, name: &str, default: bool) -> Result<bool> {
        match self.settings.get(name) {
            None | Some(Value::Null) => Ok(default),
            Some(Value::Bool(flag)) => Ok(*flag),
            Some(value) => Err(wrong(name, value, "true or false")),
        }
    }

    /// `count` numbers, where there are some.
    pub(super) fn numbers(&self, name: &str, count: usize) -> Result<Option<Vec<f64>>> {
        let value = match self.settings.get(name) {
            None | Some(Value::Null) => return Ok(None),
            Some(value) => value,
        };
        let numbers =
            value.as_array().map(|values| values.iter().filter_map(Value::as_f64).collect::<Vec<_>>());
        match numbers.filter(|numbers| numbers.len() == count) {
            Some(numbers) => Ok(Some(numbers)),
            None => Err(wrong(name, value, &format!("{count} numbers"))),
        }
    }

    /// Refuses a setting that has another value than the one that is done here.
    pub(super) fn only(&self, name: &str, value: f64) -> Result<()> {
        let number = self.number(name, value, f64::MIN..=f64::MAX)?;
        if number == value {
            return Ok(());
        }
        let message =
            format!("the model wants {name} {number} for sounds, and {value} is what there is here");
        Err(Error::new(ErrorKind::Unsupported, message))
    }

    /// The rate of the samples that the model is fed.
    pub(super) fn rate(&self) -> Result<u32> {
        let rate = self.count("sampling_rate", 16_000, 768_000)? as u32;
        SoundLimits::check_rate(rate).map_err(|error| error.context("the model's sampling_rate"))?;
        Ok(rate)
    }

    /// How many positions a sound takes at most.
    pub(super) fn tokens(&self, default: usize) -> Result<usize> {
        let places = [(&self.processor, "audio_seq_length"), (&self.config, "audio_soft_tokens_per_image")];
        let found = places.iter().find_map(|(file, name)| Some((*name, file.get(name)?)));
        let Some((name, value)) = found.filter(|(_, value)| !value.is_null()) else { return Ok(default) };
        let tokens = value.as_u64().filter(|tokens| (1..=1 << 20).contains(tokens));
        tokens
            .map(|tokens| tokens as usize)
            .ok_or_else(|| wrong(name, value, "a whole number from 1 to 1048576"))
    }
}

impl Texts {
    /// As the tokenizer spells the tokens that the model names, and as published where it names none.
    fn of(kind: ExtractorKind, config: &Value, model: &ModelInfo) -> Self {
        let text = |names: &[&str], published: &str| {
            let id = names.iter().find_map(|name| config.get(name).and_then(Value::as_u64));
            let special = model.specials.iter().find(|special| Some(u64::from(special.id)) == id);
            special.map_or_else(|| published.to_owned(), |special| special.text.clone())
        };
        let ([before, token, after], [start, middle, end]) = (kind.texts(), kind.ids());
        // Gemma 3n was trained with empty lines around sounds.
        let lines = if kind == ExtractorKind::Gemma3n { "\n\n" } else { "" };
        let (before, after) =
            (format!("{lines}{}", text(start, before)), format!("{}{lines}", text(end, after)));
        let (token, between) = (text(middle, token), format!("{after}{before}"));
        match kind {
            // Templates for these print what stands around the token themselves.
            ExtractorKind::Whisper(_) => Self { before: String::new(), token, between, after: String::new() },
            _ => Self { before, token, between, after },
        }
    }
}

/// Whether a model has what hears: some of a family do not, and their files name the extractor all the same.
fn hears(config: &Value, genai: &Value, settings: &Value) -> bool {
    let is_there = |value: Option<&Value>| value.is_some_and(Value::is_object);
    if config.is_object() {
        return is_there(config.get("audio_config"));
    }
    is_there(genai.pointer("/model/speech"))
        || (genai.is_null() && settings.get("feature_extractor_type").is_some())
}

/// The feature extractor's settings, wherever they stand.
fn extractor_settings(processor: &Value, preprocessor: Value) -> Value {
    let inner = [processor.get("feature_extractor"), preprocessor.get("feature_extractor")];
    let inner = inner.into_iter().flatten().find(|value| value.is_object()).cloned();
    inner.unwrap_or(preprocessor)
}

fn check_class(kind: ExtractorKind, settings: &Value) -> Result<()> {
    match settings.get("feature_extractor_type").and_then(Value::as_str) {
        Some(class) if class != kind.class() => {
            let message =
                format!("the model's sounds want {class:?}, and {:?} is what there is here", kind.class());
            Err(Error::new(ErrorKind::Unsupported, message))
        }
        _ => Ok(()),
    }
}

fn wrong(name: &str, value: &Value, expected: &str) -> Error {
    Error::new(
        ErrorKind::Model,
        format!("{name} of the model's feature extractor is {value}, not {expected}"),
    )
}
