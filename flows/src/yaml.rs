//! YAML and JSON as a tree whose values know their lines and columns.

use std::fmt;

use alloquy_core::{Error, ErrorKind, Result};
use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};
use serde_saphyr::Spanned;

/// A place in a file: its line and its column, both from 1; 0 if there is no file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Spot {
    pub(crate) line: usize,
    pub(crate) column: usize,
}

impl Spot {
    fn of(location: serde_saphyr::Location) -> Self {
        Self {
            line: usize::try_from(location.line()).unwrap_or_default(),
            column: usize::try_from(location.column()).unwrap_or_default(),
        }
    }
}

/// A value and where it is.
#[derive(Clone, Debug)]
pub(crate) struct Located {
    pub(crate) spot: Spot,
    pub(crate) content: Content,
}

/// What a value is.
#[derive(Clone, Debug)]
pub(crate) enum Content {
    Scalar(Value),
    List(Vec<Located>),
    Fields(Vec<(String, Located)>),
}

impl Located {
    /// Reads YAML or JSON.
    pub(crate) fn read(text: &str) -> Result<Self> {
        serde_saphyr::from_str(text).map_err(|error| {
            let line = error.location().map(|location| location.line());
            let shown = error.without_snippet().to_string();
            let shown = shown.lines().next().unwrap_or_default();
            let message = match line {
                Some(line) => format!("line {line} of the flow is no YAML: {shown}"),
                None => format!("the flow is no YAML: {shown}"),
            };
            Error::new(ErrorKind::Invalid, message)
        })
    }

    /// Returns the value without lines.
    pub(crate) fn value(&self) -> Value {
        match &self.content {
            Content::Scalar(value) => value.clone(),
            Content::List(items) => Value::Array(items.iter().map(Self::value).collect()),
            Content::Fields(fields) => {
                let mut map = Map::new();
                for (name, field) in fields {
                    map.insert(name.clone(), field.value());
                }
                Value::Object(map)
            }
        }
    }
}

impl<'de> Deserialize<'de> for Located {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        let spanned = Spanned::<Content>::deserialize(deserializer)?;
        Ok(Self { spot: Spot::of(spanned.referenced), content: spanned.value })
    }
}

impl<'de> Deserialize<'de> for Content {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        deserializer.deserialize_any(ContentVisitor)
    }
}

struct ContentVisitor;

impl<'de> Visitor<'de> for ContentVisitor {
    type Value = Content;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a value")
    }

    fn visit_bool<E>(self, value: bool) -> std::result::Result<Content, E> {
        Ok(Content::Scalar(value.into()))
    }

    fn visit_i64<E>(self, value: i64) -> std::result::Result<Content, E> {
        Ok(Content::Scalar(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> std::result::Result<Content, E> {
        Ok(Content::Scalar(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> std::result::Result<Content, E> {
        Ok(Content::Scalar(value.into()))
    }

    fn visit_str<E>(self, value: &str) -> std::result::Result<Content, E> {
        Ok(Content::Scalar(value.into()))
    }

    fn visit_unit<E>(self) -> std::result::Result<Content, E> {
        Ok(Content::Scalar(Value::Null))
    }

    fn visit_none<E>(self) -> std::result::Result<Content, E> {
        Ok(Content::Scalar(Value::Null))
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> std::result::Result<Content, D::Error> {
        Content::deserialize(deserializer)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> std::result::Result<Content, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element::<Located>()? {
            list.push(item);
        }
        Ok(Content::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> std::result::Result<Content, A::Error> {
        let mut fields = Vec::new();
        while let Some(name) = entries.next_key::<Spanned<String>>()? {
            let mut value = entries.next_value::<Located>()?;
            // A value is where its name is, not where its first field is.
            let spot = Spot::of(name.referenced);
            if spot.line > 0 {
                value.spot = spot;
            }
            fields.push((name.value, value));
        }
        Ok(Content::Fields(fields))
    }
}
