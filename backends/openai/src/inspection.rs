//! Asks a server what it is, without opening a model on it.

use std::sync::Arc;

use alloquy_core::{Error, Result};

use crate::dialect::Dialect;
use crate::http::Http;
use crate::probe::{detect, is_adapter, models, name_of, probe};
use crate::server::RemoteServer;
use crate::wire::size;
use crate::worker::Worker;

/// What a server says of itself.
///
/// ```no_run
/// use alloquy_openai::RemoteServer;
///
/// # async fn example() -> alloquy_core::Result<()> {
/// let report = RemoteServer::at("http://localhost:8000").inspect(None).await?;
/// println!("{} speaks {:?}", report.url, report.dialect);
/// for model in &report.models {
///     println!("{}: {:?} positions", model.name, model.context_length);
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RemoteReport {
    /// The address.
    pub url: String,
    /// The protocol that it speaks.
    pub dialect: Dialect,
    /// Its version, if it has one.
    pub version: Option<String>,
    /// Its models without their adapters. It is empty where the server has no list of them.
    pub models: Vec<RemoteModel>,
}

/// A model of a server. [`RemoteReport`] has an example.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RemoteModel {
    /// The name by which the server knows it.
    pub name: String,
    /// How many positions a request may have, if the server says so.
    pub context_length: Option<usize>,
}

impl RemoteServer {
    /// Asks the server for its dialect, its version and its models. [`RemoteReport`] has an example.
    ///
    /// A dialect that is given is not asked.
    ///
    /// # Errors
    /// [`ErrorKind::Backend`](alloquy_core::ErrorKind::Backend) when no server answers, and the kinds of its refusals.
    pub async fn inspect(&self, dialect: Option<Dialect>) -> Result<RemoteReport> {
        let http = Arc::new(Http::new(self)?);
        let worker = Worker::start()?;
        worker.run(async move { report(&http, dialect).await }).await?
    }
}

async fn report(http: &Http, dialect: Option<Dialect>) -> Result<RemoteReport, Error> {
    let entries = models(http).await?;
    let dialect = match dialect {
        Some(dialect) => dialect,
        None => detect(http, &entries).await,
    };
    // The version, and the context of a server with one model. A server without a list may have any model.
    let first = entries.iter().find(|entry| !is_adapter(entry)).and_then(name_of).unwrap_or_default();
    let probed = probe(http, Some(dialect), Some(first.to_owned())).await?;
    let mut listed = Vec::with_capacity(entries.len());
    for entry in entries.iter().filter(|entry| !is_adapter(entry)) {
        let Some(name) = name_of(entry) else { continue };
        let context_length =
            if name == first { probed.context_length } else { entry.get("max_model_len").and_then(size) };
        listed.push(RemoteModel { name: name.to_owned(), context_length });
    }
    let url = http.address().to_owned();
    Ok(RemoteReport { url, dialect, version: probed.version, models: listed })
}
