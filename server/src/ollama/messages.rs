//! The messages and tools of a request.

use std::collections::VecDeque;

use alloquy_core::message::{ToolCall, ToolResult};
use alloquy_core::{Content, Message, Part, Role, ToolSpec};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::error::{ApiError, ApiResult};
use crate::image;
use crate::media_policy::MediaPolicy;

/// A message of a request.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct MessageParam {
    role: MessageRole,
    #[serde(default)]
    content: Option<String>,
    #[serde(default)]
    thinking: Option<String>,
    /// Base64.
    #[serde(default)]
    images: Option<Vec<String>>,
    #[serde(default)]
    tool_calls: Option<Vec<CallParam>>,
    /// The tool of a result.
    #[serde(default)]
    tool_name: Option<String>,
    /// The call of a result, where the calls have ids.
    #[serde(default)]
    tool_call_id: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum MessageRole {
    System,
    User,
    Assistant,
    Tool,
}

/// A call of a tool.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct CallParam {
    #[serde(default)]
    id: Option<String>,
    #[serde(default, rename = "type")]
    _kind: Option<FunctionKind>,
    function: CalledFunction,
}

#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum FunctionKind {
    Function,
}

#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct CalledFunction {
    /// The place among the calls of the message, which their order says as well.
    #[serde(default, rename = "index")]
    _index: Option<usize>,
    name: String,
    arguments: Map<String, Value>,
}

/// A tool of the client's.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ToolParam {
    #[serde(default, rename = "type")]
    _kind: Option<FunctionKind>,
    function: FunctionParam,
}

#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct FunctionParam {
    name: String,
    #[serde(default)]
    description: Option<String>,
    #[serde(default)]
    parameters: Value,
}

impl ToolParam {
    /// Returns the tool.
    pub(super) fn spec(self) -> ToolSpec {
        let FunctionParam { name, description, parameters } = self.function;
        ToolSpec::new(name, description.unwrap_or_default(), parameters)
    }
}

/// The messages of a request while they are read.
#[derive(Debug)]
pub(super) struct Messages<'a> {
    read: Vec<Message>,
    /// The calls without a result: their ids and names.
    open: VecDeque<(String, String)>,
    /// How many calls there were.
    calls: usize,
    media: &'a MediaPolicy,
}

impl<'a> Messages<'a> {
    /// Reads messages.
    ///
    /// # Errors
    /// 400 with the place of what is not valid.
    pub(super) fn read(given: Vec<MessageParam>, media: &'a MediaPolicy) -> ApiResult<Vec<Message>> {
        let mut messages = Self { read: Vec::new(), open: VecDeque::new(), calls: 0, media };
        for (index, message) in given.into_iter().enumerate() {
            messages.add(message, &format!("messages[{index}]"))?;
        }
        Ok(messages.read)
    }

    fn add(&mut self, message: MessageParam, place: &str) -> ApiResult<()> {
        message.check(place)?;
        let text = message.content.unwrap_or_default();
        let role = match message.role {
            MessageRole::System => Role::System,
            MessageRole::User => Role::User,
            MessageRole::Assistant => Role::Assistant,
            MessageRole::Tool => {
                let id = message.tool_call_id.as_deref();
                let result = self.result(id, message.tool_name.as_deref(), text, place)?;
                self.push_result(result);
                return Ok(());
            }
        };
        let mut parts: Vec<Part> = Vec::new();
        parts.extend(message.thinking.map(|thinking| Content::Thinking(thinking).into()));
        if !text.is_empty() {
            parts.push(Content::Text(text).into());
        }
        parts.extend(images(message.images.as_deref(), &format!("{place}.images"), self.media)?);
        for call in message.tool_calls.into_iter().flatten() {
            parts.push(Content::ToolCall(self.call(call)).into());
        }
        self.read.push(Message::new(role, parts));
        Ok(())
    }

    /// Reads a call. Calls have no ids in most clients: they are numbered.
    fn call(&mut self, call: CallParam) -> ToolCall {
        self.calls += 1;
        let id = call.id.unwrap_or_else(|| format!("call_{}", self.calls));
        let name = call.function.name;
        self.open.push_back((id.clone(), name.clone()));
        ToolCall::new(id, name, Value::Object(call.function.arguments))
    }

    /// Reads a result. It is for the call with its id, or for the first open one of its name, or for the first open one of all.
    fn result(
        &mut self,
        id: Option<&str>,
        name: Option<&str>,
        text: String,
        place: &str,
    ) -> ApiResult<ToolResult> {
        let found = self.open.iter().position(|(open_id, open_name)| match (id, name) {
            (Some(id), _) => id == open_id,
            (None, Some(name)) => name == open_name,
            (None, None) => true,
        });
        match found.and_then(|index| self.open.remove(index)) {
            Some((id, name)) => Ok(ToolResult::new(id, name, text)),
            None => {
                let message = format!("{place}: no call of a tool before it has no result yet");
                Err(ApiError::invalid(place, message))
            }
        }
    }

    /// Adds a result. Those in a row are one message.
    fn push_result(&mut self, result: ToolResult) {
        match self.read.last_mut() {
            Some(last) if last.role == Role::Tool => last.parts.push(Content::ToolResult(result).into()),
            _ => self.read.push(Message::tool(vec![result])),
        }
    }
}

impl MessageParam {
    /// Refuses fields that a message of its role does not have.
    fn check(&self, place: &str) -> ApiResult<()> {
        let is_assistant = self.role == MessageRole::Assistant;
        let is_tool = self.role == MessageRole::Tool;
        let has_calls = self.tool_calls.as_ref().is_some_and(|calls| !calls.is_empty());
        let has_images = self.images.as_ref().is_some_and(|images| !images.is_empty());
        let misplaced = [
            ("thinking", self.thinking.is_some() && !is_assistant),
            ("tool_calls", has_calls && !is_assistant),
            ("tool_name", self.tool_name.is_some() && !is_tool),
            ("tool_call_id", self.tool_call_id.is_some() && !is_tool),
            ("images", has_images && self.role != MessageRole::User),
        ];
        match misplaced.iter().find(|(_, is_misplaced)| *is_misplaced) {
            Some((field, _)) => {
                let place = format!("{place}.{field}");
                let message = format!("{place}: a message of this role does not have this field");
                Err(ApiError::invalid(place, message))
            }
            None => Ok(()),
        }
    }
}

/// Reads the images of a message or of a request, from the field at `place`.
///
/// # Errors
/// 400 with the place of what is not an image.
pub(super) fn images(given: Option<&[String]>, place: &str, media: &MediaPolicy) -> ApiResult<Vec<Part>> {
    let mut parts = Vec::new();
    for (index, data) in given.unwrap_or_default().iter().enumerate() {
        parts.push(image::from_base64(data, None, &format!("{place}[{index}]"), media)?.into());
    }
    Ok(parts)
}
