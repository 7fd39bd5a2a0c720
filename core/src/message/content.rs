//! What a piece of a message is: text, thinking, media, calls of tools and their results.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::media::{Media, MediaKind};

/// What a piece of a message is; [`Part`](super::Part) is the piece as a message holds it.
///
/// Serialised as an object with one key, so that a stored conversation reads well:
/// `{"text": "Hello"}`, `{"thinking": "…"}`, `{"tool_call": {…}}`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Content {
    /// Text to read.
    Text(String),
    /// What the model thought before it answered; templates decide whether it is kept.
    Thinking(String),
    /// What the model said in a channel with another name, apart from its answer.
    Channel(ChannelText),
    /// A picture.
    Image(Media),
    /// A sound.
    Audio(Media),
    /// A film, as the pictures it was sampled to.
    Video(Vec<Media>),
    /// The model asks for a tool.
    ToolCall(ToolCall),
    /// A tool's answer.
    ToolResult(ToolResult),
    /// Something of the reply that could not be read; nothing of it is lost.
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

    /// Returns what a model is shown of a picture, a sound or a film. The pictures that a film was sampled to are one piece
    /// of media; a film that is one file is that file.
    ///
    /// ```
    /// use alloquy_core::{Content, Media};
    /// use alloquy_core::media::MediaKind;
    ///
    /// let frame = Media::new("image/png", vec![1]);
    /// let film = Content::Video(vec![frame.clone(), frame]).shown();
    /// assert_eq!(film.map(|media| MediaKind::of(&media)), Some(Some(MediaKind::Video)));
    /// assert_eq!(Content::Text("Hi".into()).shown(), None);
    /// ```
    pub fn shown(&self) -> Option<Media> {
        match self {
            Content::Image(media) | Content::Audio(media) => Some(media.clone()),
            Content::Video(frames) => match frames.as_slice() {
                [film] if MediaKind::of(film) == Some(MediaKind::Video) => Some(film.clone()),
                frames => Some(Media::film(frames)),
            },
            _ => None,
        }
    }

    /// Returns the kind of a picture, a sound or a film.
    pub fn media_kind(&self) -> Option<MediaKind> {
        match self {
            Content::Image(_) => Some(MediaKind::Image),
            Content::Audio(_) => Some(MediaKind::Audio),
            Content::Video(_) => Some(MediaKind::Video),
            _ => None,
        }
    }

    /// Returns what a part shows, to put bytes in.
    pub fn media_mut(&mut self) -> &mut [Media] {
        match self {
            Content::Image(media) | Content::Audio(media) => std::slice::from_mut(media),
            Content::Video(frames) => frames,
            _ => &mut [],
        }
    }
}

impl MediaKind {
    /// Returns media of this kind as a part. A film that nobody has sampled yet is one piece of media.
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
    /// The arguments, usually an object. A whole number beyond 64 bits, and a number beyond the range of a double, is
    /// the string of its digits; other numbers with a fraction or an exponent are the nearest double.
    pub arguments: Value,
}

impl ToolCall {
    /// Creates a call.
    pub fn new(id: impl Into<String>, name: impl Into<String>, arguments: Value) -> Self {
        Self { id: id.into(), name: name.into(), arguments }
    }
}

/// What a tool answered.
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
    /// The id of the call it answers.
    pub id: String,
    /// The tool's name.
    pub name: String,
    /// The answer: text, or any JSON value.
    pub content: Value,
    /// The tool failed, and `content` says why.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_error: bool,
}

impl ToolResult {
    /// Creates an answer to the call with this id; [`ToolResult::ok`] answers a call that is at hand.
    pub fn new(id: impl Into<String>, name: impl Into<String>, content: impl Into<Value>) -> Self {
        Self { id: id.into(), name: name.into(), content: content.into(), is_error: false }
    }

    /// Creates the answer to `call`.
    pub fn ok(call: &ToolCall, content: impl Into<Value>) -> Self {
        Self::new(&call.id, &call.name, content)
    }

    /// Creates a failed answer to `call`; the model reads `reason`.
    pub fn error(call: &ToolCall, reason: impl Into<String>) -> Self {
        Self { is_error: true, ..Self::ok(call, reason.into()) }
    }

    /// Returns the answer as text: a string as it is, anything else as JSON.
    pub fn text(&self) -> String {
        match &self.content {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        }
    }
}

/// What the model said in one of its [channels](crate::processor::Channel) that is not its thinking.
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
    /// What was said in it.
    pub text: String,
}

impl ChannelText {
    /// Creates what was said in a channel.
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Self {
        Self { name: name.into(), text: text.into() }
    }
}

/// A piece of a reply that could not be read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Malformed {
    /// The text as the model wrote it, markers included.
    pub raw: String,
    /// Why it could not be read.
    pub reason: String,
}
