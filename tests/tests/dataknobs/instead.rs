//! What a case would have recorded, had dataknobs done as is done here on purpose.

use serde_json::{Map, Value, json};

use crate::state::list;
use crate::{flows, stack};

/// What dataknobs' limits write into the messages of the tree, and of a refused call into the conversation in memory.
const COUNTERS: [&str; 4] =
    ["rate_limit_exceeded", "rate_limit_count", "rate_limit_max", "rate_limit_window"];

/// The name of a difference, and the case as it is with it.
pub(crate) fn of(case: &Value) -> Option<(&'static str, Value)> {
    if let Some(kept) = flows::kept(case) {
        return Some(("kept-states", kept));
    }
    for settings in list(&case["setup"], "middleware") {
        match settings["type"].as_str() {
            Some("content_filter") if twice(settings) != stack::replacement(settings) => {
                return Some(("one-pass", replaced_once(case, settings)));
            }
            Some("metadata") if settings["request"].is_object() => {
                let names = settings["request"].as_object().into_iter().flatten();
                let names: Vec<_> = names.map(|(name, _)| name.as_str()).collect();
                return Some(("middleware", with_expected(case, without(case["expect"].clone(), &names))));
            }
            Some("rate_limit") => return Some(("limits", without_reading(case))),
            Some("validation") if list(settings, "responses").iter().any(is_substring) => {
                return Some(("middleware", rejected(case, settings)));
            }
            _ => {}
        }
    }
    None
}

/// What is compared of the state that a case with a limit has recorded: all but the counters. They are not in what dataknobs
/// stores of the conversation, so that it is in memory as it is stored.
pub(crate) fn without_counters(setup: &Value, expect: &Value) -> Value {
    if !stack::has(setup, "rate_limit") {
        return expect.clone();
    }
    let mut expect = without(expect.clone(), &COUNTERS);
    if let Some(stored) = expect.get("stored") {
        expect["stored_equals_memory"] = (*stored == expect["to_dict"]).into();
    }
    expect
}

/// Removes metadata by name from the messages and the conversation.
fn without(mut value: Value, names: &[&str]) -> Value {
    match &mut value {
        Value::Object(fields) => {
            for (_, field) in fields.iter_mut() {
                *field = without(field.take(), names);
            }
            remove(fields, names);
        }
        Value::Array(items) => items.iter_mut().for_each(|item| *item = without(item.take(), names)),
        _ => {}
    }
    value
}

/// Removes metadata by name, if these are the fields of a message or of a conversation. A message has no empty metadata.
fn remove(fields: &mut Map<String, Value>, names: &[&str]) {
    let is_message = fields.contains_key("role") && fields.contains_key("content");
    if !is_message && !fields.contains_key("conversation_id") {
        return;
    }
    let Some(Value::Object(metadata)) = fields.get_mut("metadata") else { return };
    metadata.retain(|name, _| !names.contains(&name.as_str()));
    if is_message && metadata.is_empty() {
        fields.shift_remove("metadata");
    }
}

fn with_expected(case: &Value, expect: Value) -> Value {
    let mut case = case.clone();
    case["expect"] = expect;
    case
}

/// The conversation has no counters when its metadata is read.
fn without_reading(case: &Value) -> Value {
    let mut case = case.clone();
    for op in case["ops"].as_array_mut().into_iter().flatten() {
        if op["op"] == "metadata"
            && let Some(read) = op["result"].as_object_mut()
        {
            read.retain(|name, _| !COUNTERS.contains(&name.as_str()));
        }
    }
    case
}

/// What becomes of a replacement when every word of the filter is replaced in it, one after the other.
fn twice(settings: &Value) -> String {
    let replacement = stack::replacement(settings);
    let mut text = replacement.to_owned();
    for word in list(settings, "words").iter().filter_map(Value::as_str) {
        text = text.replace(word, replacement);
    }
    text
}

/// Each word is replaced once.
fn replaced_once(case: &Value, settings: &Value) -> Value {
    let recorded = json!(twice(settings)).to_string();
    let once = json!(stack::replacement(settings)).to_string();
    let text = case.to_string().replace(recorded.trim_matches('"'), once.trim_matches('"'));
    serde_json::from_str(&text).unwrap()
}

/// Whether an answer of a validator has the word VALID, and is another one.
fn is_substring(answer: &Value) -> bool {
    answer.as_str().is_some_and(|answer| answer != "VALID" && answer.to_uppercase().contains("VALID"))
}

/// The reply is rejected: the operation fails, and the reply is not stored.
fn rejected(case: &Value, settings: &Value) -> Value {
    let mut case = case.clone();
    let state = &mut case["expect"]["to_dict"];
    state["nodes"].as_array_mut().unwrap().pop();
    let edge = state["edges"].as_array_mut().unwrap().pop().unwrap_or_default();
    state["current_node_id"] = edge[0].clone();
    let export = &mut case["expect"]["export"];
    export["messages"].as_array_mut().unwrap().pop();
    export["message_count"] = list(export, "messages").len().into();
    case["expect"]["current_messages"].as_array_mut().unwrap().pop();
    let answers = list(settings, "responses").iter().find(|answer| is_substring(answer)).unwrap().as_str();
    let message = format!("Response failed validation: {}", answers.unwrap());
    let replies = case["ops"].as_array_mut().unwrap();
    let last = replies.iter_mut().rfind(|op| op["op"] == "complete").unwrap().as_object_mut().unwrap();
    last.shift_remove("result");
    last.insert("error".to_owned(), json!({"type": "ValueError", "message": message}));
    last.insert("current_node_id".to_owned(), edge[0].clone());
    case
}
