//! Converts messages of a state from and to messages here. Knows fields; not trees.

use alloquy_core::message::{ToolCall, ToolResult};
use alloquy_core::{Content, Message, Role};
use serde_json::{Map, Value, json};

use crate::archive::Repair;
use crate::messages::read_arguments;

const KNOWN: [&str; 7] =
    ["role", "content", "name", "tool_call_id", "tool_calls", "function_call", "metadata"];

/// A message that was read.
pub(super) struct ReadMessage {
    pub(super) message: Message,
    /// The fields that [`written`] would lack or add; [`overlaid`] restores them.
    pub(super) origin: Map<String, Value>,
    /// The calls that wait for a result after it.
    pub(super) open: Vec<ToolCall>,
}

/// Reads the message of the node `node`; `open` are the calls that wait for a result, `seed` keeps made-up ids distinct.
pub(super) fn read(
    raw: &Map<String, Value>,
    (node, seed): (&str, &str),
    open: &[ToolCall],
    repairs: &mut Vec<Repair>,
) -> ReadMessage {
    let raw_role = raw.get("role").and_then(Value::as_str).unwrap_or_default();
    let role = raw_role.parse().unwrap_or_else(|_| {
        repairs.push(Repair::UnknownRole { node: node.to_owned(), role: raw_role.to_owned() });
        if raw_role == "function" { Role::Tool } else { Role::User }
    });
    let canonical = canonical(raw);
    let mut open = open.to_vec();
    let mut message = match role {
        Role::Tool => Message::tool(vec![result(&canonical, (node, seed), &mut open, repairs)]),
        role => spoken(role, &canonical, (node, seed), repairs),
    };
    if role != Role::Tool {
        open = message.tool_calls().cloned().collect();
    }
    let further = raw.iter().filter(|(name, _)| !KNOWN.contains(&name.as_str()));
    message.extra = further.map(|(name, value)| (name.clone(), value.clone())).collect();
    let origin = difference(&canonical, &written(&message));
    ReadMessage { message, origin, open }
}

fn spoken(
    role: Role,
    canonical: &Map<String, Value>,
    (node, seed): (&str, &str),
    repairs: &mut Vec<Repair>,
) -> Message {
    let mut message = Message::new(role, Vec::<Content>::new());
    match canonical.get("content") {
        Some(Value::String(text)) if text.is_empty() => {}
        Some(Value::String(text)) => message.parts.push(Content::Text(text.clone()).into()),
        None | Some(Value::Null) => {}
        Some(other) => {
            repairs.push(Repair::ContentNotText(node.to_owned()));
            message.parts.push(Content::Text(other.to_string()).into());
        }
    }
    message.name = canonical.get("name").and_then(Value::as_str).map(str::to_owned);
    let calls = calls(canonical, (node, seed), repairs);
    message.parts.extend(calls.into_iter().map(|call| Content::ToolCall(call).into()));
    message
}

fn calls(
    canonical: &Map<String, Value>,
    (node, seed): (&str, &str),
    repairs: &mut Vec<Repair>,
) -> Vec<ToolCall> {
    let listed = canonical.get("tool_calls").and_then(Value::as_array);
    let legacy = canonical.get("function_call").into_iter();
    let raw: Vec<_> = listed.map_or_else(|| legacy.collect(), |calls| calls.iter().collect());
    let mut calls = Vec::with_capacity(raw.len());
    for (index, raw) in raw.into_iter().enumerate() {
        let id = raw.get("id").and_then(Value::as_str);
        let name = raw.get("name").and_then(Value::as_str);
        if id.is_none() || name.is_none() {
            repairs.push(Repair::CallRepaired(node.to_owned()));
        }
        let given = raw.get("parameters").or(raw.get("arguments")).cloned().unwrap_or_else(|| json!({}));
        let arguments = read_arguments(&given);
        if arguments != given {
            repairs.push(Repair::ArgumentsRead(node.to_owned()));
        }
        let id = id.map_or_else(|| format!("call-{seed}-{index}"), str::to_owned);
        calls.extend(name.map(|name| ToolCall::new(id, name, arguments)));
    }
    calls
}

