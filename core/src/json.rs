//! The JSON of events, replies and lists, which every program prints and sends alike. `docs/json.md` describes it.

use std::str::FromStr;

use serde::ser::{SerializeMap, SerializeStruct};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

use crate::Error;
use crate::chat_model::Reply;
use crate::message::{Malformed, Message, ToolCall, ToolResult};
use crate::processor::{Delta, ToolCallDelta};
use crate::query::PageCursor;
use crate::report::{CacheReport, FinishReason, Usage, Warning};
use crate::sampling::TokenLogprobs;
use crate::store::{ConversationSummary, HeadMove, milliseconds};
use crate::tree::{Address, Node, NodeId, NodePath};
use crate::turn::{AddOutcome, TurnEnd, TurnEvent, TurnReply};

/// The version of the JSON of events, replies and lists. Within a version fields may be added; none is renamed, removed
/// or given another meaning.
///
/// ```
/// use alloquy_core::Delta;
/// use alloquy_core::json::JSON_VERSION;
/// use serde_json::json;
///
/// let event = serde_json::to_value(Delta::Text("Hello".to_owned()))?;
/// assert_eq!(event, json!({"event": "text", "text": "Hello"}));
/// // A host that stores events may store the version with them.
/// let line = json!({"version": JSON_VERSION, "event": event});
/// assert_eq!(line["version"], 1);
/// # Ok::<(), serde_json::Error>(())
/// ```
pub const JSON_VERSION: u32 = 1;

/// An event as an object whose field `event` names its kind.
#[derive(Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
enum Event<'a> {
    Text { text: &'a str },
    Thinking { text: &'a str },
    Channel { name: &'a str, text: &'a str },
    Arguments(&'a ToolCallDelta),
    ToolCall { call: &'a ToolCall },
    Malformed { malformed: &'a Malformed },
    ToolResult { result: &'a ToolResult },
    Node { node: &'a Node },
    Done(&'a TurnReply),
}

impl<'a> From<&'a Delta> for Event<'a> {
    fn from(delta: &'a Delta) -> Self {
        match delta {
            Delta::Text(text) => Self::Text { text },
            Delta::Thinking(text) => Self::Thinking { text },
            Delta::Channel(piece) => Self::Channel { name: &piece.name, text: &piece.text },
            Delta::Arguments(piece) => Self::Arguments(piece),
            Delta::ToolCall(call) => Self::ToolCall { call },
            Delta::Malformed(malformed) => Self::Malformed { malformed },
        }
    }
}

impl<'a> From<&'a TurnEvent> for Event<'a> {
    fn from(event: &'a TurnEvent) -> Self {
        match event {
            TurnEvent::Delta(delta) => delta.into(),
            TurnEvent::ToolResult(result) => Self::ToolResult { result },
            TurnEvent::Node(node) => Self::Node { node },
            TurnEvent::Finished(reply) => Self::Done(reply),
        }
    }
}

impl Serialize for Delta {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Event::from(self).serialize(serializer)
    }
}

impl Serialize for TurnEvent {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Event::from(self).serialize(serializer)
    }
}

/// The fields of a reply, without its message.
#[derive(Serialize)]
struct ReplyFields<'a> {
    text: String,
    finish: FinishReason,
    stop_string: Option<&'a str>,
    error: Option<&'a str>,
    usage: Usage,
    cache: Option<CacheReport>,
    seed: Option<u64>,
    warnings: &'a [Warning],
    #[serde(skip_serializing_if = "Map::is_empty")]
    facts: &'a Map<String, Value>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    logprobs: &'a [TokenLogprobs],
}

impl<'a> From<&'a Reply> for ReplyFields<'a> {
    fn from(reply: &'a Reply) -> Self {
        Self {
            text: reply.text(),
            finish: reply.finish,
            stop_string: reply.stop_string.as_deref(),
            error: reply.error.as_deref(),
            usage: reply.usage,
            cache: reply.cache,
            seed: reply.seed,
            warnings: &reply.warnings,
            facts: &reply.facts,
            logprobs: &reply.logprobs,
        }
    }
}

impl Serialize for Reply {
    /// Writes the reply without token ids and without times, so that equal replies have equal JSON.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Form<'a> {
            message: &'a Message,
            #[serde(flatten)]
            fields: ReplyFields<'a>,
        }
        Form { message: &self.message, fields: self.into() }.serialize(serializer)
    }
}

impl Serialize for TurnReply {
    /// Writes the last reply without its message, which the event of its node contains, and how the turn ended.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Form<'a> {
            #[serde(flatten)]
            reply: ReplyFields<'a>,
            node: NodeId,
            answers: Option<NodeId>,
            head: HeadForm,
            end: TurnEnd,
            pending: &'a [ToolCall],
            model_calls: usize,
        }
        let head = HeadForm::of(self.head, Some(self.last));
        let form = Form {
            reply: (&self.reply).into(),
            node: self.node,
            answers: self.answers,
            head,
            end: self.end,
            pending: &self.pending,
            model_calls: self.model_calls,
        };
        form.serialize(serializer)
    }
}

/// Where the head of a conversation is.
#[derive(Serialize)]
struct HeadForm {
    moved: bool,
    at: Option<NodeId>,
}

impl HeadForm {
    /// The head after a move to `last`.
    fn of(head: HeadMove, last: Option<NodeId>) -> Self {
        match head {
            HeadMove::Moved => Self { moved: true, at: last },
            HeadMove::Branched { head } => Self { moved: false, at: head },
        }
    }
}

impl Serialize for HeadMove {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut form = serializer.serialize_map(None)?;
        match self {
            Self::Moved => form.serialize_entry("moved", &true)?,
            Self::Branched { head } => {
                form.serialize_entry("moved", &false)?;
                form.serialize_entry("at", head)?;
            }
        }
        form.end()
    }
}

impl Serialize for AddOutcome {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let head = HeadForm::of(self.head, self.node);
        let mut form = serializer.serialize_struct("Added", 3)?;
        form.serialize_field("node", &self.node)?;
        form.serialize_field("nodes", &self.nodes)?;
        form.serialize_field("head", &head)?;
        form.end()
    }
}

/// Reads a value from its text.
fn parsed<'de, T: FromStr<Err = Error>, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    let text = String::deserialize(deserializer)?;
    text.parse().map_err(serde::de::Error::custom)
}

impl<'de> Deserialize<'de> for NodePath {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        parsed(deserializer)
    }
}

impl Serialize for NodePath {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Address {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        parsed(deserializer)
    }
}

impl Serialize for Address {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for PageCursor {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        parsed(deserializer)
    }
}

impl Serialize for PageCursor {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl Serialize for ConversationSummary {
    /// Writes the fields of a list; the preface may be long and is left out.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut form = serializer.serialize_struct("ConversationSummary", 6)?;
        form.serialize_field("id", &self.record.id)?;
        form.serialize_field("nodes", &self.nodes)?;
        form.serialize_field("created", &milliseconds::since_epoch(self.record.created))?;
        form.serialize_field("updated", &milliseconds::since_epoch(self.updated))?;
        form.serialize_field("head", &self.record.head)?;
        form.serialize_field("metadata", &self.record.metadata)?;
        form.end()
    }
}
