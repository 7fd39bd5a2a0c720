//! What a turn answers: one object, or events with names.

use alloquy_core::message::ToolCall;
use alloquy_core::store::HeadMove;
use alloquy_core::{ConversationId, Delta, NodeId, TurnEvent, TurnReply};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::call_timing::CallTiming;
use super::identity::shown;
use super::objects::{NodeNotes, NodeObject, WaitingCall};
use crate::error::{ApiError, broken_reply};
use crate::logprobs::{SampledToken, sampled};
use crate::models::ModelLease;
use crate::reply_report::ReplyReport;
use crate::streaming::{Frame, TurnWriter};

/// A turn that has ended.
#[derive(Debug, JsonSchema, Serialize)]
pub(super) struct TurnObject {
    object: &'static str,
    /// The conversation.
    conversation: String,
    model: String,
    /// Why it ended: `answered`, `host_calls` (`pending` and `waiting` are to be answered), `tool_limit`, `cancelled`.
    end: Value,
    /// The node of the last reply.
    node: String,
    /// The last node that the turn added.
    last: String,
    /// The node that was answered.
    answers: Option<String>,
    /// Where the head is.
    head: Option<String>,
    /// Whether it moved here; another writer may have moved it first.
    head_moved: bool,
    /// The text of the last reply.
    text: String,
    /// The nodes that the turn added after the one that was answered.
    nodes: Vec<NodeObject>,
    /// The calls of tools that wait for results of the client.
    pending: Vec<Value>,
    /// The calls of tools of the host that wait for an approval.
    waiting: Vec<WaitingCall>,
    /// How many tokens at its start were given by `prefix`, `prefix_tokens`, or the reply that was continued.
    begun: usize,
    /// The log-probabilities of the last reply's tokens after those, where they were requested; `null` otherwise.
    logprobs: Option<Vec<SampledToken>>,
    /// How long each call of the model took, in their order. It has none where the model does not report times, and they are not stored.
    timings: Vec<CallTiming>,
    /// As in Chat Completions.
    usage: Map<String, Value>,
    /// What the reply reports: why it ended, what was cached, warnings, facts.
    alloquy: Map<String, Value>,
}

impl TurnObject {
    pub(super) fn of(id: &ConversationId, model: &ModelLease, reply: &TurnReply) -> Self {
        let scored = &reply.reply.logprobs;
        let report = ReplyReport::of(&reply.reply, Some((id.clone(), reply.node)));
        let (head, head_moved) = head_after(reply.head, Some(reply.last));
        let nodes = NodeObject::all(&reply.nodes, &NodeNotes::default());
        let node = reply.node.to_string();
        let last = nodes.iter().find(|object| object.id == node);
        let waiting = last.map(|object| object.waiting.clone()).unwrap_or_default();
        let of_client =
            |call: &&ToolCall| waiting.iter().all(|waiting: &WaitingCall| waiting.call_id != call.id);
        let pending = reply.pending.iter().filter(of_client).map(|call| json!(call)).collect();
        Self {
            object: "turn",
            conversation: shown(id),
            model: model.name().to_owned(),
            begun: reply.reply.begun,
            logprobs: (!scored.is_empty()).then(|| sampled(scored, model.opened())),
            end: json!(reply.end),
            node,
            last: reply.last.to_string(),
            answers: reply.answers.map(|node| node.to_string()),
            head,
            head_moved,
            text: reply.text(),
            nodes,
            pending,
            waiting,
            timings: CallTiming::all(&reply.timings),
            usage: fields_of(&report.usage()),
            alloquy: fields_of(&report.json()),
        }
    }
}

/// Writes the events of a turn: `turn.text`, `turn.thinking`, `turn.channel`, `turn.tool_call`, `turn.tool_result`, `turn.node`,
/// and at the end `turn.finished` or `error`.
pub(super) struct TurnEventWriter {
    conversation: ConversationId,
    model: ModelLease,
}

impl TurnEventWriter {
    pub(super) fn new(conversation: ConversationId, model: &ModelLease) -> Self {
        Self { conversation, model: model.clone() }
    }

    fn delta(delta: &Delta) -> Option<Frame> {
        match delta {
            Delta::Text(text) => Some(Frame::named("turn.text", &json!({"text": text}))),
            // What could not be read as a call is shown as the model wrote it.
            Delta::Malformed(malformed) => Some(Frame::named("turn.text", &json!({"text": malformed.raw}))),
            Delta::Thinking(text) => Some(Frame::named("turn.thinking", &json!({"text": text}))),
            Delta::Channel(channel) => Some(Frame::named("turn.channel", &json!(channel))),
            Delta::ToolCall(call) => Some(Frame::named("turn.tool_call", &json!(call))),
            // A call is written once it is whole.
            _ => None,
        }
    }
}

impl TurnWriter for TurnEventWriter {
    fn begin(&mut self) -> Vec<Frame> {
        let begun = json!({"conversation": shown(&self.conversation), "model": self.model.name()});
        vec![Frame::named("turn.started", &begun)]
    }

    fn event(&mut self, event: TurnEvent) -> Vec<Frame> {
        match event {
            TurnEvent::Delta(delta) => Vec::from_iter(Self::delta(&delta)),
            TurnEvent::ToolResult(result) => vec![Frame::named("turn.tool_result", &json!(result))],
            TurnEvent::Node(node) => {
                let object = NodeObject::of(&node, &NodeNotes::default());
                vec![Frame::named("turn.node", &json!(object))]
            }
            TurnEvent::Finished(reply) => match &reply.reply.error {
                Some(error) => self.error(&broken_reply(error)),
                None => {
                    let object = TurnObject::of(&self.conversation, &self.model, &reply);
                    vec![Frame::named("turn.finished", &json!(object))]
                }
            },
            _ => Vec::new(),
        }
    }

    fn error(&mut self, error: &ApiError) -> Vec<Frame> {
        vec![Frame::named("error", &error.body())]
    }
}

/// Returns where the head is after nodes were added, and whether it moved to the last of them.
pub(super) fn head_after(moved: HeadMove, last: Option<NodeId>) -> (Option<String>, bool) {
    match moved {
        HeadMove::Branched { head } => (head.map(|head| head.to_string()), false),
        _ => (last.map(|last| last.to_string()), true),
    }
}

/// Returns a value as a map, for objects whose fields belong to other crates.
fn fields_of(value: &impl Serialize) -> Map<String, Value> {
    match json!(value) {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}
