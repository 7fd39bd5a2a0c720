//! What a template gets to see: messages made uniform as Hugging Face does, and the variables around them.
//!
//! Reference: `apply_chat_template` and `render_jinja_template` of transformers 5.23.0.

use alloquy_core::{Ending, TemplateInput};
use serde_json::{Map, Value};

use super::dialect::Dialect;
use super::fault::Fault;

/// The names a message's reasoning goes by; templates read the first, gpt-oss templates the second.
const REASONING: [&str; 3] = ["reasoning_content", "thinking", "reasoning"];

/// Makes the messages of `input` uniform.
pub(super) fn messages(input: &TemplateInput, dialect: Dialect) -> Result<Vec<Map<String, Value>>, Fault> {
    if input.messages.is_empty() && !dialect.is_litert() {
        return Err(Fault::Empty);
    }
    input.messages.iter().enumerate().map(|(index, found)| message(index, found, dialect)).collect()
}

/// Makes the messages of a probe uniform, but leaves arguments of tool calls as they are.
pub(super) fn of_probe(messages: &[Value], dialect: Dialect) -> Vec<Map<String, Value>> {
    let fields = messages.iter().filter_map(Value::as_object).cloned();
    fields.map(|fields| if dialect.is_uniform() { with_reasoning(fields) } else { fields }).collect()
}

/// Makes one message uniform: what is null is left out, but a call of tools has a content.
fn message(index: usize, found: &Value, dialect: Dialect) -> Result<Map<String, Value>, Fault> {
    let Value::Object(fields) = found else {
        return Err(Fault::Message { index, found: found.clone() });
    };
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
    Ok(if dialect.is_uniform() { with_reasoning(message) } else { message })
}

/// Gives reasoning both names that templates know; `thinking` comes first, as Hugging Face puts it.
fn with_reasoning(message: Map<String, Value>) -> Map<String, Value> {
    let Some(reasoning) = REASONING.iter().find_map(|name| message.get(*name)).cloned() else {
        return message;
    };
    let mut aliased = Map::new();
    aliased.insert("thinking".to_owned(), reasoning.clone());
    aliased.extend(message);
    aliased.insert("reasoning_content".to_owned(), reasoning);
    aliased
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

/// Collects the variables: special tokens, then what Hugging Face passes, then the caller's own.
pub(super) fn variables(
    special_tokens: &Map<String, Value>,
    messages: Vec<Map<String, Value>>,
    input: &TemplateInput,
    dialect: Dialect,
) -> Map<String, Value> {
    let mut variables = special_tokens.clone();
    variables.insert("messages".to_owned(), messages.into_iter().map(Value::Object).collect());
    for (name, list) in [("tools", &input.tools), ("documents", &input.documents)] {
        match list {
            Some(list) => drop(variables.insert(name.to_owned(), Value::Array(list.clone()))),
            None if dialect.is_litert() => {}
            None => drop(variables.insert(name.to_owned(), Value::Null)),
        }
    }
    variables.insert("add_generation_prompt".to_owned(), Value::Bool(input.ending == Ending::Answer));
    variables.extend(input.extra.clone());
    variables
}
