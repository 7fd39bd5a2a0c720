//! The objects of replies: of `/api/chat`, which has messages, and of `/api/generate`, which has texts.

use std::time::{Duration, Instant};

use alloquy_core::message::ToolCall;
use alloquy_core::report::FinishReason;
use alloquy_core::{Content, Message, TurnReply};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::call_arguments::object_of;
use crate::client_tools::ClientTools;
use crate::reply_report::ReplyReport;
use crate::times::now;

/// Which of the two routes answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Chat,
    Generate,
}

/// What is the same in all objects of a reply.
#[derive(Clone, Debug)]
pub(super) struct Heading {
    pub(super) form: Form,
    pub(super) model: String,
    /// When the request arrived.
    pub(super) start: Instant,
    /// How long it took until the model was loaded.
    pub(super) load: Duration,
    pub(super) tools: ClientTools,
}

/// A reply, or a piece of one.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct ReplyObject {
    model: String,
    created_at: String,
    /// Of `/api/chat`.
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<MessageObject>,
    /// Of `/api/generate`.
    #[serde(skip_serializing_if = "Option::is_none")]
    response: Option<String>,
    /// Of `/api/generate`.
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking: Option<String>,
    done: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    done_reason: Option<&'static str>,
    #[serde(flatten)]
    end: Option<EndObject>,
}

/// A message of a reply.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "OllamaMessage")]
struct MessageObject {
    role: &'static str,
    content: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<CallObject>,
}

/// A call of a tool.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(super) struct CallObject {
    id: String,
    function: FunctionObject,
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
struct FunctionObject {
    index: usize,
    name: String,
    arguments: Value,
}

/// What the last object of a reply reports. Times are in nanoseconds.
#[derive(Debug, Serialize, JsonSchema)]
struct EndObject {
    total_duration: u64,
    load_duration: u64,
    prompt_eval_count: usize,
    prompt_eval_duration: u64,
    eval_count: usize,
    eval_duration: u64,
    /// What Alloquy reports of a reply.
    alloquy: Value,
}

/// What a reply, or a piece of it, consists of.
#[derive(Clone, Debug, Default)]
pub(super) struct Said {
    pub(super) text: String,
    pub(super) thinking: Option<String>,
    pub(super) calls: Vec<CallObject>,
}

impl CallObject {
    /// Returns the call at a place among those of the reply.
    pub(super) fn of(call: &ToolCall, index: usize) -> Self {
        let function = FunctionObject { index, name: call.name.clone(), arguments: object_of(call) };
        Self { id: call.id.clone(), function }
    }
}

impl Said {
    fn of(message: &Message) -> Self {
        let mut said = Self::default();
        for part in &message.parts {
            match &part.content {
                Content::Text(text) => said.text.push_str(text),
                // What could not be read as a call is shown as the model wrote it.
                Content::Malformed(malformed) => said.text.push_str(&malformed.raw),
                Content::Thinking(text) => said.thinking.get_or_insert_default().push_str(text),
                Content::ToolCall(call) => said.calls.push(CallObject::of(call, said.calls.len())),
                _ => {}
            }
        }
        said
    }
}

impl Heading {
    /// Returns a piece of a reply.
    pub(super) fn piece(&self, said: Said) -> ReplyObject {
        let mut object = ReplyObject {
            model: self.model.clone(),
            created_at: now(),
            message: None,
            response: None,
            thinking: None,
            done: false,
            done_reason: None,
            end: None,
        };
        match self.form {
            Form::Chat => {
                let Said { text, thinking, calls } = said;
                let message = MessageObject { role: "assistant", content: text, thinking, tool_calls: calls };
                object.message = Some(message);
            }
            Form::Generate => {
                object.response = Some(said.text);
                object.thinking = said.thinking;
            }
        }
        object
    }

    /// Returns a whole reply.
    pub(super) fn whole(&self, reply: &TurnReply) -> ReplyObject {
        let message = self.tools.shown(reply.message(), &reply.pending);
        self.ended(Said::of(&message), reply)
    }

    /// Returns the last object of a stream, whose pieces have all that was said.
    pub(super) fn last(&self, reply: &TurnReply) -> ReplyObject {
        self.ended(Said::default(), reply)
    }

    /// Returns the answer to a request that loads a model.
    pub(super) fn loaded(&self) -> ReplyObject {
        ReplyObject { done: true, done_reason: Some("load"), ..self.piece(Said::default()) }
    }

    fn ended(&self, said: Said, reply: &TurnReply) -> ReplyObject {
        let report = ReplyReport::of(&reply.reply, None);
        let mut prefill = Duration::ZERO;
        let mut decode = Duration::ZERO;
        for timing in &reply.timings {
            prefill += timing.prefill;
            decode += timing.decode;
        }
        let end = EndObject {
            total_duration: nanoseconds(self.start.elapsed()),
            load_duration: nanoseconds(self.load),
            prompt_eval_count: report.usage.prompt,
            prompt_eval_duration: nanoseconds(prefill),
            eval_count: report.usage.generated,
            eval_duration: nanoseconds(decode),
            alloquy: report.json(),
        };
        let done_reason = match report.finish {
            Some(FinishReason::Length | FinishReason::ContextFull) => "length",
            _ => "stop",
        };
        ReplyObject { done: true, done_reason: Some(done_reason), end: Some(end), ..self.piece(said) }
    }
}

/// Returns a time in nanoseconds.
pub(super) fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
