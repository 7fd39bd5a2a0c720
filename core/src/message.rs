//! A message: who says it, the parts it is made of, and whatever else came with it.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::media::{Media, MediaKind};
use crate::{Error, ErrorKind, Result};

mod part;
mod preview;

pub use part::MessagePart;

/// Who says a message.
///
/// ```
/// use alloquy_core::Role;
///
/// assert_eq!("assistant".parse::<Role>()?, Role::Assistant);
/// assert_eq!(Role::Tool.to_string(), "tool");
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// The host's standing instructions.
    System,
    /// The person, or the program, that asks.
    User,
    /// The model.
    Assistant,
    /// What tools answered.
    Tool,
}

impl Role {
    /// Every role, in the order of a conversation.
    pub const ALL: [Role; 4] = [Role::System, Role::User, Role::Assistant, Role::Tool];

    /// Returns the name that templates and stored files use.
    pub fn as_str(self) -> &'static str {
        match self {
            Role::System => "system",
            Role::User => "user",
            Role::Assistant => "assistant",
            Role::Tool => "tool",
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

impl FromStr for Role {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        let known = Role::ALL.into_iter().find(|role| role.as_str() == name);
        known.ok_or_else(|| {
            Error::new(
                ErrorKind::Invalid,
                format!("unknown role {name:?}, one of: system, user, assistant, tool"),
            )
        })
    }
}

/// What a piece of a message is; [`MessagePart`] is the piece as a message holds it.
///
/// Serialised as an object with one key, so that a stored conversation reads well:
/// `{"text": "Hello"}`, `{"thinking": "…"}`, `{"tool_call": {…}}`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Part {
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

impl Part {
    /// Returns the text of a text part.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Part::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Returns what a model is shown of a picture, a sound or a film. The pictures that a film was sampled to are one piece
    /// of media; a film that is one file is that file.
    ///
    /// ```
    /// use alloquy_core::{Media, MediaKind, Part};
    ///
    /// let frame = Media::new("image/png", vec![1]);
    /// let film = Part::Video(vec![frame.clone(), frame]).shown();
    /// assert_eq!(film.map(|media| MediaKind::of(&media)), Some(Some(MediaKind::Video)));
    /// assert_eq!(Part::Text("Hi".into()).shown(), None);
    /// ```
    pub fn shown(&self) -> Option<Media> {
        match self {
            Part::Image(media) | Part::Audio(media) => Some(media.clone()),
            Part::Video(frames) => match frames.as_slice() {
                [film] if MediaKind::of(film) == Some(MediaKind::Video) => Some(film.clone()),
                frames => Some(Media::film(frames)),
            },
            _ => None,
        }
    }

    /// Returns the kind of a picture, a sound or a film.
    pub fn media_kind(&self) -> Option<MediaKind> {
        match self {
            Part::Image(_) => Some(MediaKind::Image),
            Part::Audio(_) => Some(MediaKind::Audio),
            Part::Video(_) => Some(MediaKind::Video),
            _ => None,
        }
    }

    /// Returns what a part shows, to put bytes in.
    pub fn media_mut(&mut self) -> &mut [Media] {
        match self {
            Part::Image(media) | Part::Audio(media) => std::slice::from_mut(media),
            Part::Video(frames) => frames,
            _ => &mut [],
        }
    }
}

/// A request to run a tool.
///
/// ```
/// use alloquy_core::ToolCall;
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
/// use alloquy_core::{ToolCall, ToolResult};
/// use serde_json::json;
///
/// let call = ToolCall::new("call_1", "weather", json!({"city": "Oslo"}));
/// let result = ToolResult::ok(&call, json!({"celsius": -3}));
/// assert_eq!((result.id.as_str(), result.is_error), ("call_1", false));
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
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
    /// Creates the answer to `call`.
    pub fn ok(call: &ToolCall, content: impl Into<Value>) -> Self {
        Self { id: call.id.clone(), name: call.name.clone(), content: content.into(), is_error: false }
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

/// What the model said in one of its [channels](crate::Channel) that is not its thinking.
///
/// ```
/// use alloquy_core::{ChannelText, Message, Part, Role};
///
/// let joke = ChannelText::new("joke", "Why did the crab cross the sand?");
/// let message = Message::new(Role::Assistant, vec![Part::Channel(joke), Part::Text("Here is one.".into())]);
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

/// One message of a conversation.
///
/// Content is data: a message's text is never run as a template. `extra` keeps every field that Alloquy does
/// not know, in order, and hands it to the chat template.
///
/// ```
/// use alloquy_core::{Message, Role};
///
/// let message = Message::user("What is {{ 7 * 7 }}?");
/// assert_eq!(message.role, Role::User);
/// assert_eq!(message.text(), "What is {{ 7 * 7 }}?");
/// let stored = serde_json::to_string(&message)?;
/// assert_eq!(stored, r#"{"role":"user","parts":[{"text":"What is {{ 7 * 7 }}?"}]}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Message {
    /// Who says it.
    pub role: Role,
    /// What it is made of, in order; may be empty.
    pub parts: Vec<MessagePart>,
    /// The speaker's name, where a template prints it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Unknown fields, in order.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub extra: Map<String, Value>,
}

impl Message {
    /// Creates a message of `parts`, with or without further fields.
    pub fn new(role: Role, parts: Vec<impl Into<MessagePart>>) -> Self {
        Self { role, parts: parts.into_iter().map(Into::into).collect(), name: None, extra: Map::new() }
    }

