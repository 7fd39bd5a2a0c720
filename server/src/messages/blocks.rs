//! The messages of a request: their blocks as parts.

use std::collections::BTreeMap;

use alloquy_core::message::{ToolCall, ToolResult};
use alloquy_core::{Content, Message, Part, Role};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::error::{ApiError, ApiResult};
use crate::image;
use crate::media_policy::MediaPolicy;
use crate::text_or::TextOr;

/// A mark that a prompt is to be cached up to a place. It changes nothing: prompts are found by their tokens, without marks.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct CacheControl {
    #[serde(rename = "type")]
    _kind: CacheKind,
    #[serde(default, rename = "ttl")]
    _ttl: Option<CacheTime>,
    /// Names who shares the prefix.
    #[serde(default, rename = "scope")]
    _scope: Option<String>,
}

#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum CacheKind {
    Ephemeral,
}

#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
enum CacheTime {
    #[serde(rename = "5m")]
    Minutes,
    #[serde(rename = "1h")]
    Hour,
}

/// A message of a request.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct MessageParam {
    role: MessageRole,
    content: TextOr<Block>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum MessageRole {
    User,
    Assistant,
    System,
}

/// A block of a message.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum Block {
    Text {
        text: String,
        #[serde(default, rename = "cache_control")]
        _cache_control: Option<CacheControl>,
        /// Only none: no source is cited here.
        #[serde(default)]
        citations: Option<Vec<Value>>,
    },
    Image {
        source: ImageSource,
        #[serde(default, rename = "cache_control")]
        _cache_control: Option<CacheControl>,
    },
    Thinking {
        thinking: String,
        /// What this server sends says nothing, so it is not checked.
        #[serde(default, rename = "signature")]
        _signature: Option<String>,
    },
    ToolUse {
        id: String,
        name: String,
        input: Map<String, Value>,
        #[serde(default, rename = "cache_control")]
        _cache_control: Option<CacheControl>,
        #[serde(default, rename = "caller")]
        _caller: Option<Caller>,
    },
    ToolResult {
        tool_use_id: String,
        #[serde(default)]
        content: Option<TextOr<Block>>,
        #[serde(default)]
        is_error: Option<bool>,
        #[serde(default, rename = "cache_control")]
        _cache_control: Option<CacheControl>,
    },
}

/// Who called a tool: the model itself, which is the only one here.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum Caller {
    Direct {},
}

/// Where an image is.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum ImageSource {
    Base64 { media_type: String, data: String },
    Url { url: String },
}

impl ImageSource {
    fn read(&self, place: &str, media: &MediaPolicy) -> ApiResult<Content> {
        match self {
            Self::Base64 { media_type, data } => {
                image::from_base64(data, Some(media_type), &format!("{place}.source.data"), media)
            }
            Self::Url { url } => image::from_url(url, &format!("{place}.source.url"), media),
        }
    }
}

/// Reads the system prompt: its blocks are the parts of one message.
///
/// # Errors
/// 400 for other blocks than texts.
pub(super) fn system(given: &TextOr<Block>) -> ApiResult<Option<Message>> {
    let message = Message::new(Role::System, texts(given, "system")?);
    Ok((!message.is_empty()).then_some(message))
}

/// Reads texts.
fn texts(given: &TextOr<Block>, place: &str) -> ApiResult<Vec<Part>> {
    match given {
        TextOr::Text(text) => Ok(vec![text_part(text)]),
        TextOr::List(blocks) => {
            let mut parts = Vec::with_capacity(blocks.len());
            for (index, block) in blocks.iter().enumerate() {
                let place = format!("{place}[{index}]");
                let Block::Text { text, citations, .. } = block else {
                    let message = format!("{place}: expected a block of the type \"text\"");
                    return Err(ApiError::invalid(place, message));
                };
                no_citations(citations.as_deref(), &place)?;
                parts.push(text_part(text));
            }
            Ok(parts)
        }
    }
}

fn text_part(text: &str) -> Part {
    Content::Text(text.to_owned()).into()
}

fn no_citations(citations: Option<&[Value]>, place: &str) -> ApiResult<()> {
    if citations.is_some_and(|citations| !citations.is_empty()) {
        let place = format!("{place}.citations");
        let message = format!("{place}: a text has no citations here: leave them out");
        return Err(ApiError::unsupported(place, message));
    }
    Ok(())
}

/// The messages of a request while they are read.
///
/// As in Anthropic's API, messages of one role in a row are one message, and results of tools come first in the message after their
/// calls. Here they are a message of their own.
#[derive(Debug)]
pub(super) struct Messages<'a> {
    read: Vec<Message>,
    /// The names of called tools by the ids of the calls: results have only the ids.
    calls: BTreeMap<String, String>,
    media: &'a MediaPolicy,
}

impl<'a> Messages<'a> {
    /// Reads messages.
    ///
    /// # Errors
    /// 400 with the place of what is not valid.
    pub(super) fn read(given: &[MessageParam], media: &'a MediaPolicy) -> ApiResult<Vec<Message>> {
        let mut messages = Self { read: Vec::new(), calls: BTreeMap::new(), media };
        for (index, message) in given.iter().enumerate() {
            messages.add(message, &format!("messages[{index}]"))?;
        }
        Ok(messages.read)
    }

