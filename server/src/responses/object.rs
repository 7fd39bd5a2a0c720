//! The object of a response, made of its settings and the nodes of its reply, whether they were just generated or are stored.

use alloquy_core::report::{FinishReason, Usage};
use alloquy_core::store::HeadMove;
use alloquy_core::tree::NodeStatus;
use alloquy_core::{ConversationId, Node, NodeId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::settings::Settings;
use crate::error::ApiError;
use crate::items::{ApprovedCalls, Item, ItemContent, ResponseId, Shown};
use crate::reply_report::ReplyReport;
use crate::times::unix_seconds;

/// How far a response is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Status {
    Queued,
    InProgress,
    Completed,
    Incomplete,
    Failed,
    Cancelled,
}

impl Status {
    /// Returns the name of the event with which a response of this status ends.
    pub(super) fn last_event(self) -> &'static str {
        match self {
            Self::Completed => "response.completed",
            Self::Failed => "response.failed",
            _ => "response.incomplete",
        }
    }
}

/// How a response ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Ending {
    pub(super) status: Status,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) error: Option<ResponseError>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) reason: Option<String>,
}

/// Why a response failed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct ResponseError {
    code: String,
    message: String,
    param: Option<String>,
}

impl ResponseError {
    /// The error of a request, with one of the codes that clients know for responses.
    pub(super) fn of(error: &ApiError) -> Self {
        let code = match error.code_text() {
            Some("rate_limit_exceeded") => "rate_limit_exceeded",
            _ if error.is_of_client() => "invalid_prompt",
            _ => "server_error",
        };
        let param = error.param_text().map(str::to_owned);
        Self { code: code.to_owned(), message: error.message().to_owned(), param }
    }
}

impl Ending {
    /// A response that failed.
    pub(super) fn failed(error: &ApiError) -> Self {
        Self { status: Status::Failed, error: Some(ResponseError::of(error)), reason: None }
    }

    /// A response that ended without an error.
    pub(super) fn of_status(status: Status) -> Self {
        Self { status, error: None, reason: None }
    }

    /// How a response with these nodes ended.
    pub(super) fn of(settings: &Settings, nodes: &[Node]) -> Self {
        let interrupted = if settings.background { Status::Cancelled } else { Status::Incomplete };
        let Some(last) = nodes.last() else { return Self::of_status(Status::Incomplete) };
        let Some(facts) = last.reply.as_deref() else {
            // Results of tools that ran here: the turn was ended after them, or the client has to answer further calls.
            let status = if has_open_calls(nodes) { Status::Completed } else { interrupted };
            return Self::of_status(status);
        };
        match facts.finish {
            Some(FinishReason::Error) => {
                let message =
                    "the model failed while it wrote the reply: the log of the server has the cause";
                let error = ResponseError {
                    code: "server_error".to_owned(),
                    message: message.to_owned(),
                    param: None,
                };
                Self { status: Status::Failed, error: Some(error), reason: None }
            }
            Some(FinishReason::Cancelled) => Self::of_status(interrupted),
            Some(FinishReason::Length | FinishReason::ContextFull) => {
                let reason = Some("max_output_tokens".to_owned());
                Self { status: Status::Incomplete, error: None, reason }
            }
            None if last.status == NodeStatus::Interrupted => Self::of_status(Status::Incomplete),
            _ => Self::of_status(Status::Completed),
        }
    }
}

/// Returns whether the last reply has calls without results.
fn has_open_calls(nodes: &[Node]) -> bool {
    let results: Vec<&str> =
        nodes.iter().flat_map(|node| node.message.tool_results()).map(|result| result.id.as_str()).collect();
    let reply = nodes.iter().rev().find(|node| node.reply.is_some());
    reply.is_some_and(|node| node.message.tool_calls().any(|call| !results.contains(&call.id.as_str())))
}

/// A response.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct ResponseObject {
    id: String,
    object: &'static str,
    status: Status,
    completed_at: Option<u64>,
    error: Option<ResponseError>,
    incomplete_details: Option<IncompleteDetails>,
    output: Vec<Item>,
    usage: Option<ResponseUsage>,
    #[serde(flatten)]
    settings: Settings,
    alloquy: Value,
}

/// Why a response is incomplete.
#[derive(Clone, Debug, Serialize, JsonSchema)]
struct IncompleteDetails {
    reason: String,
}

/// How many tokens a response took, with all calls of the model.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(super) struct ResponseUsage {
    input_tokens: usize,
    input_tokens_details: InputDetails,
    output_tokens: usize,
    output_tokens_details: OutputDetails,
    total_tokens: usize,
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
struct InputDetails {
    cached_tokens: usize,
    /// Writing to the KV cache costs nothing here.
    cache_write_tokens: usize,
}

#[derive(Clone, Debug, Serialize, JsonSchema)]
struct OutputDetails {
    reasoning_tokens: usize,
}

