//! A server whose answers are read whole.

use std::sync::Arc;

use alloquy_core::{Error, ErrorKind, Result};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::fault::Fault;
use crate::http::Http;
use crate::wire::quoted;

/// A server, and how it is asked.
#[derive(Debug)]
pub(super) struct Server(pub(super) Arc<Http>);

impl Server {
    /// Returns the address, as messages name it.
    pub(super) fn address(&self) -> &str {
        self.0.address()
    }

    /// Sends a request until it is answered, and reads an answer of at most `most` bytes.
    pub(super) async fn ask<T: DeserializeOwned>(&self, path: &str, body: &Value, most: usize) -> Result<T> {
        let body = body.to_string();
        let mut attempt = 1;
        loop {
            match self.attempt(path, body.clone(), most).await {
                Ok(answer) => return Ok(answer),
                Err(fault) => self.0.retries.pause(fault, attempt).await?,
            }
            attempt += 1;
        }
    }

    async fn attempt<T: DeserializeOwned>(&self, path: &str, body: String, most: usize) -> Result<T, Fault> {
        let text = self.0.post_text(self.0.timeouts.first, most, path, body).await?;
        serde_json::from_str(&text).map_err(|source| {
            let is_cut = source.is_eof();
            let start = quoted(&text);
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