fn result(
    canonical: &Map<String, Value>,
    (node, seed): (&str, &str),
    open: &mut Vec<ToolCall>,
    repairs: &mut Vec<Repair>,
) -> ToolResult {
    let id = canonical.get("tool_call_id").and_then(Value::as_str);
    let name = canonical.get("name").and_then(Value::as_str);
    // The call it answers: the one of its id, else the first of its name, else the first of all.
    let position = match (id, name) {
        (Some(id), _) => open.iter().position(|call| call.id == id),
        (None, Some(name)) => open.iter().position(|call| call.name == name),
        (None, None) => {
            if open.is_empty() {
                None
            } else {
                Some(0)
            }
        }
    };
    let content = canonical.get("content").cloned().unwrap_or_default();
    let Some(position) = position else {
        repairs.push(Repair::ResultRepaired(node.to_owned()));
        let id = id.map_or_else(|| format!("call-{seed}"), str::to_owned);
        return ToolResult::new(id, name.unwrap_or_default(), content);
    };
    let call = open.remove(position);
    ToolResult::new(id.unwrap_or(&call.id), name.unwrap_or(&call.name), content)
}

/// Returns the fields of a message as schema 1.1.0 writes them: empty and unknown fields are left out.
pub(super) fn canonical(raw: &Map<String, Value>) -> Map<String, Value> {
    let mut fields = Map::new();
    fields.insert("role".to_owned(), raw.get("role").cloned().unwrap_or_default());
    fields.insert("content".to_owned(), raw.get("content").cloned().unwrap_or_else(|| "".into()));
    for name in KNOWN.into_iter().skip(2) {
        let value = match (name, raw.get(name)) {
            ("tool_calls", Some(Value::Array(calls))) => calls.iter().map(canonical_call).collect(),
            (_, Some(value)) => value.clone(),
            (_, None) => continue,
        };
        if is_truthy(&value) {
            fields.insert(name.to_owned(), value);
        }
    }
    fields
}

fn canonical_call(call: &Value) -> Value {
    let Some(fields) = call.as_object() else { return call.clone() };
    let mut call = Map::new();
    if let Some(name) = fields.get("name") {
        call.insert("name".to_owned(), name.clone());
    }
    let parameters = fields.get("parameters").filter(|value| !value.is_null()).cloned();
    call.insert("parameters".to_owned(), parameters.unwrap_or_else(|| json!({})));
    if let Some(id) = fields.get("id").filter(|id| !id.is_null()) {
        call.insert("id".to_owned(), id.clone());
    }
    Value::Object(call)
}

fn is_truthy(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => false,
        Value::Number(number) => number.as_f64() != Some(0.0),
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(fields) => !fields.is_empty(),
        Value::Bool(true) => true,
    }
}

/// Writes the fields of a message that a state has.
pub(super) fn written(message: &Message) -> Map<String, Value> {
    let mut fields = Map::new();
    fields.insert("role".to_owned(), message.role.as_str().into());
    let results: Vec<_> = message.tool_results().collect();
    let text = match results.as_slice() {
        [] => message.text(),
        results => results.iter().map(|result| result.text()).collect::<Vec<_>>().join("\n"),
    };
    fields.insert("content".to_owned(), text.into());
    let first = results.first();
    let name = message.name.as_deref().or(first.map(|result| result.name.as_str()));
    let id = first.map(|result| result.id.as_str());
    for (field, value) in [("name", name), ("tool_call_id", id)] {
        if let Some(value) = value
            && !value.is_empty()
        {
            fields.insert(field.to_owned(), value.into());
        }
    }
    let calls: Vec<_> = message
        .tool_calls()
        .map(|call| json!({"name": call.name, "parameters": call.arguments, "id": call.id}))
        .collect();
    if !calls.is_empty() {
        fields.insert("tool_calls".to_owned(), calls.into());
    }
    fields
}

/// Returns what changes `written` into `canonical`; null removes a field, except for the content.
fn difference(canonical: &Map<String, Value>, written: &Map<String, Value>) -> Map<String, Value> {
    let mut difference = canonical.clone();
    difference.retain(|name, value| written.get(name) != Some(value));
    for name in written.keys() {
        if !canonical.contains_key(name) {
            difference.insert(name.clone(), Value::Null);
        }
    }
    difference
}

/// Applies a difference to the written fields.
pub(super) fn overlaid(mut written: Map<String, Value>, origin: &Map<String, Value>) -> Map<String, Value> {
    for (name, value) in origin {
        if value.is_null() && name != "content" {
            written.shift_remove(name);
        } else {
            written.insert(name.clone(), value.clone());
        }
    }
    written
}
