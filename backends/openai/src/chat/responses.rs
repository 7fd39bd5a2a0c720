//! The protocol Responses, without anything stored on the server.

use alloquy_core::output::{ParallelCalls, ToolChoice};
use alloquy_core::{Error, ErrorKind, Result};
use serde_json::{Map, Value, json};

use super::event::{ChatEnd, ChatEvent, ChatUsage};
use super::question::Question;
use crate::wire::{field, size};

/// The sampling options of the protocol.
const HONOURED: [&str; 4] = ["temperature", "top_p", "max_tokens", "stop"];

/// Returns the body of a request.
///
/// # Errors
/// [`ErrorKind::Unsupported`] for what the protocol does not have.
pub(crate) fn body(question: &mut Question) -> Result<Value> {
    let effort = question.effort()?;
    let mut body = Map::new();
    body.insert("model".into(), question.model.clone().into());
    let mut input = Vec::new();
    for message in &question.messages {
        items(message, &mut input)?;
    }
    body.insert("input".into(), input.into());
    body.insert("stream".into(), true.into());
    // The conversation is here, so that the server needs no copy.
    body.insert("store".into(), false.into());
    let options = &question.sampling;
    for (name, number) in [("temperature", options.temperature), ("top_p", options.top_p)] {
        if let Some(number) = number {
            body.insert(name.into(), number.into());
        }
    }
    if let Some(most) = options.max_tokens {
        body.insert("max_output_tokens".into(), most.into());
    }
    let mut names = options.names();
    names.retain(|name| !HONOURED.contains(name));
    question.ignore(names);
    if let Some(schema) = &question.schema {
        let format = json!({"type": "json_schema", "name": "reply", "strict": true, "schema": schema});
        body.insert("text".into(), json!({"format": format}));
    }
    if !question.tools.is_empty() {
        body.insert("tools".into(), question.tools.iter().map(tool).collect());
        if let Some(choice) = &question.tool_choice {
            body.insert("tool_choice".into(), tool_choice(choice));
        }
        if question.parallel_calls == ParallelCalls::Forbidden {
            body.insert("parallel_tool_calls".into(), false.into());
        }
    }
    if let Some(effort) = effort {
        body.insert("reasoning".into(), json!({"effort": effort}));
    }
    question.leave_out_variables();
    Ok(body.into())
}

/// Adds the items of a message: its content, then its calls or results. Thinking is not sent back.
fn items(message: &Value, input: &mut Vec<Value>) -> Result<()> {
    let role = field(message, "role");
    if role == "tool" {
        let output = message.get("content").cloned().unwrap_or_default();
        let id = field(message, "tool_call_id");
        input.push(json!({"type": "function_call_output", "call_id": id, "output": output}));
        return Ok(());
    }
    let content = content(message, role == "assistant")?;
    if !content.is_empty() {
        input.push(json!({"type": "message", "role": role, "content": content}));
    }
    for call in message.get("tool_calls").and_then(Value::as_array).into_iter().flatten() {
        let function = call.get("function").unwrap_or(&Value::Null);
        input.push(json!({
            "type": "function_call",
            "call_id": field(call, "id"),
            "name": field(function, "name"),
            "arguments": field(function, "arguments"),
        }));
    }
    Ok(())
}

fn content(message: &Value, is_reply: bool) -> Result<Vec<Value>> {
    let kind = if is_reply { "output_text" } else { "input_text" };
    let mut content = Vec::new();
    match message.get("content") {
        Some(Value::String(text)) => content.push(json!({"type": kind, "text": text})),
        Some(Value::Array(parts)) => {
            for part in parts {
                content.push(piece(part, kind)?);
            }
        }
        _ => {}
    }
    if let Some(refusal) = message.get("refusal").filter(|refusal| refusal.is_string()) {
        content.push(json!({"type": "refusal", "refusal": refusal}));
    }
    Ok(content)
}

fn piece(part: &Value, text_kind: &str) -> Result<Value> {
    match field(part, "type") {
        "text" => Ok(json!({"type": text_kind, "text": field(part, "text")})),
        "image_url" => {
            let url = part.pointer("/image_url/url").cloned().unwrap_or_default();
            Ok(json!({"type": "input_image", "image_url": url, "detail": "auto"}))
        }
        other => {
            let message =
                format!("the protocol Responses has no parts of the type {other:?}: send texts and images");
            Err(Error::new(ErrorKind::Unsupported, message))
        }
    }
}

fn tool(tool: &Value) -> Value {
    let mut written = Map::from_iter([("type".to_owned(), "function".into())]);
    if let Some(function) = tool.get("function").and_then(Value::as_object) {
        written.extend(function.clone());
    }
    written.into()
}

fn tool_choice(choice: &ToolChoice) -> Value {
    match choice {
        ToolChoice::None => "none".into(),
        ToolChoice::Required => "required".into(),
        ToolChoice::Named(name) => json!({"type": "function", "name": name}),
        _ => "auto".into(),
    }
}

/// Reads an event of the answer.
pub(crate) fn events(event: &Value) -> Vec<ChatEvent> {
    let place = event.get("output_index").and_then(Value::as_u64).unwrap_or_default();
    let delta = field(event, "delta").to_owned();
    let response = event.get("response").unwrap_or(&Value::Null);
    match field(event, "type") {
        "response.output_text.delta" => vec![ChatEvent::Text(delta)],
        "response.refusal.delta" => vec![ChatEvent::Refusal(delta)],
        "response.reasoning_text.delta" | "response.reasoning_summary_text.delta" => {
            vec![ChatEvent::Thinking(delta)]
        }
        "response.output_item.added" => {
            event.get("item").and_then(|item| call(place, item)).into_iter().collect()
        }
        "response.function_call_arguments.delta" => vec![ChatEvent::Arguments { place, text: delta }],
        "response.completed" | "response.incomplete" | "response.failed" => {
            let usage = response.get("usage").filter(|usage| usage.is_object()).map(counted);
            usage.into_iter().chain([ChatEvent::End(end(response))]).collect()
        }
        "error" => vec![ChatEvent::End(ChatEnd::Other(field(event, "message").to_owned()))],
        // The beginnings and ends of items, and what later versions add.
        _ => Vec::new(),
    }
}

fn call(place: u64, item: &Value) -> Option<ChatEvent> {
    let is_call = field(item, "type") == "function_call";
    let id = field(item, "call_id").to_owned();
    is_call.then(|| ChatEvent::Call { place, id, name: field(item, "name").to_owned() })
}

fn counted(usage: &Value) -> ChatEvent {
    ChatEvent::Usage(ChatUsage {
        prompt: usage.get("input_tokens").and_then(size),
        cached: usage.pointer("/input_tokens_details/cached_tokens").and_then(size),
        generated: usage.get("output_tokens").and_then(size),
        thinking: usage.pointer("/output_tokens_details/reasoning_tokens").and_then(size),
    })
}

/// Returns why a reply ended. Some servers complete a reply that is incomplete.
fn end(response: &Value) -> ChatEnd {
    let incomplete = response.pointer("/incomplete_details/reason").and_then(Value::as_str);
    match incomplete {
        Some("max_output_tokens" | "max_tokens") => return ChatEnd::Length,
        Some(other) => return ChatEnd::Other(other.to_owned()),
        None => {}
    }
    match field(response, "status") {
        "completed" => ChatEnd::StopOrLength,
        "incomplete" => ChatEnd::Length,
        other => {
            let said = response.pointer("/error/message").and_then(Value::as_str);
            ChatEnd::Other(said.unwrap_or(other).to_owned())
        }
    }
}