impl From<Usage> for ResponseUsage {
    fn from(usage: Usage) -> Self {
        Self {
            input_tokens: usage.prompt,
            input_tokens_details: InputDetails { cached_tokens: usage.cached, cache_write_tokens: 0 },
            output_tokens: usage.generated,
            output_tokens_details: OutputDetails { reasoning_tokens: usage.thinking },
            total_tokens: usage.prompt + usage.generated,
        }
    }
}

/// Where the head of the conversation is after a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct HeadPlace {
    pub(super) head: Option<NodeId>,
    /// Whether another writer moved it first, so that the response is a branch.
    pub(super) branched: Option<bool>,
}

impl HeadPlace {
    /// The place after a turn whose last node is `last`.
    pub(super) fn after(outcome: HeadMove, last: NodeId) -> Self {
        match outcome {
            HeadMove::Branched { head } => Self { head, branched: Some(true) },
            _ => Self { head: Some(last), branched: Some(false) },
        }
    }
}

/// What a response is made of.
#[derive(Clone, Debug)]
pub(super) struct Sources<'a> {
    pub(super) settings: &'a Settings,
    pub(super) conversation: &'a ConversationId,
    /// The last message that is answered.
    pub(super) question: NodeId,
    /// The nodes after it, as far as they belong to the response.
    pub(super) nodes: &'a [Node],
    pub(super) head: Option<HeadPlace>,
    approved: Option<&'a ApprovedCalls>,
}

impl<'a> Sources<'a> {
    /// A response with these nodes, whose request approves no call.
    pub(super) fn new(
        settings: &'a Settings,
        conversation: &'a ConversationId,
        question: NodeId,
        nodes: &'a [Node],
        head: Option<HeadPlace>,
    ) -> Self {
        Self { settings, conversation, question, nodes, head, approved: None }
    }

    /// Sets the calls that the request has approved.
    pub(super) fn approved(self, approved: &'a ApprovedCalls) -> Self {
        Self { approved: Some(approved), ..self }
    }

    /// Returns the response that has ended in a way.
    pub(super) fn ended(&self, ending: Ending) -> ResponseObject {
        let shown = Shown { conversation: self.conversation, images: false };
        let mut response = self.running(ending.status);
        let none = ApprovedCalls::default();
        response.output = shown.replies(self.question, self.nodes, self.approved.unwrap_or(&none));
        response.usage = self.usage().map(ResponseUsage::from);
        response.error = ending.error;
        response.incomplete_details = ending.reason.map(|reason| IncompleteDetails { reason });
        if ending.status == Status::Completed {
            response.completed_at = self.nodes.last().map(|node| unix_seconds(node.id.created()));
        }
        response.alloquy = self.report();
        response
    }

    /// Returns the response before its end.
    pub(super) fn running(&self, status: Status) -> ResponseObject {
        let id = ResponseId { conversation: self.conversation.clone(), node: self.question };
        ResponseObject {
            id: id.to_string(),
            object: "response",
            status,
            completed_at: None,
            error: None,
            incomplete_details: None,
            output: Vec::new(),
            usage: None,
            settings: self.settings.clone(),
            alloquy: self.report(),
        }
    }

    /// Adds up the usage of all calls of the model.
    fn usage(&self) -> Option<Usage> {
        let mut sum: Option<Usage> = None;
        for usage in self.nodes.iter().filter_map(Node::usage) {
            let sum = sum.get_or_insert_default();
            sum.prompt += usage.prompt;
            sum.cached += usage.cached;
            sum.generated += usage.generated;
            sum.thinking += usage.thinking;
        }
        // A reply without a report has a usage too, of which nothing is known.
        sum.or_else(|| (!self.nodes.is_empty()).then(Usage::default))
    }

    /// Returns the field `alloquy`.
    fn report(&self) -> Value {
        let last = self.nodes.iter().rev().find_map(|node| Some((node, node.reply.as_deref()?)));
        let mut report = match last {
            Some((node, facts)) => ReplyReport::stored(facts, self.conversation.clone(), node.id),
            None => ReplyReport { conversation: Some(self.conversation.clone()), ..ReplyReport::default() },
        };
        if !self.settings.store {
            report.conversation = None;
            report.node = None;
        }
        let mut fields = match report.json() {
            Value::Object(fields) => fields,
            _ => Map::new(),
        };
        if let Some(place) = self.head.filter(|_| self.settings.store) {
            fields.insert("head".to_owned(), json!(place.head));
            fields.extend(place.branched.map(|branched| ("branched".to_owned(), branched.into())));
        }
        fields.into()
    }
}

impl ResponseObject {
    /// Adds the log-probabilities of the last text.
    pub(super) fn add_logprobs(&mut self, tokens: &[Value]) {
        let contents = self.output.iter_mut().rev().filter_map(|item| match item {
            Item::Message { content, .. } => content.last_mut(),
            _ => None,
        });
        for content in contents.take(1) {
            if let ItemContent::OutputText { logprobs, .. } = content {
                *logprobs = tokens.to_vec();
            }
        }
    }

    /// Returns the JSON.
    pub(super) fn json(&self) -> Value {
        json!(self)
    }

    /// Returns the items of the output.
    pub(super) fn output(&self) -> &[Item] {
        &self.output
    }
}
