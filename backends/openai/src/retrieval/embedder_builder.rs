//! Connects to a server that computes vectors.

use std::sync::Arc;

use alloquy_core::Result;

use super::answer::check_positive;
use super::embedder::{EmbedderParts, RemoteEmbedder, RemoteEmbedderInfo};
use super::server::Server;
use crate::http::Http;
use crate::probe::model_name;
use crate::server::RemoteServer;
use crate::worker::Worker;

/// How many texts a request has. Some servers take no more.
const BATCH: usize = 32;

/// Settings of a [`RemoteEmbedder`].
///
/// ```no_run
/// use alloquy_openai::{ApiKey, RemoteEmbedder, RemoteServer};
///
/// # async fn example() -> alloquy_core::Result<()> {
/// let server = RemoteServer::at("https://models.example.com").key(ApiKey::variable("MODELS_KEY")?);
/// let embedder = RemoteEmbedder::builder(server)
///     .model("multilingual-e5-small")
///     .query_prefix("query: ")
///     .passage_prefix("passage: ")
///     .connect()
///     .await?;
/// assert_eq!(embedder.info().dimensions, 384);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct RemoteEmbedderBuilder {
    server: RemoteServer,
    model: Option<String>,
    revision: Option<String>,
    query_prefix: String,
    passage_prefix: String,
    dimensions: Option<usize>,
    batch_size: usize,
    max_characters: Option<usize>,
}

impl RemoteEmbedder {
    /// Sets up a connection to a server. [`RemoteEmbedderBuilder`] has an example.
    pub fn builder(server: impl Into<RemoteServer>) -> RemoteEmbedderBuilder {
        RemoteEmbedderBuilder {
            server: server.into(),
            model: None,
            revision: None,
            query_prefix: String::new(),
            passage_prefix: String::new(),
            dimensions: None,
            batch_size: BATCH,
            max_characters: None,
        }
    }

    /// Connects to a server with the default settings. [`RemoteEmbedder`] has an example.
    ///
    /// # Errors
    /// As [`RemoteEmbedderBuilder::connect`].
    pub async fn connect(server: impl Into<RemoteServer>) -> Result<Self> {
        Self::builder(server).connect().await
    }
}

impl RemoteEmbedderBuilder {
    /// Sets the name by which the server knows the model. A server with one model needs none.
    pub fn model(mut self, name: impl Into<String>) -> Self {
        self.model = Some(name.into());
        self
    }

    /// Sets which weights the model has, such as a commit or a date. Another revision has another digest, so that vectors are computed
    /// again. A server does not report that it has other weights under the same name.
    pub fn revision(mut self, revision: impl Into<String>) -> Self {
        self.revision = Some(revision.into());
        self
    }

    /// Sets the prefix of questions.
    pub fn query_prefix(mut self, prefix: impl Into<String>) -> Self {
        self.query_prefix = prefix.into();
        self
    }

    /// Sets the prefix of passages.
    pub fn passage_prefix(mut self, prefix: impl Into<String>) -> Self {
        self.passage_prefix = prefix.into();
        self
    }

    /// Sets how many numbers of a vector are requested. A server refuses this for a model that was not trained for it. Otherwise
    /// a vector has as many as the model computes.
    pub fn dimensions(mut self, dimensions: usize) -> Self {
        self.dimensions = Some(dimensions);
        self
    }

    /// Sets how many texts a request has at most. The default is 32.
    pub fn batch_size(mut self, texts: usize) -> Self {
        self.batch_size = texts;
        self
    }

    /// Sets how many characters of a text are sent, without its prefix. A longer text is one of
    /// [`Embeddings::cut`](alloquy_retrieval::Embeddings::cut). Otherwise texts are sent whole, and most servers refuse one that is
    /// too long for the model.
    pub fn max_characters(mut self, characters: usize) -> Self {
        self.max_characters = Some(characters);
        self
    }

    /// Connects, and computes first vectors. They show how many numbers vectors have, and that a text has the same vector alone and in a
    /// batch, which is not compared if a batch has one text.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`](alloquy_core::ErrorKind::Invalid) for a setting that is 0, and for a server with several models if none
    /// is chosen. Those of [`RemoteEmbedder`].
    pub async fn connect(self) -> Result<RemoteEmbedder> {
        check_positive("batch_size", Some(self.batch_size))?;
        check_positive("dimensions", self.dimensions)?;
        check_positive("max_characters", self.max_characters)?;
        let http = Arc::new(Http::new(&self.server)?);
        let worker = Worker::start()?;
        let model = worker.run(model_name(Arc::clone(&http), self.model)).await??;
        let server = Server(http);
        let info = RemoteEmbedderInfo {
            url: server.address().to_owned(),
            model,
            revision: self.revision,
            dimensions: 0,
            query_prefix: self.query_prefix,
            passage_prefix: self.passage_prefix,
            max_characters: self.max_characters,
        };
        let parts = EmbedderParts { server, info, asked: self.dimensions, batch_size: self.batch_size };
        RemoteEmbedder::probed(worker, parts).await
    }
}
