//! The protocol Chat Completions.

use alloquy_core::output::{ParallelCalls, ToolChoice};
use alloquy_core::{Result, SamplingOptions};
use serde_json::{Map, Value, json};

use super::event::{ChatEnd, ChatEvent, ChatUsage};
use super::question::{Question, SIGNATURE};
use crate::dialect::ignored::{OF_OPENAI, ignored};
use crate::wire::size;

/// The bias of a token that must not be sampled.
const BANNED: f32 = -100.0;

/// Returns the body of a request.
///
/// # Errors
/// [`ErrorKind::Unsupported`](alloquy_core::ErrorKind::Unsupported) for what the protocol does not have.
pub(crate) fn body(question: &mut Question) -> Result<Value> {
    let effort = question.effort()?;
    let mut body = Map::new();
    body.insert("model".into(), question.model.clone().into());
    body.insert("messages".into(), messages(&question.messages));
    body.insert("stream".into(), true.into());
    body.insert("stream_options".into(), json!({"include_usage": true}));
    sampling(&question.sampling, &mut body);
    if let Some(most) = question.sampling.max_tokens {
        body.insert(question.limit.into(), most.into());
    }
    let names = ineffective(&question.sampling);
    question.ignore(names);
    if let Some(schema) = &question.schema {
        let named = json!({"name": "reply", "strict": true, "schema": schema});
        body.insert("response_format".into(), json!({"type": "json_schema", "json_schema": named}));
    }
    if !question.tools.is_empty() {
        body.insert("tools".into(), question.tools.clone().into());
        if let Some(choice) = &question.tool_choice {
            body.insert("tool_choice".into(), tool_choice(choice));
        }
        if question.parallel_calls == ParallelCalls::Forbidden {
            body.insert("parallel_tool_calls".into(), false.into());
        }
    }
    if let Some(effort) = effort {
        body.insert("reasoning_effort".into(), effort);
    }
    if !question.variables.is_empty() {
        // Servers with a template of Hugging Face have them; others refuse the field.
        body.insert("chat_template_kwargs".into(), question.variables.clone().into());
    }
    Ok(body.into())
}

/// Returns the messages without what other servers left in them.
fn messages(messages: &[Value]) -> Value {
    let mut cleaned = messages.to_vec();
    for message in cleaned.iter_mut().filter_map(Value::as_object_mut) {
        message.shift_remove(SIGNATURE);
        message.shift_remove("is_error");
    }
    cleaned.into()
}

fn sampling(options: &SamplingOptions, body: &mut Map<String, Value>) {
    let numbers = [
        ("temperature", options.temperature),
        ("top_p", options.top_p),
        ("min_p", options.min_p),
        ("typical_p", options.typical_p),
        ("repetition_penalty", options.repetition_penalty),
        ("presence_penalty", options.presence_penalty),
        ("frequency_penalty", options.frequency_penalty),
    ];
    for (name, number) in numbers {
        if let Some(number) = number {
            body.insert(name.into(), number.into());
        }
    }
    if let Some(top_k) = options.top_k {
        body.insert("top_k".into(), top_k.into());
    }
    if let Some(seed) = seed(options) {
        body.insert("seed".into(), seed.into());
    }
    let mut biases = Map::new();
    for (token, bias) in &options.logit_bias {
        biases.insert(token.to_string(), (*bias).into());
    }
    for token in &options.suppress {
        biases.insert(token.to_string(), BANNED.into());
    }
    if !biases.is_empty() {
        body.insert("logit_bias".into(), biases.into());
    }
}

/// Returns the seed, if it fits 63 bits, as servers require.
pub(crate) fn seed(options: &SamplingOptions) -> Option<i64> {
    options.seed.and_then(|seed| i64::try_from(seed).ok())
}

/// Names the options that have no effect, or not on every server.
fn ineffective(options: &SamplingOptions) -> Vec<&'static str> {
    let mut names = ignored(options, &OF_OPENAI);
    // They need ids, which these servers do not send.
    for name in ["repetition_detection", "stop_tokens"] {
        if options.names().contains(&name) {
            names.push(name);
        }
    }
    if options.seed.is_some() && seed(options).is_none() {
        names.push("seed");
    }
    names
}

fn tool_choice(choice: &ToolChoice) -> Value {
    match choice {
        ToolChoice::None => "none".into(),
        ToolChoice::Required => "required".into(),
        ToolChoice::Named(name) => json!({"type": "function", "function": {"name": name}}),
        _ => "auto".into(),
    }
}

/// Reads an event of the answer.
pub(crate) fn events(event: &Value) -> Vec<ChatEvent> {
    let mut events = Vec::new();
    if let Some(usage) = event.get("usage").filter(|usage| usage.is_object()) {
        events.push(ChatEvent::Usage(counted(usage)));
    }
    let Some(choice) = event.pointer("/choices/0") else { return events };
    if let Some(delta) = choice.get("delta") {
        said(delta, &mut events);
    }
    if let Some(reason) = choice.get("finish_reason").and_then(Value::as_str) {
        events.push(ChatEvent::End(end(reason)));
    }
    events
}

fn counted(usage: &Value) -> ChatUsage {
    // DeepSeek has a name of its own.
    let cached =
        usage.pointer("/prompt_tokens_details/cached_tokens").or(usage.get("prompt_cache_hit_tokens"));
    ChatUsage {
        prompt: usage.get("prompt_tokens").and_then(size),
        cached: cached.and_then(size),
        generated: usage.get("completion_tokens").and_then(size),
        thinking: usage.pointer("/completion_tokens_details/reasoning_tokens").and_then(size),
    }
}

fn said(delta: &Value, events: &mut Vec<ChatEvent>) {
    // Some servers send both names, with the same text.
    let thinking = text(delta, "reasoning_content").or_else(|| text(delta, "reasoning"));
    events.extend(thinking.map(ChatEvent::Thinking));
    events.extend(text(delta, "content").map(ChatEvent::Text));
    events.extend(text(delta, "refusal").map(ChatEvent::Refusal));
    let calls = delta.get("tool_calls").and_then(Value::as_array);
    for (position, call) in (0_u64..).zip(calls.into_iter().flatten()) {
        let place = call.get("index").and_then(Value::as_u64).unwrap_or(position);
        let id = text(call, "id").unwrap_or_default();
        let function = call.get("function").unwrap_or(&Value::Null);
        let name = text(function, "name").unwrap_or_default();
        if !id.is_empty() || !name.is_empty() {
            events.push(ChatEvent::Call { place, id, name });
        }
        if let Some(text) = text(function, "arguments") {
            events.push(ChatEvent::Arguments { place, text });
        }
    }
}

fn text(value: &Value, field: &str) -> Option<String> {
    value.get(field).and_then(Value::as_str).filter(|text| !text.is_empty()).map(str::to_owned)
}

fn end(reason: &str) -> ChatEnd {
    match reason {
        "stop" => ChatEnd::Stop,
        "length" => ChatEnd::Length,
        "tool_calls" | "function_call" => ChatEnd::ToolCalls,
        other => ChatEnd::Other(other.to_owned()),
    }
}
