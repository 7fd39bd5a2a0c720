//! A part as a message holds it: what it is, and whatever else came with it. Knows no dialect.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use super::Part;

/// A part of a message, with the fields that came with it and that Alloquy does not know.
///
/// `extra` keeps such fields in order: `cache_control`, `thoughtSignature`, the `detail` of an image. What a dialect
/// has inside an object of its own stands under that object's name there: `{"image_url": {"detail": "low"}}`.
/// The crate `alloquy-formats` reads and writes them; what a chat template sees of them is the processor's affair.
///
/// Serialised as the part with one key more, `extra`, where there is something in it.
///
/// ```
/// use alloquy_core::{MessagePart, Part};
/// use serde_json::json;
///
/// let part = MessagePart::from(Part::Text("Hello".into())).with_field("cache_control", json!({"type": "ephemeral"}));
/// let stored = serde_json::to_string(&part)?;
/// assert_eq!(stored, r#"{"text":"Hello","extra":{"cache_control":{"type":"ephemeral"}}}"#);
/// assert_eq!(serde_json::from_str::<MessagePart>(&stored)?, part);
/// assert_eq!(serde_json::from_str::<MessagePart>(r#"{"text":"Hello"}"#)?, Part::Text("Hello".into()));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MessagePart {
    /// What it is.
    #[serde(flatten)]
    pub content: Part,
    /// Unknown fields, in order.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub extra: Map<String, Value>,
}

impl MessagePart {
    /// Returns the text of a text part.
    pub fn as_text(&self) -> Option<&str> {
        self.content.as_text()
    }

    /// Sets an unknown field.
    #[must_use]
    pub fn with_field(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.extra.insert(name.into(), value.into());
        self
    }
}

impl From<Part> for MessagePart {
    fn from(content: Part) -> Self {
        Self { content, extra: Map::new() }
    }
}

impl PartialEq<Part> for MessagePart {
    /// A part with further fields is no part without.
    fn eq(&self, other: &Part) -> bool {
        self.extra.is_empty() && self.content == *other
    }
}

impl PartialEq<MessagePart> for Part {
    fn eq(&self, other: &MessagePart) -> bool {
        other == self
    }
}

impl<'de> Deserialize<'de> for MessagePart {
    /// Derived, a key that is neither the part nor `extra` would be dropped without a word.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut fields = Map::deserialize(deserializer)?;
        let extra = fields.shift_remove("extra").map(Map::deserialize).transpose();
        let content = Part::deserialize(Value::Object(fields));
        let extra = extra.map_err(serde::de::Error::custom)?.unwrap_or_default();
        Ok(Self { content: content.map_err(serde::de::Error::custom)?, extra })
    }
}
