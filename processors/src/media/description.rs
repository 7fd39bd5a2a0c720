//! What a model's description files say of its media. Knows where the files keep it, not what a processor does with it.

use alloquy_core::{Error, ErrorKind, ModelInfo, Result};
use serde_json::Value;

/// The description files of a model, and the texts of its tokens.
#[derive(Debug)]
pub(crate) struct Description<'a> {
    model: &'a ModelInfo,
    /// `config.json`.
    config: Value,
    /// `model` of `genai_config.json`.
    genai: Value,
    /// The settings of the processor of one kind, those that win first.
    images: Vec<Value>,
    films: Vec<Value>,
}

impl<'a> Description<'a> {
    /// Reads the files.
    ///
    /// # Errors
    /// [`ErrorKind::Model`] for a file that is not JSON.
    pub(crate) fn of(model: &'a ModelInfo) -> Result<Self> {
        let file = |name: &str| model.json(name).map(Option::unwrap_or_default);
        let (processor, preprocessor) = (file("processor_config.json")?, file("preprocessor_config.json")?);
        let part = |document: &Value, name: &str| document.get(name).cloned().unwrap_or_default();
        let images = vec![
            part(&processor, "image_processor"),
            part(&preprocessor, "image_processor"),
            preprocessor.clone(),
            processor.clone(),
        ];
        let films = vec![file("video_preprocessor_config.json")?, part(&processor, "video_processor")];
        let genai = part(&file("genai_config.json")?, "model");
        Ok(Self { model, config: file("config.json")?, genai, images, films })
    }

    /// Returns the model's type, such as `qwen2_5_vl`.
    pub(crate) fn model_type(&self) -> Option<&str> {
        let declared = self.model.model_type.as_deref();
        declared
            .or_else(|| self.config.get("model_type").and_then(Value::as_str))
            .or_else(|| self.genai.get("type").and_then(Value::as_str))
    }

    /// Says whether the model has an encoder for pictures.
    pub(crate) fn sees(&self) -> bool {
        const PLACES: [&str; 4] =
            ["/vision_config", "/thinker_config/vision_config", "/vision_tower", "/mm_vision_tower"];
        let is_for_pictures = |settings: &Value| {
            settings.get("image_processor_type").is_some() || settings.get("image_mean").is_some()
        };
        PLACES.iter().any(|place| self.config.pointer(place).is_some())
            || self.genai.get("vision").is_some()
            || self.images.iter().any(is_for_pictures)
    }

    /// Returns the settings for pictures.
    pub(crate) fn images(&self) -> Settings<'_> {
        Settings(self.images.iter().collect())
    }

    /// Returns the settings for films.
    pub(crate) fn films(&self) -> Settings<'_> {
        Settings(self.films.iter().collect())
    }

    /// Returns a whole number of `config.json` or of `genai_config.json`, at one of several places.
    pub(crate) fn number(&self, places: &[&str]) -> Option<usize> {
        self.real(places)
            .filter(|number| *number >= 1.0 && number.fract() == 0.0)
            .map(|number| number as usize)
    }

    /// Returns a number of `config.json` or of `genai_config.json`, at one of several places.
    pub(crate) fn real(&self, places: &[&str]) -> Option<f64> {
        let at = |document: &Value| {
            places.iter().find_map(|place| document.pointer(place).and_then(Value::as_f64))
        };
        at(&self.config).or_else(|| at(&self.genai))
    }

    /// Returns a text of `config.json`.
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

/// Settings of a processor: a document over another.
#[derive(Clone, Debug)]
pub(crate) struct Settings<'a>(Vec<&'a Value>);

impl Settings<'_> {
    fn get(&self, place: &str) -> Option<&Value> {
        self.0.iter().filter_map(|document| document.pointer(place)).find(|value| !value.is_null())
    }

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

    /// Returns the first number there is, otherwise the usual one.
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

    /// Returns a switch.
    pub(crate) fn switch(&self, place: &str) -> Option<bool> {
        self.get(place).and_then(Value::as_bool)
    }

    /// Returns one number for each channel.
    ///
    /// # Errors
    /// [`ErrorKind::Model`] for anything else.
    pub(crate) fn channels(&self, place: &str) -> Result<Option<[f64; 3]>> {
        let Some(value) = self.get(place) else { return Ok(None) };
        let numbers: Option<Vec<f64>> =
            value.as_array().and_then(|numbers| numbers.iter().map(Value::as_f64).collect());
        let numbers = numbers.and_then(|numbers| <[f64; 3]>::try_from(numbers).ok());
        numbers.map(Some).ok_or_else(|| unusable(place, value, "three numbers"))
    }
}

fn unusable(place: &str, value: &Value, wanted: &str) -> Error {
    let message = format!("{place} of the model's processor is {value}, not {wanted}");
    Error::new(ErrorKind::Model, message)
}
