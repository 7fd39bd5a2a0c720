//! Messages and tools in the shape that chat templates read: Hugging Face's. Knows no family and no marks.

use alloquy_core::{
    Error, ErrorKind, Message, Part, PromptSource, Result, Role, TemplateInput, ToolCall, ToolResult,
    ToolSpec,
};
use serde_json::{Map, Value, json};

use crate::history;

/// Puts a conversation into the shape that templates read.
///
/// Thoughts go in as `reasoning_content`, joined, where they are to be seen; what could not be read of a reply stays in its text; a message
/// of several tool results becomes one message each. The host's template variables pass through.
///
/// # Errors
/// [`ErrorKind::Unsupported`] for a part that its role cannot have, [`ErrorKind::Invalid`] for an unknown field
/// that would overwrite a known one.
pub(crate) fn template_input(source: PromptSource<'_>) -> Result<TemplateInput> {
    let messages: Result<Vec<_>> =
        history::messages(source).map(|message| template_messages(&message)).collect();
    let tools: Result<Vec<_>> = source.preface.tools.iter().map(function).collect();
    Ok(TemplateInput {
        messages: messages?.concat(),
        tools: Some(tools?).filter(|tools| !tools.is_empty()),
        ending: source.ending,
        extra: history::variables(source),
        ..TemplateInput::default()
    })
}

fn template_messages(message: &Message) -> Result<Vec<Value>> {
    if let Some(part) = message.parts.iter().find(|part| !may_have(message.role, part)) {
        return Err(misplaced(message.role, part));
    }
    if message.tool_results().next().is_none() {
        return Ok(vec![spoken(message)?]);
    }
    if let Some(part) = message.parts.iter().find(|part| !matches!(part, Part::ToolResult(_))) {
        let message = format!("a message of tool results cannot have {}", kind(part));
        return Err(Error::new(ErrorKind::Unsupported, message));
    }
    message.tool_results().map(|result| answer(message, result)).collect()
}

fn may_have(role: Role, part: &Part) -> bool {
    match part {
        Part::Text(_) | Part::Image(_) | Part::Audio(_) | Part::Video(_) => true,
        Part::Thinking(_) | Part::ToolCall(_) | Part::Malformed(_) => role == Role::Assistant,
        Part::ToolResult(_) => role == Role::Tool,
        _ => false,
    }
}

fn misplaced(role: Role, part: &Part) -> Error {
    let message = format!("a message of role {role} cannot have {}", kind(part));
    Error::new(ErrorKind::Unsupported, message)
}

fn kind(part: &Part) -> &'static str {
    match part {
        Part::Text(_) => "text",
        Part::Thinking(_) => "thinking",
        Part::Image(_) => "a picture",
        Part::Audio(_) => "a sound",
        Part::Video(_) => "a film",
        Part::ToolCall(_) => "a tool call",
        Part::ToolResult(_) => "a tool result",
        Part::Malformed(_) => "an unreadable part",
        _ => "a part of an unknown kind",
    }
}

/// A message that somebody says; everything but tool results.
fn spoken(message: &Message) -> Result<Value> {
    let mut fields = Map::new();
    fields.insert("role".to_owned(), message.role.as_str().into());
    fields.extend(message.name.clone().map(|name| ("name".to_owned(), name.into())));
    fields.insert("content".to_owned(), content(message));
    fields.extend(message.thinking().map(|thoughts| ("reasoning_content".to_owned(), thoughts.into())));
    let calls: Vec<_> = message.tool_calls().map(call).collect();
    if !calls.is_empty() {
        fields.insert("tool_calls".to_owned(), calls.into());
    }
    with_extra(fields, &message.extra)
}

/// Text alone is a string; with media it is a list of parts in their order.
fn content(message: &Message) -> Value {
    let mut content = Vec::new();
    for part in &message.parts {
        match part {
            Part::Text(text) => push_text(&mut content, text),
            Part::Malformed(malformed) => push_text(&mut content, &malformed.raw),
            Part::Image(_) => content.push(json!({"type": "image"})),
            Part::Audio(_) => content.push(json!({"type": "audio"})),
            Part::Video(_) => content.push(json!({"type": "video"})),
            _ => {}
        }
    }
    match content.as_slice() {
        [] => Value::from(""),
        [only] if message.media().next().is_none() => only.get("text").cloned().unwrap_or_default(),
        _ => content.into(),
    }
}

/// Adjacent texts are one, as in [`Message::text`].
fn push_text(content: &mut Vec<Value>, text: &str) {
    match content.last_mut().and_then(|last| last.get_mut("text")) {
        Some(Value::String(before)) => before.push_str(text),
        _ => content.push(json!({"type": "text", "text": text})),
    }
}

fn call(call: &ToolCall) -> Value {
    let function = json!({"name": call.name, "arguments": with_object(&call.arguments)});
    json!({"type": "function", "id": call.id, "function": function})
}

/// Arguments that came as the text of a JSON object are that object to a template; here already, because escapes
/// in the text must not hide a control token.
fn with_object(arguments: &Value) -> Value {
    let parsed = arguments.as_str().and_then(|text| serde_json::from_str::<Map<String, Value>>(text).ok());
    parsed.map_or_else(|| arguments.clone(), Value::Object)
}

fn answer(message: &Message, result: &ToolResult) -> Result<Value> {
    let mut fields = Map::new();
    fields.insert("role".to_owned(), message.role.as_str().into());
    fields.insert("tool_call_id".to_owned(), result.id.as_str().into());
    fields.insert("name".to_owned(), result.name.as_str().into());
    fields.insert("content".to_owned(), result.text().into());
    if let Some(name) = message.name.as_ref().filter(|name| **name != result.name) {
        return Err(twice("name", &name.as_str().into()));
    }
    with_extra(fields, &message.extra)
}

fn function(tool: &ToolSpec) -> Result<Value> {
    let mut fields = Map::new();
    fields.insert("name".to_owned(), tool.name.as_str().into());
    fields.insert("description".to_owned(), tool.description.as_str().into());
    if !tool.parameters.is_null() {
        fields.insert("parameters".to_owned(), tool.parameters.clone());
    }
    Ok(json!({"type": "function", "function": with_extra(fields, &tool.extra)?}))
}

fn with_extra(mut fields: Map<String, Value>, extra: &Map<String, Value>) -> Result<Value> {
    for (key, value) in extra {
        if fields.contains_key(key) {
            return Err(twice(key, value));
        }
        let value = if key == "tool_calls" { with_objects(value) } else { value.clone() };
        fields.insert(key.clone(), value);
    }
    Ok(Value::Object(fields))
}

/// Calls that came as an unknown field are calls to a template all the same.
fn with_objects(calls: &Value) -> Value {
    let mut calls = calls.clone();
    for call in calls.as_array_mut().into_iter().flatten() {
        let is_nested = call.get("function").is_some_and(Value::is_object);
        let call = if is_nested { call.get_mut("function") } else { Some(call) };
        if let Some(arguments) = call.and_then(|call| call.get_mut("arguments")) {
            *arguments = with_object(arguments);
        }
    }
    calls
}

fn twice(key: &str, value: &Value) -> Error {
    Error::new(ErrorKind::Invalid, format!("the field {key:?} is known already, and cannot be {value} too"))
}
