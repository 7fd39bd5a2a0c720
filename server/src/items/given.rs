//! The items of a request, and the messages that they are.

use std::collections::HashMap;

use alloquy_core::{Content, Message, Role};
use alloquy_formats::messages::{self, Dialect};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::error::{ApiError, ApiResult};
use crate::media_policy::MediaPolicy;
use crate::turn_options::renamed;

/// The names of the calls that stored messages have made, by their ids.
pub(crate) type Calls = HashMap<String, String>;

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

/// The size of an image, which the model decides.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum ImageDetail {
    #[default]
    Auto,
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
    InputText { text: String },
}

/// An item of a stored conversation, by its id.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct GivenReference {
    #[serde(rename = "type")]
    _kind: ReferenceKind,
    pub(crate) id: String,
}

#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum ReferenceKind {
    ItemReference,
}

const TYPES: [&str; 5] = ["message", "reasoning", "function_call", "function_call_output", "item_reference"];

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

impl GivenItem {
    /// Returns the messages of items. `calls` are those of the stored messages before them.
    ///
    /// # Errors
    /// 400 with the place of an item that is no message, such as one with a damaged image.
    pub(crate) fn messages(
        items: &[Self],
        place: &str,
        calls: &Calls,
        media: &MediaPolicy,
    ) -> ApiResult<Vec<Message>> {
        let mut chat = Vec::with_capacity(items.len());
        for (index, item) in items.iter().enumerate() {
            chat.push(item.chat_message(&format!("{place}[{index}]"), calls)?);
        }
        let document = Map::from_iter([("messages".to_owned(), Value::Array(chat))]);
        let read = messages::read(Dialect::OpenAi, &Value::Object(document), &media.rules());
        let read = read.map_err(|error| renamed(&error, "messages[", &format!("{place}[")))?;
        Ok(joined(read.messages))
    }

    /// Returns the ids of the calls whose results are here, but not the calls themselves.
    pub(crate) fn answered_elsewhere(items: &[Self]) -> Vec<&str> {
        let mut called = Vec::new();
        let mut answered = Vec::new();
        for item in items {
            match item {
                Self::FunctionCall(call) => called.push(call.call_id.as_str()),
                Self::FunctionCallOutput(output) if !called.contains(&output.call_id.as_str()) => {
                    answered.push(output.call_id.as_str());
                }
                _ => {}
            }
        }
        answered
    }

    /// Returns the item as a message of Chat Completions, which is read with the rules for media.
    fn chat_message(&self, place: &str, calls: &Calls) -> ApiResult<Value> {
        Ok(match self {
            Self::Message(message) => {
                json!({"role": message.role, "content": message.chat_content(place)?})
            }
            Self::Reasoning(reasoning) => {
                json!({"role": "assistant", "content": null, "reasoning_content": reasoning.text()})
            }
            Self::FunctionCall(call) => {
                call.check(place)?;
                let function = json!({"name": call.name, "arguments": call.arguments});
                let call = json!({"id": call.call_id, "type": "function", "function": function});
                json!({"role": "assistant", "content": null, "tool_calls": [call]})
            }
            Self::FunctionCallOutput(output) => {
                let mut message =
                    json!({"role": "tool", "tool_call_id": output.call_id, "content": output.text(place)?});
                if let (Some(name), Value::Object(fields)) = (calls.get(&output.call_id), &mut message) {
                    fields.insert("name".to_owned(), name.as_str().into());
                }
                message
            }
            Self::ItemReference(reference) => {
                let message = format!("{place}: there is no item {:?}", reference.id);
                return Err(ApiError::invalid(format!("{place}.id"), message));
            }
        })
    }
}

impl GivenMessage {
    fn chat_content(&self, place: &str) -> ApiResult<Value> {
        let Value::Array(parts) = &self.content else { return Ok(self.content.clone()) };
        let mut content = Vec::with_capacity(parts.len());
        for (index, part) in parts.iter().enumerate() {
            let place = format!("{place}.content[{index}]");
            let part: GivenPart = typed(part, &place)?;
            content.push(part.chat_part(self.role, &place)?);
        }
        Ok(content.into())
    }
}

impl GivenPart {
    fn chat_part(self, role: GivenRole, place: &str) -> ApiResult<Value> {
        let is_output = matches!(self, Self::OutputText { .. } | Self::Refusal { .. });
        if is_output != (role == GivenRole::Assistant) {
            let place = format!("{place}.type");
            let expected = if is_output { "input_text" } else { "output_text" };
            let message = format!("{place}: a message of this role has parts such as {expected:?}");
            return Err(ApiError::invalid(place, message));
        }
        Ok(match self {
            Self::InputText { text } | Self::OutputText { text, .. } => json!({"type": "text", "text": text}),
            Self::Refusal { refusal } => json!({"type": "refusal", "refusal": refusal}),
            Self::InputImage { image_url, .. } => {
                json!({"type": "image_url", "image_url": {"url": image_url}})
            }
            Self::InputAudio { input_audio } => json!({"type": "input_audio", "input_audio": input_audio}),
        })
    }
}

impl GivenReasoning {
    /// Returns what was thought: the text, or else its summary.
    fn text(&self) -> String {
        if self.content.is_empty() {
            let texts = self.summary.iter().map(|SummaryPart::SummaryText { text }| text.as_str());
            return texts.collect::<Vec<_>>().join("\n");
        }
        self.content.iter().map(|ReasoningPart::ReasoningText { text }| text.as_str()).collect()
    }
}

impl GivenCall {
    fn check(&self, place: &str) -> ApiResult<()> {
        if self.arguments.trim().is_empty() || serde_json::from_str::<Value>(&self.arguments).is_ok() {
            return Ok(());
        }
        let place = format!("{place}.arguments");
        Err(ApiError::invalid(place.clone(), format!("{place}: expected the text of JSON")))
    }
}

impl GivenOutput {
    fn text(&self, place: &str) -> ApiResult<String> {
        match &self.output {
            Value::String(text) => Ok(text.clone()),
            Value::Array(parts) => {
                let mut joined = String::new();
                for (index, part) in parts.iter().enumerate() {
                    let OutputPart::InputText { text } = typed(part, &format!("{place}.output[{index}]"))?;
                    joined.push_str(&text);
                }
                Ok(joined)
            }
            _ => {
                let place = format!("{place}.output");
                let message = format!("{place}: expected a text or a list of texts");
                Err(ApiError::invalid(place, message))
            }
        }
    }
}

/// Joins the items of one reply to one message: what was thought, the text, the calls.
fn joined(messages: Vec<Message>) -> Vec<Message> {
    let mut joined: Vec<Message> = Vec::with_capacity(messages.len());
    for message in messages {
        match joined.last_mut() {
            Some(last) if is_continued(last, &message) => last.parts.extend(message.parts),
            _ => joined.push(message),
        }
    }
    // Reasoning without a text says nothing.
    joined.retain(|message| message.role != Role::Assistant || !message.parts.is_empty());
    joined
}

/// Returns whether a message continues the reply before it: a reply has one text, and is thought about first.
fn is_continued(last: &Message, next: &Message) -> bool {
    if last.role != Role::Assistant || next.role != Role::Assistant || !next.extra.is_empty() {
        return false;
    }
    let is_thought = next.parts.iter().any(|part| matches!(part.content, Content::Thinking(_)));
    let is_thinking = last.parts.iter().all(|part| matches!(part.content, Content::Thinking(_)));
    let has_text = last.parts.iter().any(|part| part.as_text().is_some());
    let is_text = next.parts.iter().any(|part| part.as_text().is_some());
    if is_thought { is_thinking } else { !(has_text && is_text) }
}
