//! Connects to a chat endpoint.

use std::sync::Arc;

use alloquy_core::{Error, ErrorKind, Result};

use super::model::{ChatConnection, RemoteChat};
use super::protocol::ChatProtocol;
use crate::http::{Http, RemoteTimeouts};
use crate::key::ApiKey;
use crate::probe;
use crate::transfer::RemoteRetries;
use crate::worker::Worker;

/// Settings of a [`RemoteChat`].
///
/// ```no_run
/// use alloquy_openai::{ApiKey, ChatProtocol, RemoteChat};
///
/// # async fn example() -> alloquy_core::Result<()> {
/// let model = RemoteChat::builder("https://models.example.com")
///     .model("qwen3-4b")
///     .protocol(ChatProtocol::Completions)
///     .key(ApiKey::variable("MODELS_KEY")?)
///     .connect()
///     .await?;
/// println!("{:?}: {:?}", model.protocol(), model.models().await?);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct RemoteChatBuilder {
    url: String,
    model: Option<String>,
    protocol: ChatProtocol,
    key: Option<ApiKey>,
    timeouts: RemoteTimeouts,
    retries: RemoteRetries,
}

impl RemoteChat {
    /// Sets up a connection to the chat endpoint of a server. [`RemoteChatBuilder`] has an example.
    pub fn builder(url: impl Into<String>) -> RemoteChatBuilder {
        RemoteChatBuilder {
            url: url.into(),
            model: None,
            protocol: ChatProtocol::default(),
            key: None,
            timeouts: RemoteTimeouts::default(),
            retries: RemoteRetries::default(),
        }
    }

    /// Connects to the one model of a server with the default settings. [`RemoteChat`] has an example.
    ///
    /// # Errors
    /// As [`RemoteChatBuilder::connect`].
    pub async fn connect(url: impl Into<String>) -> Result<Self> {
        Self::builder(url).connect().await
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

    /// Sets the key that the server requires.
    pub fn key(mut self, key: ApiKey) -> Self {
        self.key = Some(key);
        self
    }

    /// Sets how long requests wait.
    pub fn timeouts(mut self, timeouts: RemoteTimeouts) -> Self {
        self.timeouts = timeouts;
        self
    }

    /// Sets how often requests are tried. Another attempt is made only before the first event of a reply.
    pub fn retries(mut self, retries: RemoteRetries) -> Self {
        self.retries = retries;
        self
    }

    /// Connects. The server is asked only for the name of its model, and only if none is set.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] for an address that is not one, and for a server with several models or without a list of them. The
    /// kinds of a server's refusals.
    pub async fn connect(self) -> Result<RemoteChat> {
        let mut http = Http::new(&self.url, self.key.as_ref(), &self.timeouts)?;
        if self.protocol == ChatProtocol::Messages {
            http = http.for_anthropic(self.key.as_ref())?;
        }
        let http = Arc::new(http);
        let worker = Worker::start()?;
        let model = match self.model {
            Some(model) => model,
            None => {
                let asked = Arc::clone(&http);
                worker.run(async move { only_model(&asked).await }).await??
            }
        };
        let connection = ChatConnection {
            worker,
            http,
            protocol: self.protocol,
            model,
            timeouts: self.timeouts,
            retries: self.retries,
        };
        Ok(RemoteChat { connection: Arc::new(connection) })
    }
}

async fn only_model(http: &Http) -> Result<String> {
    let models = probe::models(http).await?;
    let name = probe::chosen(&models, None)?.and_then(probe::name_of);
    name.map(str::to_owned).ok_or_else(|| {
        let message = "the server lists no models: name the model with `model`";
        Error::new(ErrorKind::Invalid, message)
    })
}
