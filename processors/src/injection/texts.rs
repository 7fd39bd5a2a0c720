//! Visits the texts of a template's input that people, tools or the model wrote.
//!
//! Templates look for some keys: the fields of messages and the keywords of JSON Schema. These keys are not texts. The same word
//! is a text where a schema has names or data instead of keywords: `enum` may be the name of a property, and `required` a key of
//! a default value.

use std::mem;

use alloquy_core::template::TemplateInput;
use serde_json::{Map, Value};

/// The kind of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Voice {
    /// The content of a reply. Thinking and calls have fields of their own, and the template prints the tags around them.
    Model,
    /// A name, or the key of a field.
    Name,
    /// Any other text.
    Other,
}

/// The kind of the keys of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Keys {
    /// Fields of messages, calls, tools and documents, and the keywords of JSON Schema.
    Fields,
    /// The keywords of JSON Schema.
    Schema,
    /// Names of properties. The value of each is a schema.
    Names,
    /// Data. Templates look for none of these keys.
    Data,
}

/// The kind of a value.
#[derive(Clone, Copy, Debug)]
struct Place {
    voice: Voice,
    keys: Keys,
}

const FIELDS: Place = Place { voice: Voice::Other, keys: Keys::Fields };

type Visit<'a> = dyn FnMut(Voice, &mut String) + 'a;

/// Visits every text that a template may print and that people, tools or the model wrote.
pub(crate) fn each(input: &mut TemplateInput, visit: &mut Visit<'_>) {
    for message in input.messages.iter_mut().filter_map(Value::as_object_mut) {
        each_of_message(message, visit);
    }
    for value in input.tools.iter_mut().chain(&mut input.documents).flatten() {
        FIELDS.each_of(value, visit);
    }
    // A host that sets `bos_token` and the like means the token.
    for (_, value) in input.extra.iter_mut().filter(|(key, _)| !key.ends_with("_token")) {
        FIELDS.each_of(value, visit);
    }
}

fn each_of_message(message: &mut Map<String, Value>, visit: &mut Visit<'_>) {
    let model = message.get("role").is_some_and(|role| role == "assistant");
    let fields = mem::take(message).into_iter().map(|(mut key, mut value)| {
        match key.as_str() {
            "role" => {}
            "content" if model => Place { voice: Voice::Model, ..FIELDS }.each_of(&mut value, visit),
            _ => {
                FIELDS.inside(&key, &value).each_of(&mut value, visit);
                // A template may print the whole message, so the keys of unknown fields are texts too.
                if !Keys::Fields.are_looked_for(&key) {
                    visit(Voice::Other, &mut key);
                }
            }
        }
        (key, value)
    });
    *message = fields.collect();
}

