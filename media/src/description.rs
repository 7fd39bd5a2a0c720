//! Reads the settings for media from a model's description files.

#[cfg(feature = "audio")]
use std::ops::RangeInclusive;

use alloquy_core::model_info::ModelInfo;
use alloquy_core::{Error, ErrorKind, Result};
use serde_json::Value;

/// The description files of a model, and the texts of its tokens.
#[derive(Debug)]
pub(crate) struct Description<'a> {
    model: &'a ModelInfo,
    /// `config.json`.
    config: Value,
    /// `model` of `genai_config.json`.
    genai: Value,
    /// The settings for images; a document overrides those after it.
    #[cfg(feature = "image")]
    images: Vec<Value>,
    #[cfg(feature = "image")]
    videos: Value,
    #[cfg(feature = "audio")]
    clips: Vec<Value>,
}

impl<'a> Description<'a> {
    /// Reads the files.
    ///
    /// # Errors
    /// [`ErrorKind::Model`] for a file that is not JSON.
    pub(crate) fn of(model: &'a ModelInfo) -> Result<Self> {
        let processor = document(model, "processor_config.json")?;
        let preprocessor = document(model, "preprocessor_config.json")?;
        Ok(Self {
            model,
            config: document(model, "config.json")?,
            genai: part(&document(model, "genai_config.json")?, "model"),
            #[cfg(feature = "image")]
            images: layered(&processor, &preprocessor, "image_processor"),
            #[cfg(feature = "image")]
            videos: first([
                part(&processor, "video_processor"),
                document(model, "video_preprocessor_config.json")?,
                preprocessor.clone(),
            ]),
            #[cfg(feature = "audio")]
            clips: layered(&processor, &preprocessor, "feature_extractor"),
        })
    }

    /// Returns the model's type, such as `qwen2_5_vl`.
    pub(crate) fn model_type(&self) -> Option<&str> {
        let declared = self.model.model_type.as_deref();
        declared
            .or_else(|| self.config.get("model_type").and_then(Value::as_str))
            .or_else(|| self.genai.get("type").and_then(Value::as_str))
    }

    /// Returns whether the model has an encoder for images.
    #[cfg(feature = "image")]
    pub(crate) fn accepts_images(&self) -> bool {
        const PLACES: [&str; 4] =
            ["/vision_config", "/thinker_config/vision_config", "/vision_tower", "/mm_vision_tower"];
        PLACES.iter().any(|place| self.config.pointer(place).is_some())
            || self.genai.get("vision").is_some()
            || self.images.iter().any(|settings| {
                settings.get("image_processor_type").is_some() || settings.get("image_mean").is_some()
            })
    }

    /// Returns whether the model has an encoder for audio. A feature extractor in the files is not enough: some models of a
    /// family name one and have no encoder.
    #[cfg(feature = "audio")]
    pub(crate) fn accepts_audio(&self) -> bool {
        const PLACES: [&str; 2] = ["/audio_config", "/thinker_config/audio_config"];
        if self.config.is_object() {
            return PLACES.iter().any(|place| self.config.pointer(place).is_some_and(Value::is_object));
        }
        self.genai.get("speech").is_some_and(Value::is_object)
            || self.genai.is_null() && self.clips().text("/feature_extractor_type").is_some()
    }

    /// Returns the settings for audio.
    #[cfg(feature = "audio")]
    pub(crate) fn clips(&self) -> Settings<'_> {
        Settings(self.clips.iter().collect())
    }

    /// Returns the settings in `config.json`.
    #[cfg(feature = "audio")]
    pub(crate) fn config(&self) -> Settings<'_> {
        Settings(vec![&self.config])
    }

    /// Returns the settings for images.
    #[cfg(feature = "image")]
    pub(crate) fn images(&self) -> Settings<'_> {
        Settings(self.images.iter().collect())
    }

    /// Returns the settings for videos.
    #[cfg(feature = "image")]
    pub(crate) fn videos(&self) -> Settings<'_> {
        Settings(vec![&self.videos])
    }

    /// Returns a whole number of `config.json` or of `genai_config.json`, at one of several places.
    pub(crate) fn number(&self, places: &[&str]) -> Option<usize> {
        self.real(places)
            .filter(|number| *number >= 1.0 && number.fract() == 0.0)
            .map(|number| number as usize)
    }

    /// Returns a number of `config.json` or of `genai_config.json`, at one of several places.
    pub(crate) fn real(&self, places: &[&str]) -> Option<f64> {
        first_real(&self.config, places).or_else(|| first_real(&self.genai, places))
    }

    /// Returns a text of `config.json`.
    #[cfg(feature = "image")]
    pub(crate) fn text(&self, key: &str) -> Option<&str> {
        self.config.get(key).and_then(Value::as_str)
    }

    /// Returns the text of the token whose id the description names at one of several places, otherwise the usual one.
    pub(crate) fn token(&self, places: &[&str], usual: &str) -> String {
        let id = self.number(places);
        let named = self.model.specials.iter().find(|special| Some(special.id as usize) == id);
        named.map_or_else(|| usual.to_owned(), |special| special.text.clone())
    }
}

/// The settings of a processor: documents, of which each overrides those after it.
#[derive(Clone, Debug)]
pub(crate) struct Settings<'a>(Vec<&'a Value>);

impl Settings<'_> {
    fn get(&self, place: &str) -> Option<&Value> {
        self.0.iter().filter_map(|document| document.pointer(place)).find(|value| !value.is_null())
    }
}

