//! The protocols of chat endpoints.

use std::str::FromStr;

use alloquy_core::{Error, ErrorKind, Result};
use serde_json::Value;

use super::event::ChatEvent;
use super::question::Question;
use super::{anthropic, completions, responses};

/// The protocol of a chat endpoint.
///
/// ```
/// use alloquy_openai::ChatProtocol;
///
/// assert_eq!("completions".parse::<ChatProtocol>()?, ChatProtocol::Completions);
/// assert_eq!(ChatProtocol::Completions.path(), "/v1/chat/completions");
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ChatProtocol {
    /// OpenAI's Chat Completions, which most servers have.
    #[default]
    Completions,
    /// Anthropic's Messages. The key is sent as `x-api-key`, unless [`key_header`](crate::RemoteServer::key_header) names another
    /// header.
    Messages,
    /// OpenAI's Responses. Nothing is stored on the server.
    Responses,
}

impl ChatProtocol {
    /// Every protocol.
    pub const ALL: [ChatProtocol; 3] =
        [ChatProtocol::Completions, ChatProtocol::Messages, ChatProtocol::Responses];

    /// Returns the name, as a command line accepts it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Completions => "completions",
            Self::Messages => "messages",
            Self::Responses => "responses",
        }
    }

    /// Returns the path of requests.
    pub fn path(self) -> &'static str {
        match self {
            Self::Completions => "/v1/chat/completions",
            Self::Messages => "/v1/messages",
            Self::Responses => "/v1/responses",
        }
    }

    /// Returns the body of a request, and adds the warnings of the protocol to it.
    pub(crate) fn body(self, question: &mut Question) -> Result<Value> {
        match self {
            Self::Completions => completions::body(question),
            Self::Messages => anthropic::body(question),
            Self::Responses => responses::body(question),
        }
    }

    /// Reads an event of an answer.
    pub(crate) fn events(self, event: &Value) -> Vec<ChatEvent> {
        match self {
            Self::Completions => completions::events(event),
            Self::Messages => anthropic::events(event),
            Self::Responses => responses::events(event),
        }
    }

    /// Returns whether requests have a seed.
    pub(crate) fn has_seeds(self) -> bool {
        self == Self::Completions
    }
}

impl FromStr for ChatProtocol {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        if let Some(protocol) = Self::ALL.into_iter().find(|protocol| protocol.as_str() == name) {
            return Ok(protocol);
        }
        let known = Self::ALL.map(Self::as_str).join(", ");
        Err(Error::new(ErrorKind::Invalid, format!("unknown protocol {name:?}, one of: {known}")))
    }
}