impl Place {
    fn each_of(self, value: &mut Value, visit: &mut Visit<'_>) {
        match value {
            Value::String(text) => visit(self.voice, text),
            Value::Array(values) => {
                for value in values {
                    self.each_of(value, visit);
                }
            }
            Value::Object(fields) => {
                let visited = mem::take(fields).into_iter().map(|(mut key, mut value)| {
                    if !self.keys.is_kind(&key, &value) {
                        self.inside(&key, &value).each_of(&mut value, visit);
                    }
                    // Templates print keys too, such as those of a tool's parameters.
                    if !self.keys.are_looked_for(&key) {
                        visit(Voice::Name, &mut key);
                    }
                    (key, value)
                });
                *fields = visited.collect();
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// Returns the kind of `value`, which is the field `key` of this value.
    fn inside(self, key: &str, value: &Value) -> Self {
        let keys = self.keys.inside(key, value);
        let voice = match key {
            _ if self.keys == Keys::Names => Voice::Other,
            "name" if value.is_string() => Voice::Name,
            // Names of properties: templates compare them with the keys.
            "required" if value.is_array() => Voice::Name,
            _ => self.voice,
        };
        Self { voice, keys }
    }
}

#[rustfmt::skip]
const FIELD_KEYS: [&str; 16] = [
    "content", "text", "title", "reasoning_content", "reasoning", "thinking", "tool_calls", "tool_call_id", "function",
    "id", "arguments", "parameters", "image", "audio", "video", "channels",
];
#[rustfmt::skip]
const SCHEMA_KEYS: [&str; 10] = [
    "name", "type", "description", "properties", "required", "enum", "items", "default", "format", "return",
];
const KINDS: [&str; 5] = ["text", "image", "audio", "video", "function"];
const TYPES: [&str; 7] = ["string", "number", "integer", "boolean", "object", "array", "null"];

impl Keys {
    /// Returns whether templates look for `key`. Such a key is never marked, even if it is a control token.
    fn are_looked_for(self, key: &str) -> bool {
        match self {
            Self::Fields => SCHEMA_KEYS.contains(&key) || FIELD_KEYS.contains(&key),
            Self::Schema => SCHEMA_KEYS.contains(&key),
            Self::Names | Self::Data => false,
        }
    }

    /// Returns whether templates look for this `value` of the field `key`.
    fn is_kind(self, key: &str, value: &Value) -> bool {
        let kinds = match self {
            Self::Fields => [KINDS.as_slice(), TYPES.as_slice()],
            Self::Schema => [TYPES.as_slice(), &[]],
            Self::Names | Self::Data => return false,
        };
        key == "type" && value.as_str().is_some_and(|kind| kinds.iter().any(|kinds| kinds.contains(&kind)))
    }

    /// Returns the kind of the keys of `value`, which is the field `key` of an object with these keys.
    fn inside(self, key: &str, value: &Value) -> Self {
        match (self, key) {
            (Self::Data, _) | (Self::Fields, "arguments") => Self::Data,
            (Self::Fields, "parameters" | "return") | (Self::Names, _) => Self::Schema,
            (Self::Schema | Self::Fields, "properties" | "patternProperties" | "$defs" | "definitions")
                if value.is_object() =>
            {
                Self::Names
            }
            (Self::Schema, "enum" | "const" | "default" | "example" | "examples") => Self::Data,
            (keys, _) => keys,
        }
    }
}

#[cfg(test)]
mod tests {
    use alloquy_core::template::TemplateInput;
    use serde_json::{Value, json};

    use super::{Voice, each};

    /// Returns the texts of a tool with these parameters.
    fn texts(parameters: &Value) -> Vec<(Voice, String)> {
        let tool = json!({"type": "function", "function": {"name": "f", "parameters": parameters}});
        let mut input = TemplateInput { tools: Some(vec![tool]), ..TemplateInput::default() };
        let mut texts = Vec::new();
        each(&mut input, &mut |voice, text| texts.push((voice, text.clone())));
        texts.retain(|(_, text)| text != "f");
        texts
    }

    fn names(names: &[&str]) -> Vec<(Voice, String)> {
        names.iter().map(|name| (Voice::Name, (*name).to_owned())).collect()
    }

    #[test]
    fn keywords_of_a_schema_are_not_texts() {
        let plain = json!({"type": "object", "properties": {}, "required": [], "items": {"type": "string"}});
        assert_eq!(texts(&plain), []);
    }

    #[test]
    fn keywords_are_texts_as_names_and_in_data() {
        let named =
            json!({"properties": {"enum": {"type": "string"}, "properties": {"properties": {"type": {}}}}});
        assert_eq!(texts(&named), names(&["enum", "type", "properties"]));
        let sent = json!({"default": {"required": {"type": 1}}, "enum": [{"enum": 1}]});
        assert_eq!(texts(&sent), names(&["type", "required", "enum"]));
    }

    #[test]
    fn a_name_is_a_name_as_a_key_and_in_required() {
        let required = json!({"properties": {"type": {"type": "number"}}, "required": ["type"]});
        assert_eq!(texts(&required), names(&["type", "type"]));
    }

    #[test]
    fn descriptions_are_texts_at_any_depth() {
        let deep =
            json!({"anyOf": [{"not": {"description": "a", "pattern": "b", "const": "c", "title": "d"}}]});
        let other = |text: &str| (Voice::Other, text.to_owned());
        let found: Vec<_> = texts(&deep).into_iter().filter(|(voice, _)| *voice == Voice::Other).collect();
        assert_eq!(found, ["a", "b", "c", "d"].map(other));
    }
}
