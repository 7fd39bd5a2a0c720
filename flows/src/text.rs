//! Fills in texts and arguments with the values of variables, once: no value is read again.

use alloquy_core::Source;
use alloquy_core::prompt_library::RenderedPrompt;
use serde_json::{Map, Value};

/// A piece of a text.
enum Piece<'a> {
    Text(&'a str),
    /// The name in `{{name}}`, and the whole mark.
    Mark(&'a str, &'a str),
}

fn pieces(text: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("{{") {
        let Some((name, next)) = after.split_once("}}") else { break };
        if !before.is_empty() {
            pieces.push(Piece::Text(before));
        }
        let mark = rest.get(before.len()..rest.len() - next.len()).unwrap_or_default();
        pieces.push(Piece::Mark(name.trim(), mark));
        rest = next;
    }
    if !rest.is_empty() {
        pieces.push(Piece::Text(rest));
    }
    pieces
}

/// Returns the names of the variables that a text reads.
pub(crate) fn names(text: &str) -> Vec<&str> {
    let mut names = Vec::new();
    for piece in pieces(text) {
        if let Piece::Mark(name, _) = piece {
            names.push(name.split('.').next().unwrap_or_default());
        }
    }
    names
}

/// Returns the names of the variables that a value reads.
pub(crate) fn names_in(value: &Value) -> Vec<&str> {
    match value {
        Value::String(text) => names(text),
        Value::Array(items) => items.iter().flat_map(names_in).collect(),
        Value::Object(fields) => fields.values().flat_map(names_in).collect(),
        _ => Vec::new(),
    }
}

/// Finds a variable, or a field of one.
fn found<'a>(name: &str, variables: &'a Map<String, Value>) -> Option<&'a Value> {
    let mut parts = name.split('.');
    let mut value = variables.get(parts.next()?)?;
    for part in parts {
        value = match value {
            Value::Array(items) => items.get(part.parse::<usize>().ok()?)?,
            other => other.get(part)?,
        };
    }
    Some(value)
}

fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

/// Fills in a text. A name without a value stays as it is and is reported.
pub(crate) fn render(text: &str, variables: &Map<String, Value>) -> RenderedPrompt {
    let mut rendered = RenderedPrompt::default();
    for piece in pieces(text) {
        match piece {
            Piece::Text(text) => rendered.push(text, None),
            Piece::Mark(name, mark) => match found(name, variables) {
                Some(value) => rendered.push(&shown(value), Some(Source::Value(name.to_owned()))),
                None => {
                    rendered.push(mark, None);
                    rendered.missing.push(name.to_owned());
                }
            },
        }
    }
    rendered
}

/// Fills in the texts in a value. A text that is a mark alone becomes the value of the variable, whatever its type.
pub(crate) fn fill(value: &Value, variables: &Map<String, Value>) -> Value {
    match value {
        Value::String(text) => {
            if let [Piece::Mark(name, _)] = pieces(text).as_slice() {
                return found(name, variables).cloned().unwrap_or_default();
            }
            Value::String(render(text, variables).text())
        }
        Value::Array(items) => Value::Array(items.iter().map(|item| fill(item, variables)).collect()),
        Value::Object(fields) => Value::Object(fill_map(fields, variables)),
        other => other.clone(),
    }
}

/// Fills in the values of a map.
pub(crate) fn fill_map(fields: &Map<String, Value>, variables: &Map<String, Value>) -> Map<String, Value> {
    let mut filled = Map::new();
    for (name, value) in fields {
        filled.insert(name.clone(), fill(value, variables));
    }
    filled
}
