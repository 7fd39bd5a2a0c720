//! Connects to a server.

use std::sync::Arc;

use alloquy_core::model_info::ModelInfo;
use alloquy_core::tokenizer::Tokenizer;
use alloquy_core::{Error, ErrorKind, Result};

use crate::admission::Admission;
use crate::decoder::{Connection, RemoteDecoder};
use crate::dialect::Dialect;
use crate::endpoint::Endpoint;
use crate::http::Http;
use crate::pool::Pool;
use crate::salt::SaltSecret;
use crate::server::RemoteServer;
use crate::source::RemoteFiles;
use crate::worker::Worker;

/// Settings of a [`RemoteDecoder`].
///
/// ```no_run
/// use alloquy_openai::{ApiKey, Dialect, RemoteDecoder, RemoteServer};
///
/// # async fn example() -> alloquy_core::Result<()> {
/// let server = RemoteServer::at("https://models.example.com").key(ApiKey::variable("MODELS_KEY")?);
/// let decoder = RemoteDecoder::builder(server, "models/qwen3-4b")
///     .model("qwen3-4b")
///     .dialect(Dialect::Vllm)
///     .connect()
///     .await?;
/// println!("{:?}", decoder.description());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct RemoteBuilder {
    servers: Vec<RemoteServer>,
    files: RemoteFiles,
    parts: Option<(Arc<dyn Tokenizer>, ModelInfo)>,
    model: Option<String>,
    dialect: Option<Dialect>,
    salts: Option<SaltSecret>,
    priority: Option<i32>,
    pins_slots: bool,
}

impl RemoteDecoder {
    /// Sets up a connection to a server, whose model has these files. [`RemoteBuilder`] has an example.
    pub fn builder(server: impl Into<RemoteServer>, files: impl Into<RemoteFiles>) -> RemoteBuilder {
        RemoteBuilder::new(server.into(), files.into())
    }

    /// Connects to a server with the default settings. [`RemoteDecoder`] has an example.
    ///
    /// # Errors
    /// As [`RemoteBuilder::connect`].
    pub async fn connect(server: impl Into<RemoteServer>, files: impl Into<RemoteFiles>) -> Result<Self> {
        Self::builder(server, files).connect().await
    }
}

impl RemoteBuilder {
    fn new(server: RemoteServer, files: RemoteFiles) -> Self {
        let servers = vec![server];
        Self {
            servers,
            files,
            parts: None,
            model: None,
            dialect: None,
            salts: None,
            priority: None,
            pins_slots: true,
        }
    }

    /// Adds a server with the same model. One that does not answer is used as soon as it does, as long as another one answers.
    ///
    /// ```no_run
    /// use alloquy_openai::{RemoteDecoder, RemoteServer};
    ///
    /// # async fn example() -> alloquy_core::Result<()> {
    /// let decoder = RemoteDecoder::builder("http://gpu1:8000", "models/qwen3-4b")
    ///     .another("http://gpu2:8000")
    ///     .another(RemoteServer::at("http://gpu3:8000").weight(2))
    ///     .connect()
    ///     .await?;
    /// for endpoint in decoder.endpoints() {
    ///     println!("{}: {} in flight", endpoint.url, endpoint.in_flight);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn another(mut self, server: impl Into<RemoteServer>) -> Self {
        self.servers.push(server.into());
        self
    }

    /// Uses a tokenizer and a description that are read already, instead of those of the files.
    pub fn tokenizer(mut self, tokenizer: impl Tokenizer + 'static, info: ModelInfo) -> Self {
        self.parts = Some((Arc::new(tokenizer), info));
        self
    }

    /// Sets the name by which the server knows the model. A server with one model needs none.
    pub fn model(mut self, name: impl Into<String>) -> Self {
        self.model = Some(name.into());
        self
    }

    /// Sets the protocol, which is found out otherwise.
    pub fn dialect(mut self, dialect: Dialect) -> Self {
        self.dialect = Some(dialect);
        self
    }

    /// Sets the secret from which the salts of owners are made, for [`RemoteDecoder::for_owner`].
    pub fn salts(mut self, secret: SaltSecret) -> Self {
        self.salts = Some(secret);
        self
    }

    /// Sets the priority of requests, as the server orders them.
    pub fn priority(mut self, priority: i32) -> Self {
        self.priority = Some(priority);
        self
    }

    /// Leaves it to a llama.cpp server in which of its slots a prompt is computed, and how many requests it has at once.
    ///
    /// Without this setting, requests are sent to the slot that holds most of their prompt, as far as this program knows. A
    /// server that several programs use knows more.
    ///
    /// ```no_run
    /// use alloquy_openai::RemoteDecoder;
    ///
    /// # async fn example() -> alloquy_core::Result<()> {
    /// let decoder = RemoteDecoder::builder("http://localhost:8080", "models/stories260k").slots_by_server().connect().await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn slots_by_server(mut self) -> Self {
        self.pins_slots = false;
        self
    }

    /// Connects: reads the files, finds out what each server is, and compares the tokenizers and the models.
    ///
    /// # Errors
    /// Those of the files. [`ErrorKind::Backend`] when no server answers, and the kinds of its refusals. [`ErrorKind::Model`] when
    /// its tokenizer is another one, with the ids of both, or when two servers have different models. [`ErrorKind::Unsupported`]
    /// for a priority or salts on a server that has none. [`ErrorKind::Invalid`] for a server that is listed twice.
    pub async fn connect(self) -> Result<RemoteDecoder> {
        let (tokenizer, mut info) = match self.parts {
            Some(parts) => parts,
            None => {
                let (tokenizer, info) = self.files.read()?;
                (Arc::new(tokenizer) as Arc<dyn Tokenizer>, info)
            }
        };
        let endpoints = endpoints(&self.servers)?;
        let mut admission = Admission::new(&*tokenizer, &info, endpoints.len() == 1)?;
        admission.dialect = self.dialect;
        admission.model = self.model;
        admission.has_priority = self.priority.is_some();
        admission.has_salts = self.salts.is_some();
        admission.pins_slots = self.pins_slots;
        let worker = Worker::start()?;
        let pool = Arc::new(Pool::new(endpoints, admission));
        let opening = Arc::clone(&pool);
        let context_length = info.context_length;
        let opened = worker.run(async move { opening.open(context_length).await }).await??;
        // A server may have less space for its caches than the model has positions.
        info.context_length = opened.context_length;
        let description = opened.description;
        info.provider = Some(format!("{} at {}", description.dialect.as_str(), description.url));
        let connection = Connection {
            worker,
            pool,
            info,
            tokenizer,
            description,
            salts: self.salts,
            priority: self.priority,
        };
        Ok(RemoteDecoder::new(connection))
    }
}

/// Returns the servers of a decoder, none of which is connected yet.
///
/// # Errors
/// [`ErrorKind::Invalid`] for an address that occurs twice, and a weight of 0.
fn endpoints(servers: &[RemoteServer]) -> Result<Vec<Endpoint>> {
    let mut endpoints: Vec<Endpoint> = Vec::with_capacity(servers.len());
    for server in servers {
        let http = Http::new(server)?;
        let address = http.address();
        if endpoints.iter().any(|known| known.http.address() == address) {
            let message = format!("server {address:?} is listed twice: list it once, with a larger weight");
            return Err(Error::new(ErrorKind::Invalid, message));
        }
        if server.weight == 0 {
            let message =
                format!("server {address:?} has a weight of 0: the least is 1, so leave it out instead");
            return Err(Error::new(ErrorKind::Invalid, message));
        }
        endpoints.push(Endpoint::new(http, server.weight));
    }
    Ok(endpoints)
}
