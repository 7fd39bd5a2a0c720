//! Walks over the texts of a template's input that people, tools or the model wrote. Knows what each of them is; not what
//! a control token is.
//!
//! Templates look for some keys by their names, and a name that they look for must stay what it is: the fields of
//! messages and the words of JSON Schema. But the same word is somebody's text where a schema has names or data instead
//! of words: `enum` as the name of a property, `required` as a key of a default value.

use std::mem;

use alloquy_core::template::TemplateInput;
use serde_json::{Map, Value};

/// Whose text it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Voice {
    /// What the model replies. Its thoughts and calls stand in fields of their own, and it is the template that
    /// puts tags around those.
    Model,
    /// What a thing is called: a name, or the key of a field.
    Name,
    /// Anything else.
    Other,
}

/// What the keys of an object are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Keys {
    /// Fields of messages, calls, tools and documents, and the words of JSON Schema.
    Fields,
    /// The words of JSON Schema.
    Schema,
    /// Names that each have a schema.
    Names,
    /// Whatever somebody sends: no template looks for any.
    Data,
}

/// What a value is.
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
                // Unknown fields stand here under whatever key; a template may print the whole message.
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
            Value::Array(values) => values.iter_mut().for_each(|value| self.each_of(value, visit)),
            Value::Object(fields) => {
                let visited = mem::take(fields).into_iter().map(|(mut key, mut value)| {
                    if !self.keys.is_kind(&key, &value) {
                        self.inside(&key, &value).each_of(&mut value, visit);
                    }
                    // Templates print keys too, those of a tool's parameters for one.
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

    /// What `value` is that stands here under `key`.
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
    /// Says whether templates look for `key`; a vocabulary that has it as an added token does not change it.
    fn are_looked_for(self, key: &str) -> bool {
        match self {
            Self::Fields => SCHEMA_KEYS.contains(&key) || FIELD_KEYS.contains(&key),
            Self::Schema => SCHEMA_KEYS.contains(&key),
            Self::Names | Self::Data => false,
        }
    }

    /// Says whether templates look for a `value` that stands under `key`.
    fn is_kind(self, key: &str, value: &Value) -> bool {
        let kinds = match self {
            Self::Fields => [KINDS.as_slice(), TYPES.as_slice()],
            Self::Schema => [TYPES.as_slice(), &[]],
            Self::Names | Self::Data => return false,
        };
        key == "type" && value.as_str().is_some_and(|kind| kinds.iter().any(|kinds| kinds.contains(&kind)))
    }

    /// What the keys of a `value` are that stands under `key`.
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

    /// The texts of a tool with these parameters.
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
    fn words_of_a_schema_are_no_texts() {
        let plain = json!({"type": "object", "properties": {}, "required": [], "items": {"type": "string"}});
        assert_eq!(texts(&plain), []);
    }

    #[test]
    fn words_of_a_schema_are_texts_where_they_name_or_are_data() {
        let named =
            json!({"properties": {"enum": {"type": "string"}, "properties": {"properties": {"type": {}}}}});
        assert_eq!(texts(&named), names(&["enum", "type", "properties"]));
        let sent = json!({"default": {"required": {"type": 1}}, "enum": [{"enum": 1}]});
        assert_eq!(texts(&sent), names(&["type", "required", "enum"]));
    }

    #[test]
    fn a_name_sounds_the_same_as_a_key_and_where_it_is_required() {
        let required = json!({"properties": {"type": {"type": "number"}}, "required": ["type"]});
        assert_eq!(texts(&required), names(&["type", "type"]));
    }

    #[test]
    fn what_describes_is_text_at_any_depth() {
        let deep =
            json!({"anyOf": [{"not": {"description": "a", "pattern": "b", "const": "c", "title": "d"}}]});
        let other = |text: &str| (Voice::Other, text.to_owned());
        let found: Vec<_> = texts(&deep).into_iter().filter(|(voice, _)| *voice == Voice::Other).collect();
        assert_eq!(found, ["a", "b", "c", "d"].map(other));
    }
}
