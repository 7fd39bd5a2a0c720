//! The fields of `conv_config`, as MLC had them up to May 2024.

use alloquy_core::tokenizer::TokenId;
use alloquy_core::{Error, ErrorKind, Result};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

use super::fields::remove_unknown;
use super::front::Front;
use super::warning::Warning;

/// What the object is called, for messages.
const OBJECT: &str = "conv_config";

/// Every field.
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
    /// Messages that stand before every conversation: the name as it is printed, and the text.
    pub(super) messages: Vec<(String, String)>,
    /// How many of `messages` a conversation begins with: MLC begins each by a reset that keeps so many.
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
        let invalid = |message| Err(Error::new(ErrorKind::Template, message));
        if !matches!(self.seps.len(), 1 | 2) {
            return invalid(format!("seps {:?} holds neither one nor two separators", self.seps));
        }
        if let Some(offset) = self.offset.filter(|offset| *offset > self.messages.len()) {
            return invalid(format!("offset {offset} is beyond the {} messages", self.messages.len()));
        }
        Ok(self)
    }

    /// What is valid and yet seldom meant.
    fn traps(&self) -> Vec<Warning> {
        let [_, assistant] = &self.roles;
        let header = format!("{assistant}{}", self.role_empty_sep);
        let trailing = (self.separator_style == Style::Roles && header.ends_with(' '))
            .then_some(Warning::TrailingSpace { header });
        let speakers = self.messages.iter().enumerate().filter(|(_, (name, _))| !self.roles.contains(name));
        let unknown =
            speakers.map(|(position, (name, _))| Warning::UnknownSpeaker { position, name: name.clone() });
        trailing.into_iter().chain(unknown).collect()
    }

    /// The object that reads as this one.
    pub(super) fn to_json(&self) -> Map<String, Value> {
        // Texts, numbers and lists of them always have a JSON form.
        match serde_json::to_value(self) {
            Ok(Value::Object(fields)) => fields,
            _ => Map::new(),
        }
    }

    /// What a partial object changes in this one: the old offset counts the old messages.
    pub(super) fn merged(&self, changes: Map<String, Value>) -> Map<String, Value> {
        let mut fields = self.to_json();
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
        Some(self.stop_str.clone()).filter(|text| !text.is_empty()).into_iter().collect()
    }

    /// The separator after the message at `position`, earlier messages counted.
    pub(super) fn separator(&self, position: usize) -> &str {
        self.seps.get(position % self.seps.len().max(1)).map_or("", String::as_str)
    }
}

/// How messages become a prompt, by MLC's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style {
    /// 0: names and separators.
    Roles,
    /// 1 or 2: the user's last text alone. What 1 means changed in August 2023, but both do the same.
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
