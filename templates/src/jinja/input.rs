//! The variables of a template, and the messages, made uniform as Hugging Face does.
//!
//! Reference: `apply_chat_template` and `render_jinja_template` of transformers 5.23.0.

use std::borrow::Cow;

use alloquy_core::template::{PromptEnd, TemplateInput};
use minijinja as engine;
use serde_json::{Map, Value};

use super::conversion;
use super::dialect::Dialect;
use super::dict::Dict;
use super::fault::Fault;
use super::known_tools::KnownTools;
use super::weight::Weight;

/// The names of a message's reasoning. Most templates read the first, those of gpt-oss the second.
const REASONING: [&str; 3] = ["reasoning_content", "thinking", "reasoning"];

/// A message; borrowed if it is uniform already.
pub(super) type Message<'a> = Cow<'a, Map<String, Value>>;

/// Makes the messages of `input` uniform.
pub(super) fn messages(input: &TemplateInput, dialect: Dialect) -> Result<Vec<Message<'_>>, Fault> {
    if input.messages.is_empty() && !dialect.is_litert() {
        return Err(Fault::Empty);
    }
    input.messages.iter().enumerate().map(|(index, found)| message(index, found, dialect)).collect()
}

/// Makes the messages of a probe uniform, but leaves arguments of tool calls as they are.
pub(super) fn of_probe(messages: &[Value], dialect: Dialect) -> Vec<Message<'_>> {
    let fields = messages.iter().filter_map(Value::as_object).map(Cow::Borrowed);
    fields.map(|fields| if dialect.is_uniform() { with_reasoning(fields) } else { fields }).collect()
}

fn message(index: usize, found: &Value, dialect: Dialect) -> Result<Message<'_>, Fault> {
    let Value::Object(fields) = found else {
        return Err(Fault::Message { index, found: found.clone() });
    };
    let is_uniform = fields.iter().all(|(key, value)| !value.is_null() && key != "tool_calls");
    let message = if is_uniform { Cow::Borrowed(fields) } else { Cow::Owned(without_nulls(fields, dialect)) };
    Ok(if dialect.is_uniform() { with_reasoning(message) } else { message })
}

/// Leaves out fields that are null and parses the arguments of tool calls. A message with tool calls keeps an empty content.
fn without_nulls(fields: &Map<String, Value>, dialect: Dialect) -> Map<String, Value> {
    let calls_tools =
        fields.get("tool_calls").and_then(Value::as_array).is_some_and(|calls| !calls.is_empty());
    let mut message = Map::new();
    for (key, value) in fields {
        let uniform = match (key.as_str(), value) {
            ("content", Value::Null) if calls_tools => Value::from(""),
            (_, Value::Null) if dialect.is_uniform() => continue,
            ("tool_calls", calls) => with_arguments(calls),
            (_, value) => value.clone(),
        };
        message.insert(key.clone(), uniform);
    }
    message
}

/// Adds the reasoning under both names that templates use; `thinking` comes first, as in Hugging Face.
fn with_reasoning(message: Message<'_>) -> Message<'_> {
    let Some(reasoning) = REASONING.iter().find_map(|name| message.get(*name)).cloned() else {
        return message;
    };
    let mut aliased = Map::new();
    aliased.insert("thinking".to_owned(), reasoning.clone());
    aliased.extend(message.into_owned());
    aliased.insert("reasoning_content".to_owned(), reasoning);
    Cow::Owned(aliased)
}

/// Parses arguments that are the text of a JSON object: OpenAI sends text, templates expect objects.
fn with_arguments(calls: &Value) -> Value {
    let mut calls = calls.clone();
    for call in calls.as_array_mut().into_iter().flatten() {
        let place = if call.get("function").is_some_and(Value::is_object) {
            call.get_mut("function")
        } else {
            Some(call)
        };
        if let Some(arguments) = place.and_then(|place| place.get_mut("arguments")) {
            parse_object(arguments);
        }
    }
    calls
}

fn parse_object(arguments: &mut Value) {
    let parsed = arguments.as_str().and_then(|text| serde_json::from_str::<Map<String, Value>>(text).ok());
    if let Some(object) = parsed {
        *arguments = Value::Object(object);
    }
}

/// The variables of a template. Later ones replace earlier ones of the same name.
#[derive(Debug)]
pub(super) struct Variables<'a> {
    pub(super) special_tokens: &'a Map<String, Value>,
    pub(super) messages: Vec<Message<'a>>,
    pub(super) input: &'a TemplateInput,
    pub(super) known_tools: &'a KnownTools,
    pub(super) dialect: Dialect,
    /// The marks of spans, which the render looks for in the prompt.
    pub(super) marks: Vec<(&'static str, String)>,
}

impl Variables<'_> {
    /// Converts them for the engine: special tokens, then what Hugging Face passes, then the caller's own.
    pub(super) fn value(&self) -> engine::Value {
        let mut fields = Vec::with_capacity(16);
        for (name, token) in self.special_tokens {
            set(&mut fields, name, conversion::value(token));
        }
        let messages: Vec<_> = self.messages.iter().map(|message| conversion::object(message)).collect();
        set(&mut fields, "messages", engine::Value::from(messages));
        let tools = self.input.tools.as_ref().map(|tools| self.known_tools.value(tools));
        let documents = self.input.documents.as_ref();
        let documents = documents.map(|documents| documents.iter().map(conversion::value).collect());
        for (name, list) in [("tools", tools), ("documents", documents)] {
            match list {
                Some(list) => set(&mut fields, name, list),
                None if self.dialect.is_litert() => {}
                None => set(&mut fields, name, engine::Value::from(())),
            }
        }
        set(
            &mut fields,
            "add_generation_prompt",
            engine::Value::from(self.input.ending == PromptEnd::Generation),
        );
        for (name, value) in &self.input.extra {
            set(&mut fields, name, conversion::value(value));
        }
        for (name, mark) in &self.marks {
            set(&mut fields, name, engine::Value::from(mark.as_str()));
        }
        let fields = fields.into_iter().map(|(name, value)| (engine::Value::from(name), value));
        engine::Value::from_object(Dict::new(fields.collect(), Weight::default()))
    }

    /// Returns whether any text of the variables contains `wanted`.
    pub(super) fn have(&self, wanted: char) -> bool {
        let lists = [&self.input.tools, &self.input.documents];
        object_has(self.special_tokens, wanted)
            || object_has(&self.input.extra, wanted)
            || self.messages.iter().any(|message| object_has(message, wanted))
            || lists.into_iter().flatten().flatten().any(|value| has(value, wanted))
    }
}

/// Sets a variable, in the place of an earlier one of the same name.
fn set<'a>(fields: &mut Vec<(&'a str, engine::Value)>, name: &'a str, value: engine::Value) {
    match fields.iter_mut().find(|(known, _)| *known == name) {
        Some(known) => known.1 = value,
        None => fields.push((name, value)),
    }
}

fn has(value: &Value, wanted: char) -> bool {
    match value {
        Value::String(text) => text.contains(wanted),
        Value::Array(items) => items.iter().any(|item| has(item, wanted)),
        Value::Object(fields) => object_has(fields, wanted),
        _ => false,
    }
}

fn object_has(fields: &Map<String, Value>, wanted: char) -> bool {
    fields.iter().any(|(key, value)| key.contains(wanted) || has(value, wanted))
}