    fn add(&mut self, message: &MessageParam, place: &str) -> ApiResult<()> {
        let place = format!("{place}.content");
        match message.role {
            MessageRole::System => self.push(Role::System, texts(&message.content, &place)?),
            MessageRole::User => self.add_user(&message.content, &place)?,
            MessageRole::Assistant => self.add_assistant(&message.content, &place)?,
        }
        Ok(())
    }

    fn push(&mut self, role: Role, parts: Vec<Part>) {
        match self.read.last_mut() {
            Some(last) if last.role == role => last.parts.extend(parts),
            _ => self.read.push(Message::new(role, parts)),
        }
    }

    fn add_user(&mut self, content: &TextOr<Block>, place: &str) -> ApiResult<()> {
        let blocks = match content {
            TextOr::Text(text) => {
                self.push(Role::User, vec![text_part(text)]);
                return Ok(());
            }
            TextOr::List(blocks) => blocks,
        };
        let mut results = Vec::new();
        let mut parts = Vec::new();
        let mut shown = Vec::new();
        for (index, block) in blocks.iter().enumerate() {
            let place = format!("{place}[{index}]");
            match block {
                Block::Text { text, citations, .. } => {
                    no_citations(citations.as_deref(), &place)?;
                    parts.push(text_part(text));
                }
                Block::Image { source, .. } => parts.push(source.read(&place, self.media)?.into()),
                Block::ToolResult { .. } if !parts.is_empty() => {
                    let message = format!("{place}: results of tools come before other blocks of a message");
                    return Err(ApiError::invalid(place, message));
                }
                Block::ToolResult { tool_use_id, content, is_error, .. } => {
                    let mut result = self.result(tool_use_id, content.as_ref(), &place, &mut shown)?;
                    result.is_error = is_error.unwrap_or_default();
                    results.push(Content::ToolResult(result).into());
                }
                Block::Thinking { .. } | Block::ToolUse { .. } => {
                    return Err(of_assistant_only(place));
                }
            }
        }
        if !results.is_empty() {
            self.push(Role::Tool, results);
        }
        // A result has no media here: its images follow in a message of the user.
        shown.extend(parts);
        if !shown.is_empty() {
            self.push(Role::User, shown);
        }
        Ok(())
    }

    /// Reads the result of a tool, and adds its images to `shown`.
    fn result(
        &self,
        id: &str,
        content: Option<&TextOr<Block>>,
        place: &str,
        shown: &mut Vec<Part>,
    ) -> ApiResult<ToolResult> {
        let Some(name) = self.calls.get(id) else {
            let place = format!("{place}.tool_use_id");
            let message = format!("{place}: no tool_use block before it has the id {id:?}");
            return Err(ApiError::invalid(place, message));
        };
        let mut texts = Vec::new();
        match content {
            None => {}
            Some(TextOr::Text(text)) => texts.push(text.clone()),
            Some(TextOr::List(blocks)) => {
                for (index, block) in blocks.iter().enumerate() {
                    let place = format!("{place}.content[{index}]");
                    match block {
                        Block::Text { text, citations, .. } => {
                            no_citations(citations.as_deref(), &place)?;
                            texts.push(text.clone());
                        }
                        Block::Image { source, .. } => shown.push(source.read(&place, self.media)?.into()),
                        _ => {
                            let message = format!("{place}: a result of a tool has texts and images");
                            return Err(ApiError::invalid(place, message));
                        }
                    }
                }
            }
        }
        Ok(ToolResult::new(id, name, texts.join("\n")))
    }

    fn add_assistant(&mut self, content: &TextOr<Block>, place: &str) -> ApiResult<()> {
        let blocks = match content {
            TextOr::Text(text) => {
                self.push(Role::Assistant, vec![text_part(text)]);
                return Ok(());
            }
            TextOr::List(blocks) => blocks,
        };
        let mut parts: Vec<Part> = Vec::with_capacity(blocks.len());
        for (index, block) in blocks.iter().enumerate() {
            let place = format!("{place}[{index}]");
            match block {
                Block::Text { text, citations, .. } => {
                    no_citations(citations.as_deref(), &place)?;
                    parts.push(text_part(text));
                }
                Block::Thinking { thinking, .. } => parts.push(Content::Thinking(thinking.clone()).into()),
                Block::ToolUse { id, name, input, .. } => {
                    self.calls.insert(id.clone(), name.clone());
                    parts.push(
                        Content::ToolCall(ToolCall::new(id, name, Value::Object(input.clone()))).into(),
                    );
                }
                Block::Image { .. } | Block::ToolResult { .. } => {
                    let message = format!("{place}: images and results of tools are in messages of the user");
                    return Err(ApiError::invalid(place, message));
                }
            }
        }
        self.push(Role::Assistant, parts);
        Ok(())
    }
}

fn of_assistant_only(place: String) -> ApiError {
    let message = format!("{place}: thinking and calls of tools are in messages of the assistant");
    ApiError::invalid(place, message)
}
