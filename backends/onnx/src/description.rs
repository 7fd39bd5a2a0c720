//! A model's description files as JSON, and facts looked up in them in order. Knows no meaning of a fact.

use std::collections::BTreeMap;

use alloquy_core::{Error, Result};
use serde_json::Value;

use crate::error::model;

/// Where a fact may stand: a file, and a JSON pointer into it.
pub(crate) type Place = (&'static str, &'static str);

/// The parsed description files.
#[derive(Debug, Default)]
pub(crate) struct Description {
    files: BTreeMap<String, Value>,
}

impl Description {
    /// Parses every file that is JSON.
    pub(crate) fn read(files: &BTreeMap<String, String>) -> Result<Self> {
        let json = files.iter().filter(|(name, _)| name.ends_with(".json"));
        let parse = |(name, text): (&String, &String)| match serde_json::from_str(text) {
            Ok(value) => Ok((name.clone(), value)),
            Err(source) => Err(model(format!("{name} is not valid JSON")).with_source(source)),
        };
        Ok(Self { files: json.map(parse).collect::<Result<_>>()? })
    }

    /// Says whether there is such a file.
    pub(crate) fn has(&self, file: &str) -> bool {
        self.files.contains_key(file)
    }

    /// Returns what stands at a place; `null` is nothing.
    pub(crate) fn at(&self, (file, pointer): Place) -> Option<&Value> {
        self.pointer(file, pointer)
    }

    /// Returns what stands at a place that is put together at run time.
    pub(crate) fn pointer(&self, file: &str, pointer: &str) -> Option<&Value> {
        self.files.get(file)?.pointer(pointer).filter(|value| !value.is_null())
    }

    /// Returns the first text among `places`.
    pub(crate) fn text(&self, places: &[Place]) -> Option<&str> {
        places.iter().find_map(|&place| self.at(place)?.as_str())
    }

    /// Returns the first number among `places` that is a size.
    pub(crate) fn size(&self, places: &[Place]) -> Option<usize> {
        let size = |&place: &Place| usize::try_from(self.at(place)?.as_u64()?).ok();
        places.iter().find_map(size).filter(|&size| size > 0)
    }
}

/// Says of a fact that stands nowhere where it was looked for.
pub(crate) fn nowhere(fact: &str, places: &[Place]) -> Error {
    let places: Vec<_> = places.iter().map(|(file, pointer)| format!("{file} {pointer}")).collect();
    model(format!("the model says nowhere what its {fact} is; looked at {}", places.join(", ")))
}
