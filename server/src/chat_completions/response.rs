//! The objects of completions.

use alloquy_core::sampling::TokenLogprobs;
use alloquy_core::{Content, ConversationId, Message, TurnReply};
use serde_json::{Map, Value, json};

use super::identity::ID;
use crate::call_arguments;
use crate::client_tools::ClientTools;
use crate::logprobs;
use crate::models::OpenedModel;
use crate::reply_report::ReplyReport;

/// What is the same in the whole object and in all chunks of a completion.
#[derive(Clone, Debug)]
pub(super) struct Completion {
    pub(super) id: ConversationId,
    pub(super) created: u64,
    pub(super) model: String,
    pub(super) is_stored: bool,
    pub(super) tools: ClientTools,
}

impl Completion {
    /// Returns the id.
    pub(super) fn id(&self) -> String {
        format!("{ID}{}", self.id)
    }

    /// Returns the report of a reply.
    pub(super) fn report(&self, reply: &TurnReply) -> ReplyReport {
        let stored = self.is_stored.then(|| (self.id.clone(), reply.node));
        ReplyReport::of(&reply.reply, stored)
    }

    /// Returns the object of a whole reply.
    pub(super) fn whole(&self, reply: &TurnReply, model: &OpenedModel, has_logprobs: bool) -> Value {
        let logprobs = has_logprobs.then(|| choice_logprobs(&reply.reply.logprobs, model));
        let message = self.tools.shown(reply.message(), &reply.pending);
        self.object(&message, &self.report(reply), logprobs.as_ref())
    }

    /// Returns the object of a message and its report.
    pub(super) fn object(&self, message: &Message, report: &ReplyReport, logprobs: Option<&Value>) -> Value {
        json!({
            "id": self.id(),
            "object": "chat.completion",
            "created": self.created,
            "model": self.model,
            "choices": [{
                "index": 0,
                "message": message_of(message),
                "logprobs": logprobs,
                "finish_reason": report.finish_reason(),
            }],
            "usage": report.usage(),
            "service_tier": "default",
            "system_fingerprint": null,
            "alloquy": report.json(),
        })
    }

    /// Returns a chunk of a stream with these choices.
    pub(super) fn chunk(&self, choices: &Value) -> Value {
        json!({
            "id": self.id(),
            "object": "chat.completion.chunk",
            "created": self.created,
            "model": self.model,
            "service_tier": "default",
            "system_fingerprint": null,
            "choices": choices,
        })
    }
}

/// Returns the field `logprobs` of a choice.
pub(super) fn choice_logprobs(logprobs: &[TokenLogprobs], model: &OpenedModel) -> Value {
    json!({"content": logprobs::tokens(logprobs, model), "refusal": null})
}

/// Returns a message of the assistant.
fn message_of(message: &Message) -> Value {
    let mut fields = Map::new();
    fields.insert("role".to_owned(), "assistant".into());
    let mut text: Option<String> = None;
    let mut thinking: Option<String> = None;
    let mut calls = Vec::new();
    for part in &message.parts {
        match &part.content {
            Content::Text(piece) => text.get_or_insert_default().push_str(piece),
            // What could not be read as a call is shown as the model wrote it.
            Content::Malformed(malformed) => text.get_or_insert_default().push_str(&malformed.raw),
            Content::Thinking(piece) => thinking.get_or_insert_default().push_str(piece),
            Content::ToolCall(call) => calls.push(call_of(call)),
            _ => {}
        }
    }
    // A reply without calls has a text, even an empty one.
    let text = if calls.is_empty() { Some(text.unwrap_or_default()) } else { text };
    fields.insert("content".to_owned(), json!(text));
    fields.insert("refusal".to_owned(), Value::Null);
    if let Some(thinking) = thinking {
        fields.insert("reasoning_content".to_owned(), thinking.into());
    }
    if !calls.is_empty() {
        fields.insert("tool_calls".to_owned(), calls.into());
    }
    fields.insert("annotations".to_owned(), json!([]));
    Value::Object(fields)
}

/// Returns a call of a tool.
pub(super) fn call_of(call: &alloquy_core::message::ToolCall) -> Value {
    let arguments = call_arguments::text_of(call);
    json!({"id": call.id, "type": "function", "function": {"name": call.name, "arguments": arguments}})
}
