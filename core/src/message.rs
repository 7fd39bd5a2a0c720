//! A message: its role, its parts, and the unknown fields that it came with.

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

/// The role of a message's author.
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
    /// The instructions of the host.
    System,
    /// The person or the program that asks.
    User,
    /// The model.
    Assistant,
    /// Results of tools.
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
/// Content is data: a message's text is never run as a template. `extra` keeps every field that Alloquy does not know,
/// in order, and the chat template sees it.
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
    /// The role of the author.
    pub role: Role,
    /// Its parts, in order; may be empty.
    pub parts: Vec<Part>,
    /// The speaker's name, where a template prints it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Unknown fields, in order.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub extra: Map<String, Value>,
}

impl Message {
    /// Creates a message of `parts`.
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

    /// Creates the message with the results of tools.
    pub fn tool(results: Vec<ToolResult>) -> Self {
        Self::new(Role::Tool, results.into_iter().map(Content::ToolResult).collect())
    }

    /// Sets the speaker's name.
    #[must_use]
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Returns the text parts, joined without a separator.
    pub fn text(&self) -> String {
        self.parts.iter().filter_map(Part::as_text).collect()
    }

    /// Returns the text that its author wrote or filled in: without documents and notes, which middleware and prompts put beside it.
    ///
    /// ```
    /// use alloquy_core::{Content, Message, Part, Source};
    ///
    /// let note = Part::from(Content::Text("Ann lives in Oslo. ".into())).from_source(Source::Memory { id: "1".into() });
    /// let mut question = Message::user("Where do I live?");
    /// question.parts.insert(0, note);
    /// assert_eq!(question.own_text(), "Where do I live?");
    /// ```
    pub fn own_text(&self) -> String {
        let own = self
            .parts
            .iter()
            .filter(|part| !matches!(part.source, Some(Source::Memory { .. } | Source::Retrieved { .. })));
        own.filter_map(Part::as_text).collect()
    }

    /// Returns whether it has no parts, or only empty texts.
    pub fn is_empty(&self) -> bool {
        self.parts.iter().all(|part| part.as_text() == Some(""))
    }

    /// Returns the thinking parts, joined; `None` if there are none.
    pub fn thinking(&self) -> Option<String> {
        let mut thinking: Option<String> = None;
        for part in &self.parts {
            if let Content::Thinking(text) = &part.content {
                thinking.get_or_insert_default().push_str(text);
            }
        }
        thinking
    }

    /// Returns the texts of channels other than thinking, in order.
    pub fn channels(&self) -> impl Iterator<Item = &ChannelText> {
        self.parts.iter().filter_map(|part| match &part.content {
            Content::Channel(channel) => Some(channel),
            _ => None,
        })
    }

    /// Returns the texts of the channel of this name, joined; `None` if there are none. The text of thinking is returned
    /// by [`Message::thinking`].
    pub fn channel(&self, name: &str) -> Option<String> {
        let mut text: Option<String> = None;
        for channel in self.channels().filter(|channel| channel.name == name) {
            text.get_or_insert_default().push_str(&channel.text);
        }
        text
    }

    /// Returns the tool calls, in order.
    pub fn tool_calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.parts.iter().filter_map(|part| match &part.content {
            Content::ToolCall(call) => Some(call),
            _ => None,
        })
    }

    /// Returns the unreadable parts of a reply, in order.
    pub fn malformed(&self) -> impl Iterator<Item = &Malformed> {
        self.parts.iter().filter_map(|part| match &part.content {
            Content::Malformed(malformed) => Some(malformed),
            _ => None,
        })
    }

    /// Returns the message, or an error if a part of it is unreadable.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] with the reason and the text of the first unreadable part.
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
        if let Some(part) = self.malformed().next() {
            return Err(Error::new(ErrorKind::Invalid, format!("{}: {:?}", part.reason, part.raw)));
        }
        Ok(self)
    }

    /// Returns the tool results, in order.
    pub fn tool_results(&self) -> impl Iterator<Item = &ToolResult> {
        self.parts.iter().filter_map(|part| match &part.content {
            Content::ToolResult(result) => Some(result),
            _ => None,
        })
    }

    /// Returns every image, audio clip and video frame, in order.
    pub fn media(&self) -> impl Iterator<Item = &Media> {
        self.parts.iter().flat_map(|part| match &part.content {
            Content::Image(media) | Content::Audio(media) => std::slice::from_ref(media),
            Content::Video(frames) => frames.as_slice(),
            _ => &[],
        })
    }
}

impl From<&str> for Message {
    /// A string is a message of the user.
    fn from(text: &str) -> Self {
        Message::user(text)
    }
}

impl From<String> for Message {
    fn from(text: String) -> Self {
        Message::user(text)
    }
}