    /// Creates a system message.
    pub fn system(text: impl Into<String>) -> Self {
        Self::new(Role::System, vec![Part::Text(text.into())])
    }

    /// Creates a user message.
    pub fn user(text: impl Into<String>) -> Self {
        Self::new(Role::User, vec![Part::Text(text.into())])
    }

    /// Creates an assistant message.
    pub fn assistant(text: impl Into<String>) -> Self {
        Self::new(Role::Assistant, vec![Part::Text(text.into())])
    }

    /// Creates the message that carries tools' answers.
    pub fn tool(results: Vec<ToolResult>) -> Self {
        Self::new(Role::Tool, results.into_iter().map(Part::ToolResult).collect())
    }

    /// Sets the speaker's name.
    #[must_use]
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Returns the text parts, joined with nothing between them.
    pub fn text(&self) -> String {
        self.parts.iter().filter_map(MessagePart::as_text).collect()
    }

    /// Says whether nothing is said: no parts, or only empty texts.
    pub fn is_empty(&self) -> bool {
        self.parts.iter().all(|part| part.as_text() == Some(""))
    }

    /// Returns the thinking parts, joined; `None` when there are none.
    pub fn thinking(&self) -> Option<String> {
        let thoughts = self.parts.iter().filter_map(|part| match &part.content {
            Part::Thinking(text) => Some(text.as_str()),
            _ => None,
        });
        thoughts.map(str::to_owned).reduce(|all, next| all + &next)
    }

    /// Returns what was said in channels other than thinking, in order.
    pub fn channels(&self) -> impl Iterator<Item = &ChannelText> {
        self.parts.iter().filter_map(|part| match &part.content {
            Part::Channel(said) => Some(said),
            _ => None,
        })
    }

    /// Returns what was said in the channel of this name, joined; `None` when nothing was. What the model thought is
    /// [`Message::thinking`].
    pub fn channel(&self, name: &str) -> Option<String> {
        let said = self.channels().filter(|said| said.name == name);
        said.map(|said| said.text.clone()).reduce(|all, next| all + &next)
    }

    /// Returns the tool calls, in order.
    pub fn tool_calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.parts.iter().filter_map(|part| match &part.content {
            Part::ToolCall(call) => Some(call),
            _ => None,
        })
    }

    /// Returns what could not be read of a reply, in order.
    pub fn malformed(&self) -> impl Iterator<Item = &Malformed> {
        self.parts.iter().filter_map(|part| match &part.content {
            Part::Malformed(malformed) => Some(malformed),
            _ => None,
        })
    }

    /// Returns the message if all of it could be read, for a caller to whom an unreadable call is an error.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] with the reason and the text of the first part that could not be read.
    ///
    /// ```
    /// use alloquy_core::{Malformed, Message, Part, Role};
    ///
    /// let part = Malformed { raw: "<tool_call>{".to_owned(), reason: "the reply ended inside a call".to_owned() };
    /// let message = Message::new(Role::Assistant, vec![Part::Malformed(part)]);
    /// let error = message.readable().unwrap_err();
    /// assert_eq!(error.to_string(), "the reply ended inside a call: \"<tool_call>{\"");
    /// ```
    pub fn readable(self) -> Result<Self> {
        let error = self.malformed().next().map(|part| format!("{}: {:?}", part.reason, part.raw));
        error.map_or(Ok(self), |message| Err(Error::new(ErrorKind::Invalid, message)))
    }

    /// Returns the tool results, in order.
    pub fn tool_results(&self) -> impl Iterator<Item = &ToolResult> {
        self.parts.iter().filter_map(|part| match &part.content {
            Part::ToolResult(result) => Some(result),
            _ => None,
        })
    }

    /// Returns every picture, sound and film frame, in order.
    pub fn media(&self) -> impl Iterator<Item = &Media> {
        self.parts.iter().flat_map(|part| match &part.content {
            Part::Image(media) | Part::Audio(media) => std::slice::from_ref(media),
            Part::Video(frames) => frames.as_slice(),
            _ => &[],
        })
    }
}

impl From<&str> for Message {
    /// A bare string is what the user says.
    fn from(text: &str) -> Self {
        Message::user(text)
    }
}

impl From<String> for Message {
    fn from(text: String) -> Self {
        Message::user(text)
    }
}
