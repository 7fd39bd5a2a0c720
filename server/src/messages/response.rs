//! The object of a message, and its parts.

use alloquy_core::report::FinishReason;
use alloquy_core::{Content, ConversationId, TurnReply};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

use crate::call_arguments::object_of;
use crate::client_tools::ClientTools;
use crate::reply_report::ReplyReport;

/// The beginning of the ids of messages; the rest is the id of the conversation, which ends with the request.
const ID: &str = "msg_";

/// The signature of what a model thought. It is not encrypted here, so nothing is signed; clients expect some text.
pub(super) const SIGNATURE: &str = "unsigned";

/// What is the same in the whole message and in the events of a stream.
#[derive(Clone, Debug)]
pub(super) struct Heading {
    pub(super) conversation: ConversationId,
    pub(super) model: String,
    pub(super) hides_thinking: bool,
    pub(super) is_compared: bool,
    pub(super) tools: ClientTools,
}

/// A message of the assistant.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct MessageObject {
    id: String,
    #[serde(rename = "type")]
    kind: &'static str,
    role: &'static str,
    model: String,
    content: Vec<BlockObject>,
    stop_reason: Option<&'static str>,
    stop_sequence: Option<String>,
    usage: UsageObject,
    /// Says that prompts of messages are not kept to be compared, where that was asked. What was cached, and why the rest was not, is in
    /// `alloquy.cache`.
    #[serde(skip_serializing_if = "Option::is_none")]
    diagnostics: Option<Value>,
    /// What Alloquy reports of a reply.
    #[serde(skip_serializing_if = "Option::is_none")]
    alloquy: Option<Value>,
}

/// A block of a reply.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum BlockObject {
    Text { text: String },
    Thinking { thinking: String, signature: &'static str },
    ToolUse { id: String, name: String, input: Value },
}

/// How many tokens a message took. The three numbers of its input add up to the prompt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub(super) struct UsageObject {
    /// What was computed.
    input_tokens: usize,
    /// Always 0: what is computed is cached without being asked.
    cache_creation_input_tokens: usize,
    /// What the KV cache had.
    cache_read_input_tokens: usize,
    output_tokens: usize,
}

impl UsageObject {
    /// The numbers of a report.
    pub(super) fn of(report: &ReplyReport) -> Self {
        let usage = report.usage;
        Self {
            input_tokens: usage.prompt.saturating_sub(usage.cached),
            cache_creation_input_tokens: 0,
            cache_read_input_tokens: usage.cached,
            output_tokens: usage.generated,
        }
    }
}

impl Heading {
    /// Returns the report of a reply.
    pub(super) fn report(&self, reply: &TurnReply) -> ReplyReport {
        ReplyReport::of(&reply.reply, None)
    }

    /// Returns the message before its first word.
    pub(super) fn empty(&self) -> MessageObject {
        MessageObject {
            id: format!("{ID}{}", self.conversation),
            kind: "message",
            role: "assistant",
            model: self.model.clone(),
            content: Vec::new(),
            stop_reason: None,
            stop_sequence: None,
            usage: UsageObject::default(),
            diagnostics: self.is_compared.then(|| json!({"cache_miss_reason": {"type": "unavailable"}})),
            alloquy: None,
        }
    }

    /// Returns the message of a whole reply.
    pub(super) fn whole(&self, reply: &TurnReply) -> MessageObject {
        let report = self.report(reply);
        MessageObject {
            content: self.blocks(reply),
            stop_reason: Some(stop_reason(&report)),
            stop_sequence: report.stop_string.clone(),
            usage: UsageObject::of(&report),
            alloquy: Some(report.json()),
            ..self.empty()
        }
    }

    fn blocks(&self, reply: &TurnReply) -> Vec<BlockObject> {
        let mut blocks = Vec::new();
        for part in &self.tools.shown(reply.message(), &reply.pending).parts {
            match &part.content {
                Content::Text(text) => add_text(&mut blocks, text),
                // What could not be read as a call is shown as the model wrote it.
                Content::Malformed(malformed) => add_text(&mut blocks, &malformed.raw),
                Content::Thinking(text) => {
                    let thinking = if self.hides_thinking { String::new() } else { text.clone() };
                    blocks.push(BlockObject::Thinking { thinking, signature: SIGNATURE });
                }
                Content::ToolCall(call) => blocks.push(BlockObject::ToolUse {
                    id: call.id.clone(),
                    name: call.name.clone(),
                    input: object_of(call),
                }),
                _ => {}
            }
        }
        blocks
    }
}

/// Adds a text to the block of text before it, or as a new one. A block of text is never empty.
fn add_text(blocks: &mut Vec<BlockObject>, more: &str) {
    match blocks.last_mut() {
        Some(BlockObject::Text { text }) => text.push_str(more),
        _ if more.is_empty() => {}
        _ => blocks.push(BlockObject::Text { text: more.to_owned() }),
    }
}

/// Returns why a reply ended, in Anthropic's words.
pub(super) fn stop_reason(report: &ReplyReport) -> &'static str {
    match report.finish {
        Some(FinishReason::Length) => "max_tokens",
        Some(FinishReason::ContextFull) => "model_context_window_exceeded",
        Some(FinishReason::StopString) => "stop_sequence",
        Some(FinishReason::ToolCalls) => "tool_use",
        _ => "end_turn",
    }
}

/// The number of tokens of a prompt.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub(super) struct TokenCount {
    pub(super) input_tokens: usize,
}
