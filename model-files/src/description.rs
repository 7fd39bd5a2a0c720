//! Parses a model's description files, and looks facts up in them.

use std::collections::BTreeMap;

use alloquy_core::{Error, Result};
use serde_json::Value;

use crate::error::model;

/// The description files that are read if they exist.
pub(crate) const DESCRIPTIONS: &[&str] = &[
    "config.json",
    "generation_config.json",
    "genai_config.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "chat_template.jinja",
    "chat_template.json",
    "processor_config.json",
    "preprocessor_config.json",
    "video_preprocessor_config.json",
    "mlc-chat-config.json",
];

/// The folder of further templates. A model's main template is used unless a caller names one of these.
pub(crate) const MORE_TEMPLATES: &str = "additional_chat_templates";

/// Where a fact may be: a file and a JSON pointer into it, such as `("config.json", "/hidden_size")`.
///
/// [`missing_fact`] has an example.
pub type FactPlace = (&'static str, &'static str);

/// The description files of a model, parsed.
///
/// Models keep the same fact in different places, so facts are looked up in a list of places, in order.
///
/// ```
/// use std::collections::BTreeMap;
///
/// use alloquy_model_files::Description;
///
/// let files = BTreeMap::from([("config.json".to_owned(), r#"{"hidden_size": 64}"#.to_owned())]);
/// let description = Description::read(&files)?;
/// assert_eq!(description.size(&[("config.json", "/n_embd"), ("config.json", "/hidden_size")]), Some(64));
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Debug, Default)]
pub struct Description {
    files: BTreeMap<String, Value>,
}

impl Description {
    /// Parses the files whose names end in `.json`. The keys of `files` are names, the values are texts.
    ///
    /// # Errors
    /// [`ErrorKind::Model`](alloquy_core::ErrorKind::Model) for a file that is not valid JSON.
    pub fn read(files: &BTreeMap<String, String>) -> Result<Self> {
        let mut parsed = BTreeMap::new();
        for (name, text) in files.iter().filter(|(name, _)| name.ends_with(".json")) {
            let value = serde_json::from_str(text)
                .map_err(|source| model(format!("{name} is not valid JSON")).with_source(source))?;
            parsed.insert(name.clone(), value);
        }
        Ok(Self { files: parsed })
    }

    /// Returns whether the model has this file.
    #[must_use]
    pub fn has(&self, file: &str) -> bool {
        self.files.contains_key(file)
    }

    /// Returns the value at a place; `None` if there is none, or `null`.
    #[must_use]
    pub fn at(&self, (file, pointer): FactPlace) -> Option<&Value> {
        self.pointer(file, pointer)
    }

    /// Returns the value at a place whose names are known only at run time, as [`Description::at`].
    #[must_use]
    pub fn pointer(&self, file: &str, pointer: &str) -> Option<&Value> {
        self.files.get(file)?.pointer(pointer).filter(|value| !value.is_null())
    }

    /// Returns the first text among `places`.
    #[must_use]
    pub fn text(&self, places: &[FactPlace]) -> Option<&str> {
        places.iter().find_map(|&place| self.at(place)?.as_str())
    }

    /// Returns the first whole number among `places`; `None` if it is zero.
    #[must_use]
    pub fn size(&self, places: &[FactPlace]) -> Option<usize> {
        let size = places.iter().find_map(|&place| usize::try_from(self.at(place)?.as_u64()?).ok())?;
        (size > 0).then_some(size)
    }
}

/// Returns the error for a fact that is missing from all `places`.
///
/// ```
/// use alloquy_model_files::{FactPlace, missing_fact};
///
/// const LAYERS: &[FactPlace] = &[("config.json", "/n_layer"), ("config.json", "/num_layers")];
/// let error = missing_fact("number of layers", LAYERS);
/// assert!(error.to_string().ends_with("looked at config.json /n_layer, config.json /num_layers"));
/// ```
#[must_use]
pub fn missing_fact(fact: &str, places: &[FactPlace]) -> Error {
    let places: Vec<_> = places.iter().map(|(file, pointer)| format!("{file} {pointer}")).collect();
    model(format!("the model says nowhere what its {fact} is; looked at {}", places.join(", ")))
}
