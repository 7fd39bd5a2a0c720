//! The schemas of answers, which `response.rs` and `stored.rs` write. Tests compare every answer with them.
#![allow(dead_code, reason = "these types describe answers, which are written as JSON")]

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

/// A reply to a list of messages.
#[derive(JsonSchema, Serialize)]
pub(super) struct ChatCompletion {
    id: String,
    /// Always `chat.completion`.
    object: String,
    /// In seconds since 1970.
    created: u64,
    model: String,
    /// One choice.
    choices: Vec<Choice>,
    usage: CompletionUsage,
    service_tier: String,
    system_fingerprint: Option<String>,
    /// Of a stored completion.
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<BTreeMap<String, String>>,
    /// What the reply reports beside OpenAI's fields: `finish`, `cache`, `warnings`, and where it is stored.
    alloquy: Map<String, Value>,
}

#[derive(JsonSchema, Serialize)]
struct Choice {
    index: usize,
    message: AssistantMessage,
    logprobs: Option<Map<String, Value>>,
    /// `stop`, `length` or `tool_calls`.
    finish_reason: String,
}

/// The message of a reply.
#[derive(JsonSchema, Serialize)]
struct AssistantMessage {
    /// Always `assistant`.
    role: String,
    content: Option<String>,
    refusal: Option<String>,
    /// What the model thought.
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_content: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_calls: Option<Vec<FunctionToolCall>>,
    annotations: Vec<Value>,
}

#[derive(JsonSchema, Serialize)]
struct FunctionToolCall {
    id: String,
    /// Always `function`.
    #[serde(rename = "type")]
    kind: String,
    function: CalledFunction,
}

#[derive(JsonSchema, Serialize)]
struct CalledFunction {
    name: String,
    /// JSON.
    arguments: String,
}

#[derive(JsonSchema, Serialize)]
struct CompletionUsage {
    prompt_tokens: usize,
    completion_tokens: usize,
    total_tokens: usize,
    prompt_tokens_details: PromptTokens,
    completion_tokens_details: CompletionTokens,
}

#[derive(JsonSchema, Serialize)]
struct PromptTokens {
    /// How many tokens the KV cache had.
    cached_tokens: usize,
    audio_tokens: usize,
}

#[derive(JsonSchema, Serialize)]
struct CompletionTokens {
    reasoning_tokens: usize,
    audio_tokens: usize,
}

/// A page of stored completions.
#[derive(JsonSchema, Serialize)]
pub(super) struct CompletionList {
    object: String,
    data: Vec<ChatCompletion>,
    first_id: Option<String>,
    last_id: Option<String>,
    has_more: bool,
}

/// A page of the messages of a stored completion.
#[derive(JsonSchema, Serialize)]
pub(super) struct MessageList {
    object: String,
    data: Vec<Map<String, Value>>,
    first_id: Option<String>,
    last_id: Option<String>,
    has_more: bool,
}

/// Which stored completions are listed.
#[derive(JsonSchema)]
pub(super) struct CompletionListParameters {
    /// The id of the completion before the first one.
    after: Option<String>,
    /// At most so many: 20 unless it is given, and no more than 100.
    limit: Option<usize>,
    /// `asc` unless it is given, or `desc`.
    order: Option<String>,
    /// The model that answered.
    model: Option<String>,
    /// Values of the metadata: `metadata[topic]=tea`.
    metadata: Option<BTreeMap<String, String>>,
}
