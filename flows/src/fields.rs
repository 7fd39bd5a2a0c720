//! The fields of an object that is read: each is taken once, and those that are left are unknown.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::problem::Problems;
use crate::yaml::{Content, Located};

/// The fields of an object, and those that were read.
pub(crate) struct Fields<'a> {
    place: String,
    entries: &'a [(String, Located)],
    known: BTreeSet<&'static str>,
}

impl<'a> Fields<'a> {
    /// Reads an object. Another value is a problem.
    pub(crate) fn of(located: &'a Located, place: &str, problems: &mut Problems) -> Option<Self> {
        problems.at(place, located.spot);
        let Content::Fields(entries) = &located.content else {
            problems.add(place, format!("it is {}, expected an object", located.value()));
            return None;
        };
        let fields = Self { place: place.to_owned(), entries, known: BTreeSet::new() };
        for (name, field) in entries {
            problems.at(&fields.inner(name), field.spot);
        }
        Some(fields)
    }

    pub(crate) fn place(&self) -> &str {
        &self.place
    }

    fn inner(&self, name: &str) -> String {
        if self.place.is_empty() { name.to_owned() } else { format!("{}.{name}", self.place) }
    }

    /// Finds a field, and returns it with its place.
    pub(crate) fn take(&mut self, name: &'static str) -> Option<(String, &'a Located)> {
        self.known.insert(name);
        let (_, located) = self.entries.iter().find(|(known, _)| known == name)?;
        Some((self.inner(name), located))
    }

    /// Returns whether there is a field.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.entries.iter().any(|(known, _)| known == name)
    }

    /// Reads a text.
    pub(crate) fn text(&mut self, name: &'static str, problems: &mut Problems) -> Option<String> {
        let (place, located) = self.take(name)?;
        problems.at(&place, located.spot);
        match located.value() {
            Value::String(text) => Some(text),
            other => {
                problems.add(&place, format!("it is {other}, expected a text"));
                None
            }
        }
    }

    /// Reads a number of things.
    pub(crate) fn count(&mut self, name: &'static str, problems: &mut Problems) -> Option<usize> {
        let (place, located) = self.take(name)?;
        problems.at(&place, located.spot);
        let value = located.value();
        let count = value.as_u64().and_then(|count| usize::try_from(count).ok());
        if count.is_none() {
            problems.add(&place, format!("it is {value}, expected a whole number of at least 0"));
        }
        count
    }

    /// Reads true or false; absent is false.
    pub(crate) fn flag(&mut self, name: &'static str, problems: &mut Problems) -> bool {
        let Some((place, located)) = self.take(name) else { return false };
        problems.at(&place, located.spot);
        let value = located.value();
        if !value.is_boolean() {
            problems.add(&place, format!("it is {value}, expected true or false"));
        }
        value == true
    }

    /// Reads a list of texts; a text alone is a list of one.
    pub(crate) fn texts(&mut self, name: &'static str, problems: &mut Problems) -> Option<Vec<String>> {
        let (place, located) = self.take(name)?;
        Some(texts(located, &place, problems))
    }

    /// Reads any value.
    pub(crate) fn value(&mut self, name: &'static str) -> Option<Value> {
        self.take(name).map(|(_, located)| located.value())
    }

    /// Notes the fields that were not read.
    pub(crate) fn finish(self, problems: &mut Problems) {
        for (name, located) in self.entries {
            if !self.known.contains(name.as_str()) {
                let known: Vec<_> = self.known.iter().copied().collect();
                let place = self.inner(name);
                problems.at(&place, located.spot);
                problems.add(
                    &place,
                    format!("there is no field {name:?} here; the fields are: {}", known.join(", ")),
                );
            }
        }
    }
}

/// Reads a list of texts; a text alone is a list of one.
pub(crate) fn texts(located: &Located, place: &str, problems: &mut Problems) -> Vec<String> {
    problems.at(place, located.spot);
    let items = match &located.content {
        Content::List(items) => items.as_slice(),
        _ => std::slice::from_ref(located),
    };
    let mut texts = Vec::new();
    for item in items {
        match item.value() {
            Value::String(text) => texts.push(text),
            other => problems.add(place, format!("it has {other}, expected a text")),
        }
    }
    texts
}

/// Reads a map of values.
pub(crate) fn map_of(value: Option<(String, &Located)>, problems: &mut Problems) -> Map<String, Value> {
    match value.map(|(place, located)| (place, located.value())) {
        None | Some((_, Value::Null)) => Map::new(),
        Some((_, Value::Object(fields))) => fields,
        Some((place, other)) => {
            problems.add(&place, format!("it is {other}, expected an object of names and values"));
            Map::new()
        }
    }
}
