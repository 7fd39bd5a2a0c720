//! A message: who says it, the parts it is made of, and whatever else came with it.

mod content;
mod part;
mod path;
mod preview;
mod source;

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::media::Media;
use crate::{Error, ErrorKind, Result};

pub use content::{ChannelText, Content, Malformed, ToolCall, ToolResult};
pub use part::Part;
pub use path::{MessagePath, MessagesMut, PathOutline};
pub use source::Source;

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
    pub parts: Vec<Part>,
    /// The speaker's name, where a template prints it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Unknown fields, in order.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub extra: Map<String, Value>,
}

impl Message {
    /// Creates a message of `parts`, with or without further fields.
    pub fn new(role: Role, parts: Vec<impl Into<Part>>) -> Self {
        Self { role, parts: parts.into_iter().map(Into::into).collect(), name: None, extra: Map::new() }
    }

    /// Creates a system message.
    pub fn system(text: impl Into<String>) -> Self {
        Self::new(Role::System, vec![Content::Text(text.into())])
    }

    /// Creates a user message.
    pub fn user(text: impl Into<String>) -> Self {
        Self::new(Role::User, vec![Content::Text(text.into())])
    }

    /// Creates an assistant message.
    pub fn assistant(text: impl Into<String>) -> Self {
        Self::new(Role::Assistant, vec![Content::Text(text.into())])
    }

    /// Creates the message that carries tools' answers.
    pub fn tool(results: Vec<ToolResult>) -> Self {
        Self::new(Role::Tool, results.into_iter().map(Content::ToolResult).collect())
    }

    /// Sets the speaker's name.
    #[must_use]
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Returns the text parts, joined with nothing between them.
    pub fn text(&self) -> String {
        self.parts.iter().filter_map(Part::as_text).collect()
    }

    /// Says whether nothing is said: no parts, or only empty texts.
    pub fn is_empty(&self) -> bool {
        self.parts.iter().all(|part| part.as_text() == Some(""))
    }

    /// Returns the thinking parts, joined; `None` when there are none.
    pub fn thinking(&self) -> Option<String> {
        let thoughts = self.parts.iter().filter_map(|part| match &part.content {
            Content::Thinking(text) => Some(text.as_str()),
            _ => None,
        });
        thoughts.map(str::to_owned).reduce(|all, next| all + &next)
    }

    /// Returns what was said in channels other than thinking, in order.
    pub fn channels(&self) -> impl Iterator<Item = &ChannelText> {
        self.parts.iter().filter_map(|part| match &part.content {
            Content::Channel(said) => Some(said),
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
            Content::ToolCall(call) => Some(call),
            _ => None,
        })
    }

    /// Returns what could not be read of a reply, in order.
    pub fn malformed(&self) -> impl Iterator<Item = &Malformed> {
        self.parts.iter().filter_map(|part| match &part.content {
            Content::Malformed(malformed) => Some(malformed),
            _ => None,
        })
    }

    /// Returns the message if all of it could be read, for a caller to whom an unreadable call is an error.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] with the reason and the text of the first part that could not be read.
    ///
    /// ```
    /// use alloquy_core::{Content, Message, Role};
    /// use alloquy_core::message::Malformed;
    ///
    /// let part = Malformed { raw: "<tool_call>{".to_owned(), reason: "the reply ended inside a call".to_owned() };
    /// let message = Message::new(Role::Assistant, vec![Content::Malformed(part)]);
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
            Content::ToolResult(result) => Some(result),
            _ => None,
        })
    }

    /// Returns every picture, sound and film frame, in order.
    pub fn media(&self) -> impl Iterator<Item = &Media> {
        self.parts.iter().flat_map(|part| match &part.content {
            Content::Image(media) | Content::Audio(media) => std::slice::from_ref(media),
            Content::Video(frames) => frames.as_slice(),
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
