//! A model's description files as JSON, and facts looked up in them in order. Knows no meaning of a fact.

use std::collections::BTreeMap;

use alloquy_core::{Error, Result};
use serde_json::Value;

use crate::error::model;

/// The description files that are read, where they exist.
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

/// The folder of templates beside the one that is used unless a caller names another.
pub(crate) const MORE_TEMPLATES: &str = "additional_chat_templates";

/// Where a fact may be: a file, and a JSON pointer into it.
pub type FactPlace = (&'static str, &'static str);

/// A model's description files, parsed.
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
    /// Parses every file that is JSON; `files` are texts by name.
    ///
    /// # Errors
    /// [`ErrorKind::Model`](alloquy_core::ErrorKind::Model) for a file that is not what its name says.
    pub fn read(files: &BTreeMap<String, String>) -> Result<Self> {
        let json = files.iter().filter(|(name, _)| name.ends_with(".json"));
        let parse = |(name, text): (&String, &String)| match serde_json::from_str(text) {
            Ok(value) => Ok((name.clone(), value)),
            Err(source) => Err(model(format!("{name} is not valid JSON")).with_source(source)),
        };
        Ok(Self { files: json.map(parse).collect::<Result<_>>()? })
    }

    /// Returns whether there is such a file.
    #[must_use]
    pub fn has(&self, file: &str) -> bool {
        self.files.contains_key(file)
    }

    /// Returns what is at a place; `null` is nothing.
    #[must_use]
    pub fn at(&self, (file, pointer): FactPlace) -> Option<&Value> {
        self.pointer(file, pointer)
    }

    /// Returns what is at a place that is put together at run time.
    #[must_use]
    pub fn pointer(&self, file: &str, pointer: &str) -> Option<&Value> {
        self.files.get(file)?.pointer(pointer).filter(|value| !value.is_null())
    }

    /// Returns the first text among `places`.
    #[must_use]
    pub fn text(&self, places: &[FactPlace]) -> Option<&str> {
        places.iter().find_map(|&place| self.at(place)?.as_str())
    }

    /// Returns the first number among `places` that is a size.
    #[must_use]
    pub fn size(&self, places: &[FactPlace]) -> Option<usize> {
        let size = |&place: &FactPlace| usize::try_from(self.at(place)?.as_u64()?).ok();
        places.iter().find_map(size).filter(|&size| size > 0)
    }
}

/// Returns the error for a fact that is at none of `places`.
#[must_use]
pub fn missing_fact(fact: &str, places: &[FactPlace]) -> Error {
    let places: Vec<_> = places.iter().map(|(file, pointer)| format!("{file} {pointer}")).collect();
    model(format!("the model says nowhere what its {fact} is; looked at {}", places.join(", ")))
}
