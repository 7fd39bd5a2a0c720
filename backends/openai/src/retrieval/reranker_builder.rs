//! Connects to a server that orders passages.

use std::sync::Arc;

use alloquy_core::Result;

use super::answer::check_positive;
use super::reranker::{RemoteReranker, RemoteRerankerInfo, RerankerParts};
use super::server::Server;
use crate::http::Http;
use crate::probe::model_name;
use crate::server::RemoteServer;
use crate::worker::Worker;

/// Settings of a [`RemoteReranker`].
///
/// ```no_run
/// use alloquy_openai::{ApiKey, RemoteReranker, RemoteServer};
///
/// # async fn example() -> alloquy_core::Result<()> {
/// let server = RemoteServer::at("https://models.example.com").key(ApiKey::variable("MODELS_KEY")?);
/// let reranker = RemoteReranker::builder(server)
///     .model("bge-reranker-v2-m3")
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
    server: RemoteServer,
    model: Option<String>,
    revision: Option<String>,
    max_characters: Option<usize>,
}

impl RemoteReranker {
    /// Sets up a connection to a server. [`RemoteRerankerBuilder`] has an example.
    pub fn builder(server: impl Into<RemoteServer>) -> RemoteRerankerBuilder {
        RemoteRerankerBuilder { server: server.into(), model: None, revision: None, max_characters: None }
    }

    /// Connects to a server with the default settings. [`RemoteReranker`] has an example.
    ///
    /// # Errors
    /// As [`RemoteRerankerBuilder::connect`].
    pub async fn connect(server: impl Into<RemoteServer>) -> Result<Self> {
        Self::builder(server).connect().await
    }
}

impl RemoteRerankerBuilder {
    /// Sets the name by which the server knows the model. A server with one model needs none.
    pub fn model(mut self, name: impl Into<String>) -> Self {
        self.model = Some(name.into());
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
        let http = Arc::new(Http::new(&self.server)?);
        let worker = Worker::start()?;
        let model = worker.run(model_name(Arc::clone(&http), self.model)).await??;
        let server = Server(http);
        let info = RemoteRerankerInfo {
            url: server.address().to_owned(),
            model,
            revision: self.revision,
            max_characters: self.max_characters,
        };
        RemoteReranker::probed(worker, RerankerParts { server, info }).await
    }
}
