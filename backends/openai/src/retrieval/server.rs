//! A server whose answers are read whole.

use std::sync::Arc;

use alloquy_core::{Error, ErrorKind, Result};
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::time::sleep;

use crate::fault::Fault;
use crate::http::{Http, RemoteTimeouts};
use crate::key::ApiKey;
use crate::probe::only_model;
use crate::transfer::RemoteRetries;
use crate::worker::Worker;

/// How a connection is set up, whatever is asked on it.
#[derive(Clone, Debug)]
pub(super) struct ServerOptions {
    pub(super) url: String,
    pub(super) model: Option<String>,
    pub(super) key: Option<ApiKey>,
    pub(super) timeouts: RemoteTimeouts,
    pub(super) retries: RemoteRetries,
}

impl ServerOptions {
    pub(super) fn new(url: String) -> Self {
        Self {
            url,
            model: None,
            key: None,
            timeouts: RemoteTimeouts::default(),
            retries: RemoteRetries::default(),
        }
    }

    /// Returns a thread, the server, and the name of the model.
    pub(super) async fn open(self) -> Result<(Worker, Server, String)> {
        let http = Arc::new(Http::new(&self.url, self.key.as_ref(), &self.timeouts)?);
        let worker = Worker::start()?;
        let model = match self.model {
            // A server may have models that it does not list.
            Some(model) => model,
            None => {
                let asked = Arc::clone(&http);
                worker.run(async move { only_model(&asked).await }).await??
            }
        };
        let server = Server { http, timeouts: self.timeouts, retries: self.retries };
        Ok((worker, server, model))
    }
}

/// A server, and how it is asked.
#[derive(Clone, Debug)]
pub(super) struct Server {
    http: Arc<Http>,
    timeouts: RemoteTimeouts,
    retries: RemoteRetries,
}

impl Server {
    /// Returns the address, as messages name it.
    pub(super) fn address(&self) -> &str {
        self.http.address()
    }

    /// Sends a request until it is answered, and reads an answer of at most `most` bytes.
    pub(super) async fn ask<T: DeserializeOwned>(&self, path: &str, body: &Value, most: usize) -> Result<T> {
        let body = body.to_string();
        let mut attempt = 1;
        loop {
            let fault = match self.attempt(path, body.clone(), most).await {
                Ok(answer) => return Ok(answer),
                Err(fault) => fault,
            };
            let Some(wait) = self.retries.wait(&fault, attempt) else { return Err(fault.error) };
            tracing::debug!(error = %fault.error, attempt, ?wait, "request failed and is sent again");
            sleep(wait).await;
            attempt += 1;
        }
    }

    async fn attempt<T: DeserializeOwned>(&self, path: &str, body: String, most: usize) -> Result<T, Fault> {
        let text = self.http.post_text(self.timeouts.first, most, path, body).await?;
        serde_json::from_str(&text).map_err(|source| {
            let is_cut = source.is_eof();
            let start: String = text.chars().take(200).collect();
            let message = format!(
                "{}{path} did not answer as OpenAI's protocol says: check the address and what the model is for; the answer begins \
                 {start:?}",
                self.address()
            );
            let error = Error::new(ErrorKind::Backend, message).with_source(source);
            // The rest of an answer may be lost on its way.
            if is_cut { Fault::passing(error) } else { Fault::lasting(error) }
        })
    }
}
