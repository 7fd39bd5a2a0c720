//! The protocol Messages, of Anthropic and of servers that have it too.

use alloquy_core::output::{ParallelCalls, ToolChoice};
use alloquy_core::{Error, ErrorKind, Result};
use serde_json::{Map, Value, json};

use super::event::{ChatEnd, ChatEvent, ChatUsage};
use super::question::{Question, SIGNATURE};
use crate::wire::{field, size};

/// The sampling options of the protocol.
const HONOURED: [&str; 5] = ["temperature", "top_p", "top_k", "max_tokens", "stop"];

/// How many tokens a reply may have where the request does not say it: the protocol requires a limit.
const MOST: usize = 4096;

/// Returns the body of a request.
///
/// # Errors
/// [`ErrorKind::Unsupported`] for what the protocol does not have.
pub(crate) fn body(question: &mut Question) -> Result<Value> {
    let mut body = Map::new();
    body.insert("model".into(), question.model.clone().into());
    let (system, messages) = conversation(&question.messages)?;
    if !system.is_empty() {
        body.insert("system".into(), system.into());
    }
    body.insert("messages".into(), messages.into());
    body.insert("stream".into(), true.into());
    let options = &question.sampling;
    // Thinking counts as part of the reply.
    let most = MOST.saturating_add(question.thinking_budget.unwrap_or(0));
    body.insert("max_tokens".into(), options.max_tokens.unwrap_or(most).into());
    for (name, number) in [("temperature", options.temperature), ("top_p", options.top_p)] {
        if let Some(number) = number {
            body.insert(name.into(), number.into());
        }
    }
    if let Some(top_k) = options.top_k.filter(|top_k| *top_k > 0) {
        body.insert("top_k".into(), top_k.into());
    }
    let mut names = options.names();
    names.retain(|name| !HONOURED.contains(name));
    question.ignore(names);
    match question.thinking_budget {
        None => {}
        Some(0) => {
            body.insert("thinking".into(), json!({"type": "disabled"}));
        }
        Some(budget) => {
            body.insert("thinking".into(), json!({"type": "enabled", "budget_tokens": budget}));
        }
    }
    if let Some(schema) = &question.schema {
        body.insert("output_config".into(), json!({"format": {"type": "json_schema", "schema": schema}}));
    }
    if !question.tools.is_empty() {
        body.insert("tools".into(), question.tools.iter().map(tool).collect());
        if let Some(choice) = tool_choice(question) {
            body.insert("tool_choice".into(), choice);
        }
    }
    question.leave_out_variables();
    Ok(body.into())
}

/// Returns the instructions and the messages after them. Messages of one side in a row are one.
fn conversation(messages: &[Value]) -> Result<(String, Vec<Value>)> {
    let mut system: Vec<&str> = Vec::new();
    let mut sides: Vec<(&str, Vec<Value>)> = Vec::new();
    for (index, message) in messages.iter().enumerate() {
        let role = field(message, "role");
        if role == "system" || role == "developer" {
            if !sides.is_empty() {
                let text = "the protocol Messages has instructions only at the start: put them first";
                return Err(Error::new(ErrorKind::Unsupported, format!("messages[{index}]: {text}")));
            }
            system.extend(texts(message));
            continue;
        }
        let (side, blocks) = match role {
            "assistant" => ("assistant", said(message)?),
            "tool" => ("user", vec![result(message)]),
            _ => ("user", content(message)?),
        };
        // The protocol refuses messages without content, such as a reply of thinking alone.
        if blocks.is_empty() {
            continue;
        }
        match sides.last_mut() {
            Some((last, known)) if *last == side => known.extend(blocks),
            _ => sides.push((side, blocks)),
        }
    }
    let mut written = Vec::new();
    for (role, blocks) in sides {
        written.push(json!({"role": role, "content": blocks}));
    }
    Ok((system.join("\n\n"), written))
}

fn texts(message: &Value) -> Vec<&str> {
    match message.get("content") {
        Some(Value::String(text)) => vec![text],
        Some(Value::Array(parts)) => parts.iter().map(|part| field(part, "text")).collect(),
        _ => Vec::new(),
    }
}

/// Returns the text and the images of a message.
fn content(message: &Value) -> Result<Vec<Value>> {
    let mut blocks = Vec::new();
    match message.get("content") {
        Some(Value::Array(parts)) => {
            for part in parts {
                blocks.push(block(part)?);
            }
        }
        // The protocol refuses empty texts.
        Some(Value::String(text)) if !text.is_empty() => blocks.push(json!({"type": "text", "text": text})),
        _ => {}
    }
    Ok(blocks)
}

fn block(part: &Value) -> Result<Value> {
    let kind = field(part, "type");
    let uri = part.pointer("/image_url/url").and_then(Value::as_str);
    match uri.and_then(|uri| uri.strip_prefix("data:")?.split_once(";base64,")) {
        Some((media_type, data)) => {
            let source = json!({"type": "base64", "media_type": media_type, "data": data});
            Ok(json!({"type": "image", "source": source}))
        }
        None if kind == "text" => Ok(json!({"type": "text", "text": field(part, "text")})),
        None => {
            let message =
                format!("the protocol Messages has no parts of the type {kind:?}: send texts and images");
            Err(Error::new(ErrorKind::Unsupported, message))
        }
    }
}

