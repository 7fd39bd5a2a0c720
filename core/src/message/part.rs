//! A part of a message: its content, its source, and the unknown fields that it came with.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use super::{Content, Source};

/// A part of a message: its content, its source, and the fields that Alloquy does not know.
///
/// `extra` keeps unknown fields in order: `cache_control`, `thoughtSignature`, the `detail` of an image. A field of an
/// inner object is kept under that object's name: `{"image_url": {"detail": "low"}}`. The crate `alloquy-formats` reads
/// and writes these fields, and the processor decides which of them a chat template sees.
///
/// It is serialised as its content, with the keys `source` and `extra` if they are not empty.
///
/// ```
/// use alloquy_core::{Content, Part};
/// use serde_json::json;
///
/// let part = Part::from(Content::Text("Hello".into())).with_field("cache_control", json!({"type": "ephemeral"}));
/// let stored = serde_json::to_string(&part)?;
/// assert_eq!(stored, r#"{"text":"Hello","extra":{"cache_control":{"type":"ephemeral"}}}"#);
/// assert_eq!(serde_json::from_str::<Part>(&stored)?, part);
/// assert_eq!(serde_json::from_str::<Part>(r#"{"text":"Hello"}"#)?, Content::Text("Hello".into()));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Part {
    /// What it is.
    #[serde(flatten)]
    pub content: Content,
    /// Where its text comes from; `None` for text of the message's author.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<Source>,
    /// Unknown fields, in order.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub extra: Map<String, Value>,
}

impl Part {
    /// Returns the text of a text part.
    pub fn as_text(&self) -> Option<&str> {
        self.content.as_text()
    }

    /// Sets where the text comes from.
    #[must_use]
    pub fn from_source(mut self, source: Source) -> Self {
        self.source = Some(source);
        self
    }

    /// Sets an unknown field.
    #[must_use]
    pub fn with_field(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.extra.insert(name.into(), value.into());
        self
    }
}

impl From<Content> for Part {
    fn from(content: Content) -> Self {
        Self { content, source: None, extra: Map::new() }
    }
}

impl PartialEq<Content> for Part {
    /// A part with a source or unknown fields equals no content.
    fn eq(&self, other: &Content) -> bool {
        self.source.is_none() && self.extra.is_empty() && self.content == *other
    }
}

impl PartialEq<Part> for Content {
    fn eq(&self, other: &Part) -> bool {
        other == self
    }
}

impl<'de> Deserialize<'de> for Part {
    /// It is not derived, because a derived implementation would silently drop unknown keys.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut fields = Map::deserialize(deserializer)?;
        let extra = fields.shift_remove("extra").map(Map::deserialize).transpose();
        let source = fields.shift_remove("source").map(Source::deserialize).transpose();
        let content = Content::deserialize(Value::Object(fields));
        let extra = extra.map_err(serde::de::Error::custom)?.unwrap_or_default();
        let source = source.map_err(serde::de::Error::custom)?;
        Ok(Self { content: content.map_err(serde::de::Error::custom)?, source, extra })
    }
}
