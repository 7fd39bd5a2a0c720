//! The items of a request.

mod compaction;
mod mcp;
mod messages;

use std::collections::HashMap;

use alloquy_core::{Message, NodeId};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::error::{ApiError, ApiResult};
use compaction::GivenCompaction;
pub(crate) use compaction::SUMMARY_PREFIX;
use mcp::GivenMcpCall;
pub(crate) use mcp::{GivenApproval, GivenApprovalRequest, GivenList};

/// The calls that stored messages have made.
#[derive(Clone, Debug, Default)]
pub(crate) struct Calls {
    /// Their names by their ids.
    names: HashMap<String, String>,
    /// The ids of the calls that wait for an approval, by the ids of the items that request it.
    requests: HashMap<String, String>,
}

impl Calls {
    /// Adds a call.
    pub(crate) fn insert(&mut self, id: String, name: String) {
        self.names.insert(id, name);
    }

    /// Notes that the item of this id requests the approval of a call.
    pub(crate) fn insert_request(&mut self, request: String, call: String) {
        self.requests.insert(request, call);
    }

    fn name(&self, id: &str) -> Option<&str> {
        self.names.get(id).map(String::as_str)
    }
}

/// Stored messages by the ids of their items, each with its node.
pub(crate) type References = HashMap<String, (NodeId, Message)>;

/// What a request says: a text of the user, or items.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
#[allow(
    dead_code,
    reason = "it is the schema; the items are read one by one, so that errors have their places"
)]
pub(crate) enum Input {
    Text(String),
    Items(Vec<GivenItem>),
}

/// An item of a request.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum GivenItem {
    Message(GivenMessage),
    Reasoning(GivenReasoning),
    FunctionCall(GivenCall),
    FunctionCallOutput(GivenOutput),
    ItemReference(GivenReference),
    McpListTools(GivenList),
    McpCall(GivenMcpCall),
    McpApprovalRequest(GivenApprovalRequest),
    McpApprovalResponse(GivenApproval),
    Compaction(GivenCompaction),
}

/// A message: its type may be absent.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct GivenMessage {
    #[serde(default, rename = "type")]
    _kind: Option<MessageKind>,
    role: GivenRole,
    #[schemars(with = "GivenContent")]
    content: Value,
    #[serde(default, rename = "id")]
    _id: Option<String>,
    #[serde(default, rename = "status")]
    _status: Option<ItemStatus>,
}

#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum MessageKind {
    Message,
}

/// Who says a message. The developer's are instructions, like those of the system.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum GivenRole {
    User,
    Assistant,
    System,
    Developer,
}

/// How far an item is. Clients send back what they received; it changes nothing.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum ItemStatus {
    InProgress,
    Completed,
    Incomplete,
}

#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
#[allow(dead_code, reason = "it is the schema")]
enum GivenContent {
    Text(String),
    Parts(Vec<GivenPart>),
}

/// A part of a message.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
enum GivenPart {
    InputText {
        text: String,
    },
    OutputText {
        text: String,
        #[serde(default, rename = "annotations")]
        _annotations: NoAnnotations,
        /// Those of an earlier reply, which are no part of a prompt.
        #[serde(default, rename = "logprobs")]
        _logprobs: Vec<Value>,
    },
    Refusal {
        refusal: String,
    },
    InputImage {
        image_url: String,
        #[serde(default, rename = "detail")]
        _detail: ImageDetail,
    },
    InputAudio {
        input_audio: GivenAudio,
    },
}

/// Annotations name files and pages, which this server has none of, so a list of them is empty.
type NoAnnotations = [(); 0];

/// The size of an image, which the model decides. `high` is as much of it as the model reads, which it gets in any case.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum ImageDetail {
    #[default]
    Auto,
    High,
}

#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct GivenAudio {
    data: String,
    format: String,
}

/// What a model thought before a reply.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct GivenReasoning {
    #[serde(rename = "type")]
    _kind: ReasoningKind,
    #[serde(default)]
    summary: Vec<SummaryPart>,
    #[serde(default)]
    content: Vec<ReasoningPart>,
    #[serde(default, rename = "id")]
    _id: Option<String>,
    #[serde(default, rename = "status")]
    _status: Option<ItemStatus>,
}

#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum ReasoningKind {
    Reasoning,
}

#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
enum SummaryPart {
    SummaryText { text: String },
}

#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
enum ReasoningPart {
    ReasoningText { text: String },
}

/// A call of a tool by the model.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct GivenCall {
    #[serde(rename = "type")]
    _kind: CallKind,
    call_id: String,
    name: String,
    /// The group of the function, where it was offered in one.
    #[serde(default)]
    namespace: Option<String>,
    arguments: String,
    #[serde(default, rename = "id")]
    _id: Option<String>,
    #[serde(default, rename = "status")]
    _status: Option<ItemStatus>,
}

#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum CallKind {
    FunctionCall,
}

/// What a tool of the client returned.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct GivenOutput {
    #[serde(rename = "type")]
    _kind: OutputKind,
    call_id: String,
    #[schemars(with = "OutputContent")]
    output: Value,
    #[serde(default, rename = "id")]
    _id: Option<String>,
    #[serde(default, rename = "status")]
    _status: Option<ItemStatus>,
}

