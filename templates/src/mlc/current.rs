//! The fields of today's `conv_template` object.

use std::collections::BTreeMap;

use alloquy_core::tokenizer::TokenId;
use alloquy_core::{Error, ErrorKind, Result};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::draft::FUNCTION_PLACE;
use super::fields::remove_unknown;
use super::front::Front;
use super::warning::Warning;

/// What the object is called, for messages.
const OBJECT: &str = "conv_template";

/// Every field.
pub(super) const FIELDS: [&str; 16] = [
    "name",
    "system_template",
    "system_message",
    "system_prefix_token_ids",
    "add_role_after_system_message",
    "roles",
    "role_templates",
    "messages",
    "seps",
    "role_content_sep",
    "role_empty_sep",
    "stop_str",
    "stop_token_ids",
    "strip_reasoning_in_history",
    "function_string",
    "use_function_calling",
];

/// Where the system text stands in its template.
pub(super) const SYSTEM_PLACE: &str = "{system_message}";

/// The roles that have a template of their own, and where their text stands in it.
const ROLE_PLACES: [(&str, &str); 3] =
    [("user", "{user_message}"), ("assistant", "{assistant_message}"), ("tool", "{tool_message}")];

/// The fields of today's `conv_template`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ConvTemplate {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) name: Option<String>,
    #[serde(default = "system_place")]
    pub(super) system_template: String,
    #[serde(default)]
    pub(super) system_message: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) system_prefix_token_ids: Option<Vec<TokenId>>,
    /// Whether the first message has its role's header even behind a system text.
    #[serde(default = "yes")]
    pub(super) add_role_after_system_message: bool,
    /// What is printed for each role.
    pub(super) roles: BTreeMap<String, String>,
    /// What is printed around each role's text.
    #[serde(default)]
    pub(super) role_templates: BTreeMap<String, String>,
    /// Messages that stand before every conversation.
    #[serde(default)]
    pub(super) messages: Vec<(String, Content)>,
    /// After any message; with two, the second after the assistant's.
    pub(super) seps: Vec<String>,
    #[serde(default)]
    pub(super) role_content_sep: String,
    #[serde(default)]
    pub(super) role_empty_sep: String,
    #[serde(default)]
    pub(super) stop_str: Vec<String>,
    #[serde(default)]
    pub(super) stop_token_ids: Vec<TokenId>,
    #[serde(default)]
    pub(super) strip_reasoning_in_history: bool,
    /// What stands for tools in a conversation without any.
    #[serde(default)]
    pub(super) function_string: String,
    /// MLC's engine sets this when a conversation has tools; nothing is rendered by it.
    #[serde(default)]
    pub(super) use_function_calling: bool,
}

