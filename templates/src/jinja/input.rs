//! What a template gets to see: messages made uniform as Hugging Face does, and the variables around them.
//!
//! Reference: `apply_chat_template` and `render_jinja_template` of transformers 5.23.0.

use std::borrow::Cow;

use alloquy_core::template::{Ending, TemplateInput};
use minijinja as engine;
use serde_json::{Map, Value};

use super::conversion;
use super::dialect::Dialect;
use super::dict::Dict;
use super::fault::Fault;
use super::known_tools::KnownTools;
use super::weight::Weight;

/// The names a message's reasoning goes by; templates read the first, gpt-oss templates the second.
const REASONING: [&str; 3] = ["reasoning_content", "thinking", "reasoning"];

/// A message; borrowed where it is uniform already.
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
    let is_plain = |(key, value): (&String, &Value)| !value.is_null() && key != "tool_calls";
    let message = match fields.iter().all(is_plain) {
        true => Cow::Borrowed(fields),
        false => Cow::Owned(without_nulls(fields, dialect)),
    };
    Ok(if dialect.is_uniform() { with_reasoning(message) } else { message })
}

/// What is null is left out, but a call of tools has a content.
fn without_nulls(fields: &Map<String, Value>, dialect: Dialect) -> Map<String, Value> {
    let calls_tools =
        fields.get("tool_calls").and_then(Value::as_array).is_some_and(|calls| !calls.is_empty());
    let mut message = Map::new();
    for (key, value) in fields {
        match (key.as_str(), value) {
            ("content", Value::Null) if calls_tools => drop(message.insert(key.clone(), Value::from(""))),
            (_, Value::Null) if dialect.is_uniform() => {}
            ("tool_calls", calls) => drop(message.insert(key.clone(), with_arguments(calls))),
            (_, value) => drop(message.insert(key.clone(), value.clone())),
        }
    }
    message
}

/// Gives reasoning both names that templates know; `thinking` comes first, as Hugging Face puts it.
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

/// Arguments that came as the text of a JSON object become that object: OpenAI sends text, templates take objects.
fn with_arguments(calls: &Value) -> Value {
    let mut calls = calls.clone();
    for call in calls.as_array_mut().into_iter().flatten() {
        let place = match call.get("function").is_some_and(Value::is_object) {
            true => call.get_mut("function"),
            false => Some(call),
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

/// What a template gets to see, in the order in which later ones replace earlier ones of the same name.
#[derive(Debug)]
pub(super) struct Variables<'a> {
    pub(super) special_tokens: &'a Map<String, Value>,
    pub(super) messages: Vec<Message<'a>>,
    pub(super) input: &'a TemplateInput,
    pub(super) known_tools: &'a KnownTools,
    pub(super) dialect: Dialect,
    /// What this render adds, for itself to find again.
    pub(super) marks: Vec<(&'static str, String)>,
}

impl Variables<'_> {
    /// Converts them for the engine: special tokens, then what Hugging Face passes, then the caller's own.
    pub(super) fn value(&self) -> engine::Value {
        let mut fields: Vec<(&str, engine::Value)> = Vec::with_capacity(16);
        let mut set = |name, value| match fields.iter_mut().find(|(known, _)| *known == name) {
            Some(known) => known.1 = value,
            None => fields.push((name, value)),
        };
        for (name, token) in self.special_tokens {
            set(name.as_str(), conversion::value(token));
        }
        let messages: Vec<_> = self.messages.iter().map(|message| conversion::object(message)).collect();
        set("messages", engine::Value::from(messages));
        let tools = self.input.tools.as_ref().map(|tools| self.known_tools.value(tools));
        let documents = self.input.documents.as_ref();
        let documents = documents.map(|documents| documents.iter().map(conversion::value).collect());
        for (name, list) in [("tools", tools), ("documents", documents)] {
            match list {
                Some(list) => set(name, list),
                None if self.dialect.is_litert() => {}
                None => set(name, engine::Value::from(())),
            }
        }
        set("add_generation_prompt", engine::Value::from(self.input.ending == Ending::Answer));
        for (name, value) in &self.input.extra {
            set(name.as_str(), conversion::value(value));
        }
        for (name, mark) in &self.marks {
            set(name, engine::Value::from(mark.as_str()));
        }
        let fields = fields.into_iter().map(|(name, value)| (engine::Value::from(name), value));
        engine::Value::from_object(Dict::new(fields.collect(), Weight::default()))
    }

    /// Says whether a text of the conversation or of the caller has `wanted`.
    pub(super) fn have(&self, wanted: char) -> bool {
        let of = |fields: &Map<String, Value>| {
            fields.iter().any(|(key, value)| key.contains(wanted) || has(value, wanted))
        };
        let lists = [&self.input.tools, &self.input.documents];
        of(self.special_tokens)
            || of(&self.input.extra)
            || self.messages.iter().any(|message| of(message))
            || lists.into_iter().flatten().flatten().any(|value| has(value, wanted))
    }
}

fn has(value: &Value, wanted: char) -> bool {
    match value {
        Value::String(text) => text.contains(wanted),
        Value::Array(items) => items.iter().any(|item| has(item, wanted)),
        Value::Object(fields) => fields.iter().any(|(key, value)| key.contains(wanted) || has(value, wanted)),
        _ => false,
    }
}
