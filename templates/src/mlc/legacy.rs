//! The fields of `conv_config`, which MLC used up to May 2024, and their checks.

use alloquy_core::tokenizer::TokenId;
use alloquy_core::{Error, ErrorKind, Result};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

use super::fields::remove_unknown;
use super::front::Front;
use super::warning::Warning;

/// The name of the object, for messages.
const OBJECT: &str = "conv_config";

/// All fields.
pub(super) const FIELDS: [&str; 13] = [
    "name",
    "system",
    "roles",
    "messages",
    "offset",
    "separator_style",
    "seps",
    "role_msg_sep",
    "role_empty_sep",
    "stop_str",
    "stop_tokens",
    "prefix_tokens",
    "add_bos",
];

/// The fields of `conv_config`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct ConvConfig {
    pub(super) name: String,
    pub(super) system: String,
    /// The user's name and the assistant's.
    pub(super) roles: [String; 2],
    /// Messages at the start of every conversation: the name that is printed, and the text.
    pub(super) messages: Vec<(String, String)>,
    /// How many of `messages` a conversation starts with: MLC starts it with a reset that keeps this many.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) offset: Option<usize>,
    pub(super) separator_style: Style,
    pub(super) seps: Vec<String>,
    pub(super) role_msg_sep: String,
    pub(super) role_empty_sep: String,
    pub(super) stop_str: String,
    pub(super) stop_tokens: Vec<TokenId>,
    pub(super) prefix_tokens: Vec<TokenId>,
    pub(super) add_bos: bool,
}

impl Default for ConvConfig {
    fn default() -> Self {
        Self {
            name: String::new(),
            system: String::new(),
            roles: ["USER".to_owned(), "ASSISTANT".to_owned()],
            messages: Vec::new(),
            offset: None,
            separator_style: Style::Roles,
            seps: vec!["\n".to_owned()],
            role_msg_sep: ": ".to_owned(),
            role_empty_sep: ":".to_owned(),
            stop_str: String::new(),
            stop_tokens: Vec::new(),
            prefix_tokens: Vec::new(),
            add_bos: false,
        }
    }
}

impl ConvConfig {
    /// Reads the object.
    pub(super) fn read(mut fields: Map<String, Value>) -> Result<(Self, Vec<Warning>)> {
        let mut warnings = remove_unknown(OBJECT, &mut fields, &FIELDS);
        let config: Self = serde_json::from_value(Value::Object(fields))
            .map_err(|error| Error::new(ErrorKind::Template, format!("{OBJECT} cannot be read: {error}")))?;
        let config = config.validated()?;
        warnings.extend(config.traps());
        Ok((config, warnings))
    }

    fn validated(self) -> Result<Self> {
        if !matches!(self.seps.len(), 1 | 2) {
            let message = format!("seps {:?} holds neither one nor two separators", self.seps);
            return Err(Error::new(ErrorKind::Template, message));
        }
        if let Some(offset) = self.offset.filter(|offset| *offset > self.messages.len()) {
            let message = format!("offset {offset} is beyond the {} messages", self.messages.len());
            return Err(Error::new(ErrorKind::Template, message));
        }
        Ok(self)
    }

    /// Returns warnings about values that are valid but seldom intended.
    fn traps(&self) -> Vec<Warning> {
        let mut warnings = Vec::new();
        let [_, assistant] = &self.roles;
        let header = format!("{assistant}{}", self.role_empty_sep);
        if self.separator_style == Style::Roles && header.ends_with(' ') {
            warnings.push(Warning::TrailingSpace { header });
        }
        for (position, (name, _)) in self.messages.iter().enumerate() {
            if !self.roles.contains(name) {
                warnings.push(Warning::UnknownSpeaker { position, name: name.clone() });
            }
        }
        warnings
    }

    /// Returns the object that reads as this one.
    pub(super) fn to_json(&self) -> Map<String, Value> {
        // Texts, numbers and lists of them always have a JSON form.
        match serde_json::to_value(self) {
            Ok(Value::Object(fields)) => fields,
            _ => Map::new(),
        }
    }

    /// Returns this object with the fields of `changes`.
    pub(super) fn merged(&self, changes: Map<String, Value>) -> Map<String, Value> {
        let mut fields = self.to_json();
        // The offset counts the old messages.
        if changes.contains_key("messages") {
            fields.shift_remove("offset");
        }
        fields.extend(changes);
        fields
    }

    pub(super) fn front(&self) -> Front {
        Front { tokens: self.prefix_tokens.clone(), add_bos: self.add_bos, ..Front::default() }
    }

    pub(super) fn stop_strings(&self) -> Vec<String> {
        if self.stop_str.is_empty() { Vec::new() } else { vec![self.stop_str.clone()] }
    }

    /// Returns the separator after the message at `position`, which counts earlier messages.
    pub(super) fn separator(&self, position: usize) -> &str {
        self.seps.get(position % self.seps.len().max(1)).map_or("", String::as_str)
    }
}

/// How messages are printed, by MLC's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style {
    /// 0: with names and separators.
    Roles,
    /// 1 or 2: the user's last text only. The meaning of 1 changed in August 2023, but both print the same.
    Plain(u8),
}

impl Serialize for Style {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u8(match self {
            Style::Roles => 0,
            Style::Plain(number) => *number,
        })
    }
}

impl<'de> Deserialize<'de> for Style {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match u8::deserialize(deserializer)? {
            0 => Ok(Style::Roles),
            number @ 1..=2 => Ok(Style::Plain(number)),
            number => {
                Err(serde::de::Error::custom(format!("unknown separator_style {number}, one of: 0, 1, 2")))
            }
        }
    }
}