/// What a message says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged, expecting = "a text, null or a list of parts of type \"text\" was expected")]
pub(super) enum Content {
    /// Nothing yet: only the header is printed.
    Absent(()),
    Text(String),
    /// Several texts, each wrapped on its own.
    Parts(Vec<TextPart>),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct TextPart {
    #[serde(rename = "type")]
    pub(super) kind: TextKind,
    pub(super) text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum TextKind {
    Text,
}

fn system_place() -> String {
    SYSTEM_PLACE.to_owned()
}

fn yes() -> bool {
    true
}

impl ConvTemplate {
    /// Reads the object.
    pub(super) fn read(mut fields: Map<String, Value>) -> Result<(Self, Vec<Warning>)> {
        let mut warnings = remove_unknown(OBJECT, &mut fields, &FIELDS);
        let mut template: Self = serde_json::from_value(Value::Object(fields))
            .map_err(|error| Error::new(ErrorKind::Template, format!("{OBJECT} cannot be read: {error}")))?;
        for (role, place) in ROLE_PLACES {
            template.role_templates.entry(role.to_owned()).or_insert_with(|| place.to_owned());
        }
        template.validate()?;
        warnings.extend(template.traps());
        Ok((template, warnings))
    }

    fn validate(&self) -> Result<()> {
        let invalid = |message| Err(Error::new(ErrorKind::Template, message));
        if !matches!(self.seps.len(), 1 | 2) {
            return invalid(format!("seps {:?} holds neither one nor two separators", self.seps));
        }
        let roles =
            ["user", "assistant"].into_iter().chain(self.messages.iter().map(|(role, _)| role.as_str()));
        for role in roles {
            if !self.can_say(role) {
                return invalid(format!("roles has no {role:?}, only: {}", self.role_names()));
            }
        }
        Ok(())
    }

    /// What is valid and yet seldom meant.
    fn traps(&self) -> Vec<Warning> {
        let header = self.roles.get("assistant").map(|role| format!("{role}{}", self.role_empty_sep));
        let trailing = header.filter(|header| header.ends_with(' '));
        let mut warnings: Vec<_> =
            trailing.into_iter().map(|header| Warning::TrailingSpace { header }).collect();
        let role_templates = ROLE_PLACES.into_iter().filter(|(role, _)| self.roles.contains_key(*role));
        let role_templates = role_templates
            .map(|(role, place)| (format!("role_templates.{role}"), place, self.role_template(role)));
        let system = ("system_template".to_owned(), SYSTEM_PLACE, self.system_template.as_str());
        let message = ("system_message".to_owned(), "", self.system_message.as_str());
        for (field, place, text) in std::iter::once(system).chain(role_templates).chain([message]) {
            if !text.contains(place) {
                let (field, placeholder) = (field.clone(), place.to_owned());
                warnings.push(Warning::MissingPlaceholder { field, placeholder });
            }
            let unknown = placeholders(text).filter(|found| ![place, FUNCTION_PLACE].contains(found));
            warnings.extend(unknown.map(|found| Warning::UnknownPlaceholder {
                field: field.clone(),
                placeholder: found.to_owned(),
            }));
        }
        warnings
    }

    /// The object that reads as this one.
    pub(super) fn to_json(&self) -> Map<String, Value> {
        // Texts, numbers and lists of them always have a JSON form.
        match serde_json::to_value(self) {
            Ok(Value::Object(fields)) => fields,
            _ => Map::new(),
        }
    }

    pub(super) fn merged(&self, changes: Map<String, Value>) -> Map<String, Value> {
        let mut fields = self.to_json();
        fields.extend(changes);
        fields
    }

    pub(super) fn front(&self) -> Front {
        Front { tokens: self.system_prefix_token_ids.clone().unwrap_or_default(), ..Front::default() }
    }

    /// Empty ones would end every reply at once.
    pub(super) fn stop_strings(&self) -> Vec<String> {
        self.stop_str.iter().filter(|text| !text.is_empty()).cloned().collect()
    }

    /// The roles there are messages of, for messages.
    pub(super) fn role_names(&self) -> String {
        self.roles
            .keys()
            .filter(|role| self.can_say(role))
            .map(|role| format!("{role:?}"))
            .collect::<Vec<_>>()
            .join(", ")
    }

    /// What is printed for `role`.
    pub(super) fn role_text(&self, role: &str) -> &str {
        self.roles.get(role).map_or("", String::as_str)
    }

    fn role_template(&self, role: &str) -> &str {
        self.role_templates.get(role).map_or("", String::as_str)
    }

    /// Whether there are messages of `role`.
    pub(super) fn can_say(&self, role: &str) -> bool {
        self.roles.contains_key(role) && place_of(role).is_some()
    }

    /// The two halves around a role's text, and so on for each place where it stands.
    pub(super) fn around(&self, role: &str) -> impl Iterator<Item = &str> {
        let template = place_of(role).map(|place| self.role_template(role).split(place));
        template.into_iter().flatten()
    }

    /// The separator after a message of `role`.
    pub(super) fn separator(&self, role: &str) -> &str {
        let after_assistant = self.seps.get(1).filter(|_| role == "assistant");
        after_assistant.or(self.seps.first()).map_or("", String::as_str)
    }
}

/// Where the text of a role stands in its template.
fn place_of(role: &str) -> Option<&'static str> {
    ROLE_PLACES.iter().find(|(known, _)| *known == role).map(|(_, place)| *place)
}

/// Whatever looks like a placeholder: small letters and underscores in braces.
fn placeholders(text: &str) -> impl Iterator<Item = &str> {
    text.match_indices('{').filter_map(|(start, _)| {
        let rest = text.get(start..)?;
        let found = rest.get(..=rest.find('}')?)?;
        let name = found.get(1..found.len() - 1)?;
        let is_name = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
        is_name.then_some(found)
    })
}
