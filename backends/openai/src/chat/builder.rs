//! Connects to a chat endpoint.

use std::sync::Arc;

use alloquy_core::{Error, ErrorKind, Result};

use super::model::{ChatConnection, RemoteChat};
use super::protocol::ChatProtocol;
use super::question::MAX_TOKENS;
use crate::http::Http;
use crate::probe::model_name;
use crate::server::RemoteServer;
use crate::worker::Worker;

/// The name that OpenAI's reasoning models require.
const MAX_COMPLETION_TOKENS: &str = "max_completion_tokens";

/// Settings of a [`RemoteChat`].
///
/// ```no_run
/// use alloquy_openai::{ApiKey, ChatProtocol, RemoteChat, RemoteServer};
///
/// # async fn example() -> alloquy_core::Result<()> {
/// let server = RemoteServer::at("https://models.example.com").key(ApiKey::variable("MODELS_KEY")?);
/// let model = RemoteChat::builder(server)
///     .model("qwen3-4b")
///     .protocol(ChatProtocol::Completions)
///     .connect()
///     .await?;
/// println!("{:?}: {:?}", model.protocol(), model.models().await?);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct RemoteChatBuilder {
    server: RemoteServer,
    model: Option<String>,
    protocol: ChatProtocol,
    limit: &'static str,
}

impl RemoteChat {
    /// Sets up a connection to the chat endpoint of a server. [`RemoteChatBuilder`] has an example.
    pub fn builder(server: impl Into<RemoteServer>) -> RemoteChatBuilder {
        RemoteChatBuilder {
            server: server.into(),
            model: None,
            protocol: ChatProtocol::default(),
            limit: MAX_TOKENS,
        }
    }

    /// Connects to the one model of a server with the default settings. [`RemoteChat`] has an example.
    ///
    /// # Errors
    /// As [`RemoteChatBuilder::connect`].
    pub async fn connect(server: impl Into<RemoteServer>) -> Result<Self> {
        Self::builder(server).connect().await
    }
}

impl RemoteChatBuilder {
    /// Sets the name by which the server knows the model. A server with one model needs none.
    pub fn model(mut self, name: impl Into<String>) -> Self {
        self.model = Some(name.into());
        self
    }

    /// Sets the protocol. The default is [`ChatProtocol::Completions`].
    pub fn protocol(mut self, protocol: ChatProtocol) -> Self {
        self.protocol = protocol;
        self
    }

    /// Sends the limit of a reply as `max_completion_tokens`, which OpenAI's reasoning models require.
    ///
    /// Without this setting it is `max_tokens`, which every server of [`ChatProtocol::Completions`] knows except these models: they
    /// refuse it with an error of kind [`ErrorKind::Invalid`] that names this setting. The limit includes the thinking.
    ///
    /// ```no_run
    /// use alloquy_openai::{ApiKey, RemoteChat, RemoteServer};
    ///
    /// # async fn example() -> alloquy_core::Result<()> {
    /// let server = RemoteServer::at("https://api.openai.com").key(ApiKey::variable("OPENAI_API_KEY")?);
    /// let model = RemoteChat::builder(server).model("o4-mini").max_completion_tokens().connect().await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn max_completion_tokens(mut self) -> Self {
        self.limit = MAX_COMPLETION_TOKENS;
        self
    }

    /// Connects. The server is asked only for the name of its model, and only if none is set.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] for an address that is not one, and for a server with several models or without a list of them.
    /// [`ErrorKind::Unsupported`] for [`max_completion_tokens`](Self::max_completion_tokens) in another protocol than Chat Completions.
    /// The kinds of a server's refusals.
    pub async fn connect(self) -> Result<RemoteChat> {
        if self.limit != MAX_TOKENS && self.protocol != ChatProtocol::Completions {
            let message = format!(
                "the protocol {:?} has one name for the limit of a reply: leave max_completion_tokens out",
                self.protocol.as_str()
            );
            return Err(Error::new(ErrorKind::Unsupported, message));
        }
        let http = match self.protocol {
            ChatProtocol::Messages => Http::of_anthropic(&self.server)?,
            ChatProtocol::Completions | ChatProtocol::Responses => Http::new(&self.server)?,
        };
        let http = Arc::new(http);
        let worker = Worker::start()?;
        let model = worker.run(model_name(Arc::clone(&http), self.model)).await??;
        let connection = ChatConnection { worker, http, protocol: self.protocol, model, limit: self.limit };
        Ok(RemoteChat { connection: Arc::new(connection) })
    }
}
