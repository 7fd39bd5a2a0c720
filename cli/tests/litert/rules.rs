//! Rules that explain a difference by its form, so that other rows of the same kind are explained too.

use serde_json::Value;

use crate::matching::matches;
use crate::row::Row;

/// A name, and whether it is why a row differs.
type Rule = (&'static str, fn(&Row, &Value, &Value) -> bool);

const RULES: &[Rule] = &[
    ("empty", empty),
    ("line breaks", line_breaks),
    ("methods", methods),
    ("no call", no_call),
    ("twice", twice),
    ("readable", readable),
];

/// The first rule that is why what was found is not what is expected.
pub(crate) fn explaining(row: &Row, expected: &Value, found: &Value) -> Option<&'static str> {
    RULES.iter().find(|(_, explains)| explains(row, expected, found)).map(|(name, _)| *name)
}

/// Only empty texts are missing.
fn empty(_: &Row, expected: &Value, found: &Value) -> bool {
    matches(&without_empty(expected), &without_empty(found))
}

fn without_empty(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let fields = fields.iter().map(|(key, value)| (key.clone(), without_empty(value)));
            fields.filter(|(key, value)| !is_empty(key, value)).collect()
        }
        Value::Array(items) => items.iter().map(without_empty).filter(|item| !is_empty_item(item)).collect(),
        other => other.clone(),
    }
}

fn is_empty(key: &str, value: &Value) -> bool {
    let is_list_or_map =
        value.as_array().is_some_and(Vec::is_empty) || value.as_object().is_some_and(|map| map.is_empty());
    is_list_or_map && ["content", "channels"].contains(&key) || key == "thought" && value == ""
}

/// What is left of a text without text.
fn is_empty_item(item: &Value) -> bool {
    item["type"] == "text" && item["text"] == ""
}

/// Texts differ in the line breaks at their ends, and calls stand beside them.
fn line_breaks(_: &Row, expected: &Value, found: &Value) -> bool {
    has_calls(expected) && matches(&without_empty(&trimmed(expected)), &without_empty(&trimmed(found)))
}

fn has_calls(value: &Value) -> bool {
    match value {
        Value::Object(fields) => fields.contains_key("tool_calls") || fields.values().any(has_calls),
        Value::Array(items) => items.iter().any(has_calls),
        _ => false,
    }
}

/// Texts without the line breaks at their ends, and outputs without messages that have no more text.
fn trimmed(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let field = |(key, value): (&String, &Value)| match (key.as_str(), value) {
                ("text", Value::String(text)) => (key.clone(), text.trim_matches('\n').into()),
                _ => (key.clone(), trimmed(value)),
            };
            fields.iter().map(field).collect()
        }
        Value::Array(items) => items.iter().map(trimmed).collect(),
        other => other.clone(),
    }
}

/// What LiteRT-LM's environment says of a template that uses more of the language than it has.
const UNKNOWN: [&str; 4] = ["unknown ", "too many arguments", "unexpected `", "syntax error"];

/// LiteRT-LM's environment lacks a part of the language.
fn methods(row: &Row, expected: &Value, found: &Value) -> bool {
    let words = expected["error"].as_str().unwrap_or_default();
    row.kind.starts_with("render") && UNKNOWN.iter().any(|unknown| words.contains(unknown)) && is_ok(found)
}

fn is_parse(row: &Row) -> bool {
    ["fc_parse", "python_parse", "json_parse"].iter().any(|kind| row.kind.starts_with(kind))
}

fn is_ok(found: &Value) -> bool {
    found.get("ok").is_some_and(|ok| ok.as_array().is_none_or(|calls| !calls.is_empty()))
}

/// LiteRT-LM reads no calls, and says nothing of the text.
fn no_call(row: &Row, expected: &Value, found: &Value) -> bool {
    let silent = expected["ok"].as_array().is_some_and(Vec::is_empty);
    is_parse(row) && silent && found.get("error").is_some()
}

/// LiteRT-LM takes the first of two values.
fn twice(row: &Row, expected: &Value, found: &Value) -> bool {
    let words = found["error"].as_str().unwrap_or_default();
    is_parse(row) && expected.get("ok").is_some() && words.contains("comes twice")
}

/// LiteRT-LM reads nothing.
fn readable(row: &Row, expected: &Value, found: &Value) -> bool {
    is_parse(row) && expected.get("error").is_some() && is_ok(found)
}