/// Readers for the settings of images and videos.
#[cfg(feature = "image")]
impl Settings<'_> {
    /// Returns a whole number above zero.
    ///
    /// # Errors
    /// [`ErrorKind::Model`] for anything else.
    pub(crate) fn number(&self, place: &str) -> Result<Option<usize>> {
        let Some(value) = self.get(place) else { return Ok(None) };
        let number = value.as_u64().filter(|number| (1..=u64::from(u32::MAX)).contains(number));
        number
            .map(|number| Some(number as usize))
            .ok_or_else(|| unusable(place, value, "a whole number above zero"))
    }

    /// Returns the first number that is set, otherwise the usual one.
    ///
    /// # Errors
    /// As [`Settings::number`].
    pub(crate) fn number_or(&self, places: &[&str], usual: usize) -> Result<usize> {
        for place in places {
            if let Some(number) = self.number(place)? {
                return Ok(number);
            }
        }
        Ok(usual)
    }

    /// Returns a number.
    pub(crate) fn real(&self, place: &str) -> Option<f64> {
        self.get(place).and_then(Value::as_f64)
    }

    /// Returns a truth value; `None` for any other value.
    pub(crate) fn switch(&self, place: &str) -> Option<bool> {
        self.get(place).and_then(Value::as_bool)
    }

    /// Returns one number for each channel.
    ///
    /// # Errors
    /// [`ErrorKind::Model`] for anything else.
    pub(crate) fn channels(&self, place: &str) -> Result<Option<[f64; 3]>> {
        let Some(value) = self.get(place) else { return Ok(None) };
        let numbers = reals(value).and_then(|numbers| <[f64; 3]>::try_from(numbers).ok());
        numbers.map(Some).ok_or_else(|| unusable(place, value, "three numbers"))
    }
}

/// Readers for the settings of audio, where a value that makes no sense is always an error.
#[cfg(feature = "audio")]
impl Settings<'_> {
    /// Returns a text.
    pub(crate) fn text(&self, place: &str) -> Option<&str> {
        self.get(place).and_then(Value::as_str)
    }

    /// Returns a number within a range.
    ///
    /// # Errors
    /// [`ErrorKind::Model`] for anything else.
    pub(crate) fn real_within(&self, place: &str, range: &RangeInclusive<f64>) -> Result<Option<f64>> {
        let Some(value) = self.get(place) else { return Ok(None) };
        let number = value.as_f64().filter(|number| range.contains(number));
        number.map(Some).ok_or_else(|| {
            let wanted = format!("a number from {} to {}", range.start(), range.end());
            unusable(place, value, &wanted)
        })
    }

    /// Returns a whole number from 1 to `most`.
    ///
    /// # Errors
    /// [`ErrorKind::Model`] for anything else.
    pub(crate) fn number_within(&self, place: &str, most: usize) -> Result<Option<usize>> {
        let Some(value) = self.get(place) else { return Ok(None) };
        let number =
            value.as_f64().filter(|number| number.fract() == 0.0 && (1.0..=most as f64).contains(number));
        number
            .map(|number| Some(number as usize))
            .ok_or_else(|| unusable(place, value, &format!("a whole number from 1 to {most}")))
    }

    /// Returns a truth value.
    ///
    /// # Errors
    /// [`ErrorKind::Model`] for anything else.
    pub(crate) fn flag(&self, place: &str) -> Result<Option<bool>> {
        let Some(value) = self.get(place) else { return Ok(None) };
        value.as_bool().map(Some).ok_or_else(|| unusable(place, value, "true or false"))
    }

    /// Returns `count` numbers.
    ///
    /// # Errors
    /// [`ErrorKind::Model`] for anything else.
    pub(crate) fn reals(&self, place: &str, count: usize) -> Result<Option<Vec<f64>>> {
        let Some(value) = self.get(place) else { return Ok(None) };
        let numbers = reals(value).filter(|numbers| numbers.len() == count);
        numbers.map(Some).ok_or_else(|| unusable(place, value, &format!("{count} numbers")))
    }
}

fn reals(value: &Value) -> Option<Vec<f64>> {
    value.as_array()?.iter().map(Value::as_f64).collect()
}

/// Returns the document in a file of the model; null where there is none.
fn document(model: &ModelInfo, name: &str) -> Result<Value> {
    model.json(name).map(Option::unwrap_or_default)
}

/// Returns a field of a document; null where there is none.
fn part(document: &Value, name: &str) -> Value {
    document.get(name).cloned().unwrap_or_default()
}

/// Returns the documents with the settings of a processor: its own fields override the files that hold them.
fn layered(processor: &Value, preprocessor: &Value, name: &str) -> Vec<Value> {
    vec![part(processor, name), part(preprocessor, name), preprocessor.clone(), processor.clone()]
}

/// Returns the first number at one of several places of a document.
fn first_real(document: &Value, places: &[&str]) -> Option<f64> {
    places.iter().find_map(|place| document.pointer(place).and_then(Value::as_f64))
}

/// Returns the first document that exists: transformers reads only that one for videos (`get_video_processor_dict`, 5.23).
#[cfg(feature = "image")]
fn first(documents: [Value; 3]) -> Value {
    documents.into_iter().find(|document| !document.is_null()).unwrap_or_default()
}

fn unusable(place: &str, value: &Value, wanted: &str) -> Error {
    let message = format!("{place} of the model's processor is {value}, not {wanted}");
    Error::new(ErrorKind::Model, message)
}