/// Returns the blocks of a reply. Thinking is sent back only with what proves it.
fn said(message: &Value) -> Result<Vec<Value>> {
    let mut blocks = Vec::new();
    let thinking = field(message, "reasoning_content");
    let signature = field(message, SIGNATURE);
    if !thinking.is_empty() && !signature.is_empty() {
        blocks.push(json!({"type": "thinking", "thinking": thinking, "signature": signature}));
    }
    blocks.extend(content(message)?);
    if let Some(refusal) = message.get("refusal").filter(|refusal| refusal.is_string()) {
        blocks.push(json!({"type": "text", "text": refusal}));
    }
    for call in message.get("tool_calls").and_then(Value::as_array).into_iter().flatten() {
        let function = call.get("function").unwrap_or(&Value::Null);
        let input = serde_json::from_str(field(function, "arguments")).unwrap_or_else(|_| json!({}));
        let name = field(function, "name");
        blocks.push(json!({"type": "tool_use", "id": field(call, "id"), "name": name, "input": input}));
    }
    Ok(blocks)
}

fn result(message: &Value) -> Value {
    let mut block = json!({"type": "tool_result", "tool_use_id": field(message, "tool_call_id")});
    if let Value::Object(block) = &mut block {
        block.insert("content".into(), texts(message).concat().into());
        if message.get("is_error") == Some(&Value::Bool(true)) {
            block.insert("is_error".into(), true.into());
        }
    }
    block
}

fn tool(tool: &Value) -> Value {
    let function = tool.get("function").unwrap_or(&Value::Null);
    let schema = function.get("parameters").cloned().unwrap_or_else(|| json!({"type": "object"}));
    let mut written = json!({"name": field(function, "name"), "input_schema": schema});
    if let (Value::Object(written), Some(description)) = (&mut written, function.get("description")) {
        written.insert("description".into(), description.clone());
    }
    written
}

fn tool_choice(question: &Question) -> Option<Value> {
    let is_single = question.parallel_calls == ParallelCalls::Forbidden;
    let mut choice = match &question.tool_choice {
        None if !is_single => return None,
        Some(ToolChoice::None) => return Some(json!({"type": "none"})),
        Some(ToolChoice::Required) => json!({"type": "any"}),
        Some(ToolChoice::Named(name)) => json!({"type": "tool", "name": name}),
        _ => json!({"type": "auto"}),
    };
    if let (Value::Object(choice), true) = (&mut choice, is_single) {
        choice.insert("disable_parallel_tool_use".into(), true.into());
    }
    Some(choice)
}

/// Reads an event of the answer.
pub(crate) fn events(event: &Value) -> Vec<ChatEvent> {
    let place = event.get("index").and_then(Value::as_u64).unwrap_or_default();
    let mut events = Vec::new();
    match field(event, "type") {
        "message_start" => events.extend(event.pointer("/message/usage").map(begun)),
        "content_block_start" => {
            events.extend(event.get("content_block").and_then(|block| begins(place, block)));
        }
        "content_block_delta" => events.extend(event.get("delta").and_then(|delta| grows(place, delta))),
        "message_delta" => {
            if let Some(generated) = event.pointer("/usage/output_tokens").and_then(size) {
                events
                    .push(ChatEvent::Usage(ChatUsage { generated: Some(generated), ..ChatUsage::default() }));
            }
            let reason = event.pointer("/delta/stop_reason").and_then(Value::as_str);
            if reason == Some("refusal") {
                events.push(ChatEvent::Refusal(String::new()));
            }
            events.extend(reason.map(|reason| ChatEvent::End(end(reason))));
        }
        // Pings, ends of blocks, and what later versions add.
        _ => {}
    }
    events
}

/// Counts the prompt, of which the protocol counts each part alone.
fn begun(usage: &Value) -> ChatEvent {
    let count = |name: &str| usage.get(name).and_then(size);
    let cached = count("cache_read_input_tokens");
    let written = count("cache_creation_input_tokens");
    let prompt = count("input_tokens").map(|fresh| fresh + cached.unwrap_or(0) + written.unwrap_or(0));
    ChatEvent::Usage(ChatUsage { prompt, cached, ..ChatUsage::default() })
}

fn begins(place: u64, block: &Value) -> Option<ChatEvent> {
    match field(block, "type") {
        "tool_use" => Some(ChatEvent::Call {
            place,
            id: field(block, "id").to_owned(),
            name: field(block, "name").to_owned(),
        }),
        "text" => Some(ChatEvent::Text(field(block, "text").to_owned())),
        "thinking" => Some(ChatEvent::Thinking(field(block, "thinking").to_owned())),
        _ => None,
    }
}

fn grows(place: u64, delta: &Value) -> Option<ChatEvent> {
    match field(delta, "type") {
        "text_delta" => Some(ChatEvent::Text(field(delta, "text").to_owned())),
        "thinking_delta" => Some(ChatEvent::Thinking(field(delta, "thinking").to_owned())),
        "signature_delta" => Some(ChatEvent::Signature(field(delta, "signature").to_owned())),
        "input_json_delta" => {
            Some(ChatEvent::Arguments { place, text: field(delta, "partial_json").to_owned() })
        }
        _ => None,
    }
}

fn end(reason: &str) -> ChatEnd {
    match reason {
        "end_turn" | "stop_sequence" | "refusal" => ChatEnd::Stop,
        "max_tokens" => ChatEnd::Length,
        "model_context_window_exceeded" => ChatEnd::ContextFull,
        "tool_use" => ChatEnd::ToolCalls,
        other => ChatEnd::Other(other.to_owned()),
    }
}
