//! The content of a part of a message: text, thinking, media, tool calls and their results.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::media::{Media, MediaKind};

/// The content of one [`Part`](super::Part) of a message.
///
/// It is serialised as an object with one key: `{"text": "Hello"}`, `{"thinking": "…"}`, `{"tool_call": {…}}`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Content {
    /// Text.
    Text(String),
    /// What the model thought before it answered; templates decide whether they print it.
    Thinking(String),
    /// Text of another channel, which is not part of the answer.
    Channel(ChannelText),
    /// An image.
    Image(Media),
    /// An audio clip.
    Audio(Media),
    /// A video, as the images it was sampled to.
    Video(Vec<Media>),
    /// A tool call of the model.
    ToolCall(ToolCall),
    /// The result of a tool.
    ToolResult(ToolResult),
    /// An unreadable piece of the reply, as the model wrote it.
    Malformed(Malformed),
}

impl Content {
    /// Returns the text of a text part.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Content::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Returns what a model is shown of an image, an audio clip or a video. The images that a video was sampled to are one piece
    /// of media; a video that is one file is that file.
    ///
    /// ```
    /// use alloquy_core::{Content, Media};
    /// use alloquy_core::media::MediaKind;
    ///
    /// let frame = Media::new("image/png", vec![1]);
    /// let video = Content::Video(vec![frame.clone(), frame]).shown();
    /// assert_eq!(video.map(|media| MediaKind::of(&media)), Some(Some(MediaKind::Video)));
    /// assert_eq!(Content::Text("Hi".into()).shown(), None);
    /// ```
    pub fn shown(&self) -> Option<Media> {
        match self {
            Content::Image(media) | Content::Audio(media) => Some(media.clone()),
            Content::Video(frames) => match frames.as_slice() {
                [video] if MediaKind::of(video) == Some(MediaKind::Video) => Some(video.clone()),
                frames => Some(Media::video(frames)),
            },
            _ => None,
        }
    }

    /// Returns the kind of an image, an audio clip or a video.
    pub fn media_kind(&self) -> Option<MediaKind> {
        match self {
            Content::Image(_) => Some(MediaKind::Image),
            Content::Audio(_) => Some(MediaKind::Audio),
            Content::Video(_) => Some(MediaKind::Video),
            _ => None,
        }
    }

    /// Returns the media of a part for changes, for example to add their bytes.
    pub fn media_mut(&mut self) -> &mut [Media] {
        match self {
            Content::Image(media) | Content::Audio(media) => std::slice::from_mut(media),
            Content::Video(frames) => frames,
            _ => &mut [],
        }
    }
}

impl MediaKind {
    /// Returns media of this kind as a part. A video that is not sampled yet is one piece of media.
    pub fn part(self, media: Media) -> Content {
        match self {
            MediaKind::Image => Content::Image(media),
            MediaKind::Audio => Content::Audio(media),
            MediaKind::Video => Content::Video(vec![media]),
        }
    }
}

/// A request to run a tool.
///
/// ```
/// use alloquy_core::message::ToolCall;
/// use serde_json::json;
///
/// let call = ToolCall::new("call_1", "weather", json!({"city": "Oslo"}));
/// assert_eq!(call.arguments["city"], "Oslo");
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// Pairs the call with its result; unique within a conversation.
    pub id: String,
    /// The tool's name.
    pub name: String,
    /// The arguments, usually an object.
    ///
    /// A whole number beyond 64 bits is a string of its digits, and so is a number beyond the range of a double. Other
    /// numbers with a fraction or an exponent are the nearest double.
    pub arguments: Value,
}

impl ToolCall {
    /// Creates a call.
    pub fn new(id: impl Into<String>, name: impl Into<String>, arguments: Value) -> Self {
        Self { id: id.into(), name: name.into(), arguments }
    }
}

/// The result of a tool.
///
/// ```
/// use alloquy_core::message::{ToolCall, ToolResult};
/// use serde_json::json;
///
/// let call = ToolCall::new("call_1", "weather", json!({"city": "Oslo"}));
/// let result = ToolResult::ok(&call, json!({"celsius": -3}));
/// assert_eq!((result.id.as_str(), result.is_error), ("call_1", false));
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ToolResult {
    /// The id of the call.
    pub id: String,
    /// The tool's name.
    pub name: String,
    /// The result: text, or any JSON value.
    pub content: Value,
    /// Whether the tool failed; then `content` says why.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_error: bool,
}

impl ToolResult {
    /// Creates the result of the call with this id; see also [`ToolResult::ok`].
    pub fn new(id: impl Into<String>, name: impl Into<String>, content: impl Into<Value>) -> Self {
        Self { id: id.into(), name: name.into(), content: content.into(), is_error: false }
    }

    /// Creates the result of `call`.
    pub fn ok(call: &ToolCall, content: impl Into<Value>) -> Self {
        Self::new(&call.id, &call.name, content)
    }

    /// Creates the result of a `call` that failed; the model reads `reason`.
    pub fn error(call: &ToolCall, reason: impl Into<String>) -> Self {
        Self { is_error: true, ..Self::ok(call, reason.into()) }
    }

    /// Returns the result as text: a string as it is, any other value as JSON.
    pub fn text(&self) -> String {
        match &self.content {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        }
    }
}

/// Text in one of the model's [channels](crate::processor::Channel) other than thinking.
///
/// ```
/// use alloquy_core::{Content, Message, Role};
/// use alloquy_core::message::ChannelText;
///
/// let joke = ChannelText::new("joke", "Why did the crab cross the sand?");
/// let message = Message::new(Role::Assistant, vec![Content::Channel(joke), Content::Text("Here is one.".into())]);
/// assert_eq!(message.channel("joke").as_deref(), Some("Why did the crab cross the sand?"));
/// assert_eq!(message.text(), "Here is one.");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChannelText {
    /// The channel's name.
    pub name: String,
    /// The text.
    pub text: String,
}

impl ChannelText {
    /// Creates a text in a channel.
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Self {
        Self { name: name.into(), text: text.into() }
    }
}

/// An unreadable piece of a reply.
///
/// [`Message::readable`](crate::Message::readable) refuses a [message](crate::Message) with such a piece.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Malformed {
    /// The text as the model wrote it, including markers.
    pub raw: String,
    /// Why it could not be read.
    pub reason: String,
}