#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum OutputKind {
    FunctionCallOutput,
}

#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
#[allow(dead_code, reason = "it is the schema")]
enum OutputContent {
    Text(String),
    Parts(Vec<OutputPart>),
}

#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
enum OutputPart {
    InputText {
        text: String,
    },
    /// An image, which follows the output in a message of the user.
    InputImage {
        image_url: String,
        #[serde(default, rename = "detail")]
        _detail: ImageDetail,
    },
}

/// An item of a stored conversation, by its id.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct GivenReference {
    #[serde(rename = "type")]
    _kind: ReferenceKind,
    id: String,
}

#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum ReferenceKind {
    ItemReference,
}

const TYPES: [&str; 10] = [
    "message",
    "reasoning",
    "function_call",
    "function_call_output",
    "item_reference",
    "mcp_list_tools",
    "mcp_call",
    "mcp_approval_request",
    "mcp_approval_response",
    "compaction",
];

/// Creates the error of an approval that nothing waits for.
pub(crate) fn no_request(place: &str, request: &str) -> ApiError {
    let message = format!(
        "{place}: no call waits for the approval {request:?} here: name the response that requests it as previous_response_id; each is \
         answered once"
    );
    ApiError::invalid(place, message).code("approval_request_not_found")
}

/// Reads a text or a list of items.
///
/// # Errors
/// 400 with the place of what is not valid.
pub(crate) fn parsed_items(value: &Value, place: &str) -> ApiResult<Vec<GivenItem>> {
    let items = match value {
        Value::String(text) => {
            let message = GivenMessage {
                _kind: None,
                role: GivenRole::User,
                content: json!(text),
                _id: None,
                _status: None,
            };
            return Ok(vec![GivenItem::Message(message)]);
        }
        Value::Array(items) => items,
        _ => {
            let message = format!("{place}: expected a text or a list of items");
            return Err(ApiError::invalid(place, message));
        }
    };
    let mut read = Vec::with_capacity(items.len());
    for (index, item) in items.iter().enumerate() {
        read.push(parsed_item(item, &format!("{place}[{index}]"))?);
    }
    Ok(read)
}

fn parsed_item(value: &Value, place: &str) -> ApiResult<GivenItem> {
    let kind = match value.get("type") {
        None if value.get("role").is_some() => "message",
        None if value.get("id").is_some() && value.as_object().is_some_and(|fields| fields.len() == 1) => {
            let message =
                format!("{place}.type is missing: an item with an id alone is an \"item_reference\"");
            return Err(ApiError::invalid(format!("{place}.type"), message));
        }
        kind => kind.and_then(Value::as_str).unwrap_or_default(),
    };
    Ok(match kind {
        "message" => GivenItem::Message(checked_message(typed(value, place)?, place)?),
        "reasoning" => GivenItem::Reasoning(typed(value, place)?),
        "function_call" => GivenItem::FunctionCall(typed(value, place)?),
        "function_call_output" => GivenItem::FunctionCallOutput(typed(value, place)?),
        "item_reference" => GivenItem::ItemReference(typed(value, place)?),
        "mcp_list_tools" => GivenItem::McpListTools(typed(value, place)?),
        "mcp_call" => GivenItem::McpCall(typed(value, place)?),
        "mcp_approval_request" => GivenItem::McpApprovalRequest(typed(value, place)?),
        "mcp_approval_response" => GivenItem::McpApprovalResponse(typed(value, place)?),
        "compaction" => GivenItem::Compaction(typed(value, place)?),
        other => {
            let message = format!("{place}.type is {other:?}, expected one of {}", json!(TYPES));
            return Err(ApiError::unsupported(format!("{place}.type"), message));
        }
    })
}

/// Checks the parts of a message at their places.
fn checked_message(message: GivenMessage, place: &str) -> ApiResult<GivenMessage> {
    match &message.content {
        Value::String(_) => {}
        Value::Array(parts) => {
            for (index, part) in parts.iter().enumerate() {
                typed::<GivenPart>(part, &format!("{place}.content[{index}]"))?;
            }
        }
        _ => {
            let place = format!("{place}.content");
            let message = format!("{place}: expected a text or a list of parts");
            return Err(ApiError::invalid(place, message));
        }
    }
    Ok(message)
}

/// Reads a value of a type. A field that is null says nothing: clients send back what they received.
fn typed<T: DeserializeOwned>(value: &Value, place: &str) -> ApiResult<T> {
    let value = match value {
        Value::Object(fields) => {
            let given = fields.iter().filter(|(_, value)| !value.is_null());
            Value::Object(given.map(|(name, value)| (name.clone(), value.clone())).collect())
        }
        other => other.clone(),
    };
    serde_path_to_error::deserialize(value).map_err(|error| {
        let path = error.path().to_string();
        let place = if path == "." { place.to_owned() } else { format!("{place}.{path}") };
        ApiError::invalid(place.clone(), format!("{place}: {}", error.inner()))
    })
}
