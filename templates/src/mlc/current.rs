//! The fields of today's `conv_template` object, and their checks.

use std::collections::BTreeMap;

use alloquy_core::tokenizer::TokenId;
use alloquy_core::{Error, ErrorKind, Result};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::draft::FUNCTION_PLACE;
use super::fields::remove_unknown;
use super::front::Front;
use super::warning::Warning;

/// The name of the object, for messages.
const OBJECT: &str = "conv_template";

/// All fields.
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

/// The placeholder of the system text in its template.
pub(super) const SYSTEM_PLACE: &str = "{system_message}";

/// The roles that have a template of their own, with the placeholders of their texts.
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
    /// Whether the first message after a system text has its role's header.
    #[serde(default = "yes")]
    pub(super) add_role_after_system_message: bool,
    /// The header of each role.
    pub(super) roles: BTreeMap<String, String>,
    /// The text around each role's text.
    #[serde(default)]
    pub(super) role_templates: BTreeMap<String, String>,
    /// Messages at the start of every conversation.
    #[serde(default)]
    pub(super) messages: Vec<(String, Content)>,
    /// The separator after each message; with two, the second follows the assistant's messages.
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
    /// The text in the place of tools, for conversations without tools.
    #[serde(default)]
    pub(super) function_string: String,
    /// MLC's engine sets this when a conversation has tools. It does not change the prompt.
    #[serde(default)]
    pub(super) use_function_calling: bool,
}

/// The content of a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged, expecting = "a text, null or a list of parts of type \"text\" was expected")]
pub(super) enum Content {
    /// None yet: only the header is printed.
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
        if !matches!(self.seps.len(), 1 | 2) {
            let message = format!("seps {:?} holds neither one nor two separators", self.seps);
            return Err(Error::new(ErrorKind::Template, message));
        }
        let roles =
            ["user", "assistant"].into_iter().chain(self.messages.iter().map(|(role, _)| role.as_str()));
        for role in roles {
            if !self.can_say(role) {
                let message = format!("roles has no {role:?}, only: {}", self.role_names());
                return Err(Error::new(ErrorKind::Template, message));
            }
        }
        Ok(())
    }

    /// Returns warnings about values that are valid but seldom intended.
    fn traps(&self) -> Vec<Warning> {
        let mut warnings = Vec::new();
        if let Some(role) = self.roles.get("assistant") {
            let header = format!("{role}{}", self.role_empty_sep);
            if header.ends_with(' ') {
                warnings.push(Warning::TrailingSpace { header });
            }
        }
        warn_of_placeholders(&mut warnings, "system_template", SYSTEM_PLACE, &self.system_template);
        for (role, place) in ROLE_PLACES {
            if self.roles.contains_key(role) {
                let field = format!("role_templates.{role}");
                warn_of_placeholders(&mut warnings, &field, place, self.role_template(role));
            }
        }
        warn_of_placeholders(&mut warnings, "system_message", "", &self.system_message);
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

    pub(super) fn merged(&self, changes: Map<String, Value>) -> Map<String, Value> {
        let mut fields = self.to_json();
        fields.extend(changes);
        fields
    }

    pub(super) fn front(&self) -> Front {
        Front { tokens: self.system_prefix_token_ids.clone().unwrap_or_default(), ..Front::default() }
    }

    /// Returns the stop strings without empty ones, which would end every reply at once.
    pub(super) fn stop_strings(&self) -> Vec<String> {
        self.stop_str.iter().filter(|text| !text.is_empty()).cloned().collect()
    }

    /// Returns the roles that messages may have, for messages to the user.
    pub(super) fn role_names(&self) -> String {
        self.roles
            .keys()
            .filter(|role| self.can_say(role))
            .map(|role| format!("{role:?}"))
            .collect::<Vec<_>>()
            .join(", ")
    }

    /// Returns the header of `role`.
    pub(super) fn role_text(&self, role: &str) -> &str {
        self.roles.get(role).map_or("", String::as_str)
    }

    fn role_template(&self, role: &str) -> &str {
        self.role_templates.get(role).map_or("", String::as_str)
    }

    /// Returns whether messages may have the role `role`.
    pub(super) fn can_say(&self, role: &str) -> bool {
        self.roles.contains_key(role) && place_of(role).is_some()
    }

    /// Returns the template of a role, split at the placeholders of its text.
    pub(super) fn around(&self, role: &str) -> impl Iterator<Item = &str> {
        let template = place_of(role).map(|place| self.role_template(role).split(place));
        template.into_iter().flatten()
    }

    /// Returns the separator after a message of `role`.
    pub(super) fn separator(&self, role: &str) -> &str {
        let after_assistant = self.seps.get(1).filter(|_| role == "assistant");
        after_assistant.or(self.seps.first()).map_or("", String::as_str)
    }
}

/// Adds warnings about the placeholders of a field that should contain `place` and no unknown ones.
fn warn_of_placeholders(warnings: &mut Vec<Warning>, field: &str, place: &str, text: &str) {
    if !text.contains(place) {
        let placeholder = place.to_owned();
        warnings.push(Warning::MissingPlaceholder { field: field.to_owned(), placeholder });
    }
    for found in placeholders(text) {
        if ![place, FUNCTION_PLACE].contains(&found) {
            let placeholder = found.to_owned();
            warnings.push(Warning::UnknownPlaceholder { field: field.to_owned(), placeholder });
        }
    }
}

/// Returns the placeholder of a role's text in its template.
fn place_of(role: &str) -> Option<&'static str> {
    ROLE_PLACES.iter().find(|(known, _)| *known == role).map(|(_, place)| *place)
}

/// Returns everything that looks like a placeholder: small letters and underscores in braces.
fn placeholders(text: &str) -> impl Iterator<Item = &str> {
    text.match_indices('{').filter_map(|(start, _)| {
        let rest = text.get(start..)?;
        let found = rest.get(..=rest.find('}')?)?;
        let name = found.get(1..found.len() - 1)?;
        let is_name = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
        is_name.then_some(found)
    })
}
