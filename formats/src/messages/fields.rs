//! The fields of a JSON object, taken one by one, so that none is overlooked. Knows no dialect.

use alloquy_core::Result;
use serde_json::{Map, Value};

use super::place::Place;

/// An object that is being read. A known field that is `null` counts as absent.
pub(super) struct Fields<'a> {
    map: &'a Map<String, Value>,
    place: &'a Place<'a>,
    taken: Vec<&'static str>,
}

impl<'a> Fields<'a> {
    pub(super) fn of(value: &'a Value, place: &'a Place<'a>) -> Result<Self> {
        let map = value.as_object().ok_or_else(|| place.expected("an object", value))?;
        Ok(Self { map, place, taken: Vec::new() })
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.map.contains_key(name)
    }

    pub(super) fn take(&mut self, name: &'static str) -> Option<&'a Value> {
        self.taken.push(name);
        self.map.get(name).filter(|value| !value.is_null())
    }

    /// Takes a field that has one of several spellings; two spellings in one object are an error.
    pub(super) fn take_any(&mut self, names: &[&'static str]) -> Result<Option<(&'static str, &'a Value)>> {
        let mut found = None;
        for name in names {
            let Some(value) = self.take(name) else { continue };
            if let Some((first, _)) = found.replace((*name, value)) {
                return Err(self.place.invalid(format_args!("{first:?} and {name:?} say the same thing")));
            }
        }
        Ok(found)
    }

    pub(super) fn need(&mut self, name: &'static str) -> Result<&'a Value> {
        self.take(name).ok_or_else(|| self.place.invalid(format_args!("lacks the field {name:?}")))
    }

    pub(super) fn take_str(&mut self, name: &'static str) -> Result<Option<&'a str>> {
        self.take(name).map(|value| string(value, &self.place.field(name))).transpose()
    }

    pub(super) fn need_str(&mut self, name: &'static str) -> Result<&'a str> {
        string(self.need(name)?, &self.place.field(name))
    }

    /// Takes a flag; absent means no.
    pub(super) fn take_flag(&mut self, name: &'static str) -> Result<bool> {
        let Some(value) = self.take(name) else { return Ok(false) };
        value.as_bool().ok_or_else(|| self.place.field(name).expected("a boolean", value))
    }

    /// Returns the fields that were not taken, in order.
    pub(super) fn rest(self) -> Map<String, Value> {
        let unknown = self.map.iter().filter(|(name, _)| !self.taken.contains(&name.as_str()));
        unknown.map(|(name, value)| (name.clone(), value.clone())).collect()
    }

    /// Refuses fields that were not taken, where an unknown field has no place.
    pub(super) fn finish(self) -> Result<()> {
        match self.map.keys().find(|name| !self.taken.contains(&name.as_str())) {
            Some(name) => Err(self.place.field(name).unsupported("a transcript has no place for this field")),
            None => Ok(()),
        }
    }
}

pub(super) fn string<'a>(value: &'a Value, place: &Place<'_>) -> Result<&'a str> {
    value.as_str().ok_or_else(|| place.expected("a string", value))
}

pub(super) fn list<'a>(value: &'a Value, place: &Place<'_>) -> Result<&'a [Value]> {
    value.as_array().map(Vec::as_slice).ok_or_else(|| place.expected("a list", value))
}

/// Adds `extra` after the fields that a dialect has itself; `known` are the names that it reads for itself.
pub(super) fn append(
    object: &mut Map<String, Value>,
    extra: &Map<String, Value>,
    known: &[&str],
    place: &Place<'_>,
) -> Result<()> {
    for (name, value) in extra {
        if known.contains(&name.as_str()) {
            let sentence = "an extra field has the name of one that the dialect has itself";
            return Err(place.field(name).unsupported(sentence));
        }
        object.insert(name.clone(), value.clone());
    }
    Ok(())
}
