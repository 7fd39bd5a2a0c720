//! Connects to a server.

use std::sync::{Arc, Mutex};

use alloquy_core::model_info::ModelInfo;
use alloquy_core::tokenizer::Tokenizer;
use alloquy_core::{Error, ErrorKind, Result};

use crate::decoder::{Connection, RemoteDecoder};
use crate::description::RemoteDescription;
use crate::dialect::Dialect;
use crate::fingerprint;
use crate::http::Http;
use crate::memory::Memory;
use crate::probe::probe;
use crate::salt::SaltSecret;
use crate::server::RemoteServer;
use crate::slots::SlotQueue;
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
    server: RemoteServer,
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
        Self {
            server,
            files,
            parts: None,
            model: None,
            dialect: None,
            salts: None,
            priority: None,
            pins_slots: true,
        }
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

    /// Connects: reads the files, finds out what the server is, and compares the tokenizers.
    ///
    /// # Errors
    /// Those of the files. [`ErrorKind::Backend`] when no server answers, and the kinds of its refusals. [`ErrorKind::Model`] when
    /// its tokenizer is another one, with the ids of both. [`ErrorKind::Unsupported`] for a priority or salts on a server that has
    /// none.
    pub async fn connect(self) -> Result<RemoteDecoder> {
        let (tokenizer, mut info) = match self.parts {
            Some(parts) => parts,
            None => {
                let (tokenizer, info) = self.files.read()?;
                (Arc::new(tokenizer) as Arc<dyn Tokenizer>, info)
            }
        };
        let http = Arc::new(Http::new(&self.server)?);
        let worker = Worker::start()?;
        let texts = fingerprint::encoded(&*tokenizer)?;
        let asked = Arc::clone(&http);
        let found = worker.run(async move {
            let probed = probe(&asked, self.dialect, self.model).await?;
            let check = fingerprint::compare(&asked, probed.dialect, &probed.model, texts).await?;
            Ok::<_, Error>((probed, check))
        });
        let (probed, check) = found.await??;
        let dialect = probed.dialect;
        check_features(dialect, self.priority.is_some(), self.salts.is_some())?;
        // The server may have less space for its caches than the model has positions.
        let context = probed.context_length.unwrap_or(info.context_length);
        info.context_length = info.context_length.min(context);
        info.provider = Some(format!("{} at {}", dialect.as_str(), http.address()));
        let slots = probed.slots.filter(|_| self.pins_slots);
        let description = RemoteDescription {
            url: http.address().to_owned(),
            dialect,
            model: probed.model,
            context_length: probed.context_length,
            version: probed.version,
            slots: probed.slots.map(|slots| slots.count),
            tokenizer: check,
        };
        let connection = Connection {
            worker,
            http,
            slots: slots.map(|slots| SlotQueue::new(slots.count, slots.identity)),
            info,
            tokenizer,
            description,
            salts: self.salts,
            priority: self.priority,
            memory: Arc::new(Mutex::new(Memory::default())),
        };
        Ok(RemoteDecoder::new(connection))
    }
}

/// Checks that the server has what is set for it.
fn check_features(dialect: Dialect, is_priority: bool, is_salts: bool) -> Result<()> {
    let missing = if is_priority && !dialect.has_priorities() {
        "priorities"
    } else if is_salts && !dialect.has_salts() {
        "salts, so owners share its cache"
    } else {
        return Ok(());
    };
    let message =
        format!("a server of dialect {:?} has no {missing}: leave the setting out", dialect.as_str());
    Err(Error::new(ErrorKind::Unsupported, message))
}
