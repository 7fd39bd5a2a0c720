//! Rules that explain a difference by its form, so that other rows of the same kind are explained too.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::matching::matches;
use crate::row::Row;

mod further;
mod grammars;
mod prompts;

/// A name, and whether it is why a row differs.
type Rule = (&'static str, fn(&Row, &Value, &Value) -> bool);

const RULES: &[Rule] = &[
    ("empty", empty),
    ("line breaks", line_breaks),
    ("methods", methods),
    ("no call", no_call),
    ("twice", twice),
    ("readable", readable),
    ("parameters", parameters),
    ("escapes", escapes),
    ("names", names),
    ("notation", notation),
    ("constructor", constructor),
    ("not failed", not_failed),
    ("role", role),
    ("open", open),
    ("units", units),
    ("refused", refused),
    ("media", media),
    ("quotes", further::quotes),
    ("cut off", further::cut_off),
    ("offered", further::offered),
    ("n-grams", further::ngrams),
    ("pieces", prompts::pieces),
    ("result", prompts::result),
    ("texts", prompts::texts),
    ("strings", prompts::strings),
    ("lost", prompts::lost),
    ("spelled", grammars::spelled),
    ("schema", grammars::schema),
    ("named", grammars::named),
    ("object", further::object),
    ("digits", further::digits),
    ("streamed", further::streamed),
    ("context", further::context),
];

/// The rules that are why what was found is not what is expected.
pub(crate) fn explaining(row: &Row, expected: &Value, found: &Value) -> Vec<&'static str> {
    RULES.iter().filter(|(_, explains)| explains(row, expected, found)).map(|(name, _)| *name).collect()
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
        value.as_array().is_some_and(Vec::is_empty) || value.as_object().is_some_and(Map::is_empty);
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

fn given(row: &Row) -> &str {
    row.input.as_str().unwrap_or_default()
}

/// The calls on both sides, where both read as many.
fn both<'a>(row: &Row, expected: &'a Value, found: &'a Value) -> Option<Vec<(&'a Value, &'a Value)>> {
    let left = expected["ok"].as_array()?;
    let right = found["ok"].as_array()?;
    (is_parse(row) && left.len() == right.len()).then(|| left.iter().zip(right).collect())
}

/// LiteRT-LM drops arguments that stand under another name.
fn parameters(row: &Row, expected: &Value, found: &Value) -> bool {
    let calls = both(row, expected, found).unwrap_or_default();
    let named = |(left, right): &(&Value, &Value)| left["name"] == right["name"];
    let dropped = |(left, _): &(&Value, &Value)| left["arguments"].as_object().is_some_and(Map::is_empty);
    given(row).contains("\"parameters\"")
        && !calls.is_empty()
        && calls.iter().all(|pair| named(pair) && dropped(pair))
}

/// LiteRT-LM leaves the backslashes of a Python text.
fn escapes(row: &Row, expected: &Value, found: &Value) -> bool {
    row.kind.starts_with("python_parse") && given(row).contains('\\') && matches(&unescaped(expected), found)
}

fn unescaped(value: &Value) -> Value {
    match value {
        Value::String(text) => {
            let text =
                text.replace("\\n", "\n").replace("\\t", "\t").replace("\\\"", "\"").replace("\\'", "'");
            text.replace("\\\\", "\\").into()
        }
        Value::Array(items) => items.iter().map(unescaped).collect(),
        Value::Object(fields) => fields.iter().map(|(key, value)| (key.clone(), unescaped(value))).collect(),
        other => other.clone(),
    }
}

/// LiteRT-LM has the beginning of a name.
fn names(row: &Row, expected: &Value, found: &Value) -> bool {
    let text = |call: &Value| call["name"].as_str().unwrap_or_default().to_owned();
    let longer = |(left, right): &(&Value, &Value)| {
        let whole = given(row).contains(&text(right)) && text(right).starts_with(&text(left));
        whole && matches(&left["arguments"], &right["arguments"])
    };
    both(row, expected, found).is_some_and(|calls| !calls.is_empty() && calls.iter().all(longer))
}

