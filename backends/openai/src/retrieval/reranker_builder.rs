//! Connects to a server that orders passages.

use alloquy_core::Result;

use super::answer::check_positive;
use super::reranker::{RemoteReranker, RemoteRerankerInfo, RerankerParts};
use super::server::ServerOptions;
use crate::http::RemoteTimeouts;
use crate::key::ApiKey;
use crate::transfer::RemoteRetries;

/// Settings of a [`RemoteReranker`].
///
/// ```no_run
/// use alloquy_openai::{ApiKey, RemoteReranker};
///
/// # async fn example() -> alloquy_core::Result<()> {
/// let reranker = RemoteReranker::builder("https://models.example.com")
///     .model("bge-reranker-v2-m3")
///     .key(ApiKey::variable("MODELS_KEY")?)
///     .max_characters(4_000)
///     .connect()
///     .await?;
/// assert_eq!(reranker.info().model, "bge-reranker-v2-m3");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct RemoteRerankerBuilder {
    server: ServerOptions,
    revision: Option<String>,
    max_characters: Option<usize>,
}

impl RemoteReranker {
    /// Sets up a connection to the server at an address. [`RemoteRerankerBuilder`] has an example.
    pub fn builder(url: impl Into<String>) -> RemoteRerankerBuilder {
        RemoteRerankerBuilder { server: ServerOptions::new(url.into()), revision: None, max_characters: None }
    }

    /// Connects to a server with the default settings. [`RemoteReranker`] has an example.
    ///
    /// # Errors
    /// As [`RemoteRerankerBuilder::connect`].
    pub async fn connect(url: impl Into<String>) -> Result<Self> {
        Self::builder(url).connect().await
    }
}

impl RemoteRerankerBuilder {
    /// Sets the name by which the server knows the model. A server with one model needs none.
    pub fn model(mut self, name: impl Into<String>) -> Self {
        self.server.model = Some(name.into());
        self
    }

    /// Sets the key that the server requires.
    pub fn key(mut self, key: ApiKey) -> Self {
        self.server.key = Some(key);
        self
    }

    /// Sets how long requests wait. An answer must be complete within [`RemoteTimeouts::first`].
    pub fn timeouts(mut self, timeouts: RemoteTimeouts) -> Self {
        self.server.timeouts = timeouts;
        self
    }

    /// Sets how often requests are tried.
    pub fn retries(mut self, retries: RemoteRetries) -> Self {
        self.server.retries = retries;
        self
    }

    /// Sets which weights the model has, such as a commit or a date. Another revision has another digest.
    pub fn revision(mut self, revision: impl Into<String>) -> Self {
        self.revision = Some(revision.into());
        self
    }

    /// Sets how many characters of a passage are sent, with its heading. Otherwise passages are sent whole, and some servers refuse one
    /// that is too long for the model.
    pub fn max_characters(mut self, characters: usize) -> Self {
        self.max_characters = Some(characters);
        self
    }

    /// Connects, and asks for a first score, which shows that the server orders passages.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`](alloquy_core::ErrorKind::Invalid) for a setting that is 0, and for a server with several models if none
    /// is chosen. Those of [`RemoteReranker`].
    pub async fn connect(self) -> Result<RemoteReranker> {
        check_positive("max_characters", self.max_characters)?;
        let (worker, server, model) = self.server.open().await?;
        let info = RemoteRerankerInfo {
            url: server.address().to_owned(),
            model,
            revision: self.revision,
            max_characters: self.max_characters,
        };
        RemoteReranker::probed(worker, RerankerParts { server, info }).await
    }
}