/// LiteRT-LM passes over quotes that the notation does not have, or takes those of other models.
fn notation(row: &Row, expected: &Value, found: &Value) -> bool {
    let foreign = given(row).replace("<|\"|>", "").contains('"') || given(row).contains("<ctrl46>");
    let mixed = given(row).contains("<|\"|>") && given(row).contains("<escape>");
    let reported = found["error"].as_str().is_some_and(|words| words.starts_with("not valid call"));
    row.kind.starts_with("fc_parse") && expected.get("ok").is_some() && reported && (foreign || mixed)
}

/// LiteRT-LM makes constructors of Python of objects with a type, and back.
fn constructor(row: &Row, expected: &Value, found: &Value) -> bool {
    let read = row.kind.starts_with("python_parse") && expected.to_string().contains("\"__type__\"");
    let name = row.input["value"]["type"].as_str().map(|name| format!("{name}("));
    let called = name.zip(expected["ok"].as_str()).is_some_and(|(name, text)| text.starts_with(&name));
    read && found.get("error").is_some()
        || row.kind == "python_format_value"
            && called
            && found["ok"].as_str().is_some_and(|text| text.starts_with('{'))
}

/// LiteRT-LM fails a reply with a call that cannot be read.
fn not_failed(row: &Row, expected: &Value, found: &Value) -> bool {
    let (Some(left), Some(right)) = (expected.as_array(), found.as_array()) else { return false };
    let kept = |(left, right): (&Value, &Value)| matches(left, right) || *left == "error" && *right == "ok";
    row.kind == "conversation_mock_session" && left.len() == right.len() && left.iter().zip(right).all(kept)
}

/// LiteRT-LM calls a reply's role as its configuration says.
fn role(row: &Row, expected: &Value, found: &Value) -> bool {
    let mut renamed = expected.clone();
    if let Some(role) = renamed.get_mut("role") {
        *role = "assistant".into();
    }
    let reported = &row.input["processor"]["config"]["model_role"];
    row.kind == "to_message" && expected["role"] == *reported && matches(&renamed, found)
}

/// LiteRT-LM looks for markers inside the prompt.
fn open(row: &Row, expected: &Value, found: &Value) -> bool {
    let mut channels = row.input[1].as_array().into_iter().flatten();
    row.kind == "GetOpenChannelName" && channels.any(|channel| channel[0] == *expected) && found.is_null()
}

/// LiteRT-LM counts the positions of media, and tells the same medium with another count from it.
fn units(row: &Row, expected: &Value, found: &Value) -> bool {
    let mut lengths = BTreeMap::new();
    let two = has_two_lengths(&row.input, &mut lengths);
    let uncounted = |value: &Value| {
        let mut value = value.clone();
        let fields = value.as_object_mut();
        fields.into_iter().for_each(|fields| {
            fields.retain(|name, _| !name.ends_with("token_length") && name != "matched_tokens");
        });
        value
    };
    let matched = |value: &Value| value["matched_elements"].as_u64();
    row.kind == "prefix_cache"
        && (two && matched(found) > matched(expected)
            || !lengths.is_empty() && matches(&uncounted(expected), &uncounted(found)))
}

/// Says whether one medium comes with two counts of positions; fills in the first of each.
fn has_two_lengths(value: &Value, lengths: &mut BTreeMap<String, Value>) -> bool {
    if let Some(hash) = value.get("media_hash") {
        let first = lengths.entry(hash.to_string()).or_insert_with(|| value["tokens"].clone());
        return *first != value["tokens"];
    }
    match value {
        Value::Array(items) => items.iter().any(|item| has_two_lengths(item, lengths)),
        Value::Object(fields) => fields.values().any(|item| has_two_lengths(item, lengths)),
        _ => false,
    }
}

/// LiteRT-LM moves options into their range.
fn refused(row: &Row, _: &Value, found: &Value) -> bool {
    let all = |items: &Vec<Value>| !items.is_empty() && items.iter().all(|item| item.get("error").is_some());
    row.kind.ends_with("_config") && found.as_array().is_some_and(all)
}

/// LiteRT-LM takes any bytes for an image or an audio clip.
fn media(row: &Row, expected: &Value, found: &Value) -> bool {
    let words = found["error"].as_str().unwrap_or_default();
    row.kind == "load_item_data" && expected.is_string() && words.contains("\"mime_type\"")
}
