//! A server, and how it is reached.

use std::time::Duration;

use alloquy_core::{Error, ErrorKind, Result};
use reqwest::Certificate;
use reqwest::header::HeaderName;
use tokio::time::sleep;

use crate::fault::Fault;
use crate::key::ApiKey;
use crate::random;

/// How long the first wait before another attempt is at most. Each further one may be twice as long.
const BACKOFF: Duration = Duration::from_millis(250);

/// A server and how it is reached. An address alone is a server with the default settings.
///
/// ```
/// use alloquy_openai::{RemoteChat, RemoteRetries, RemoteServer};
///
/// let mut retries = RemoteRetries::default();
/// retries.attempts = 1;
/// let server = RemoteServer::at("http://localhost:8000").retries(retries);
/// let model = RemoteChat::builder(server).model("qwen3-4b");
/// let other = RemoteChat::builder("http://localhost:8001");
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct RemoteServer {
    pub(crate) url: String,
    pub(crate) key: Option<ApiKey>,
    pub(crate) key_header: Option<String>,
    pub(crate) roots: Vec<String>,
    pub(crate) timeouts: RemoteTimeouts,
    pub(crate) retries: RemoteRetries,
    pub(crate) weight: u32,
}

impl RemoteServer {
    /// Names the server at an address, which is checked when it is connected to.
    pub fn at(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            key: None,
            key_header: None,
            roots: Vec::new(),
            timeouts: RemoteTimeouts::default(),
            retries: RemoteRetries::default(),
            weight: 1,
        }
    }

    /// Sets the key that the server requires. [`ApiKey`] has an example.
    pub fn key(mut self, key: ApiKey) -> Self {
        self.key = Some(key);
        self
    }

    /// Sets the header that has the key. `authorization` has it after `Bearer`, any other header has the key alone.
    ///
    /// Without this setting it is `authorization`, and `x-api-key` for [`ChatProtocol::Messages`](crate::ChatProtocol::Messages).
    /// vLLM takes the key of every protocol in `authorization` alone, llama.cpp in both, Azure in `api-key`. The name is checked when
    /// the server is connected to.
    ///
    /// ```no_run
    /// use alloquy_openai::{ApiKey, ChatProtocol, RemoteChat, RemoteServer};
    ///
    /// # async fn example() -> alloquy_core::Result<()> {
    /// // A server of vLLM, which has the protocol and another place for the key.
    /// let server =
    ///     RemoteServer::at("http://localhost:8000").key(ApiKey::variable("MODELS_KEY")?).key_header("authorization");
    /// let model = RemoteChat::builder(server).protocol(ChatProtocol::Messages).connect().await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn key_header(mut self, name: impl Into<String>) -> Self {
        self.key_header = Some(name.into());
        self
    }

    /// Trusts servers whose certificates are signed with these, besides those that the system trusts.
    ///
    /// `pem` is a text of one certificate or several, as a company has for its own servers. It is checked when the server is
    /// connected to.
    ///
    /// ```no_run
    /// use alloquy_openai::RemoteServer;
    ///
    /// # fn example() -> std::io::Result<()> {
    /// let pem = std::fs::read_to_string("company.pem")?;
    /// let server = RemoteServer::at("https://models.example.com").root_certificate(pem);
    /// # Ok(())
    /// # }
    /// ```
    pub fn root_certificate(mut self, pem: impl Into<String>) -> Self {
        self.roots.push(pem.into());
        self
    }

    /// Returns the header that has the key, which is `usual` if none is set.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] for a name that no header has.
    pub(crate) fn header_of_key(&self, usual: HeaderName) -> Result<HeaderName> {
        let Some(name) = &self.key_header else { return Ok(usual) };
        HeaderName::from_bytes(name.as_bytes()).map_err(|source| {
            let message = format!("{name:?} is not the name of a header: name one like \"authorization\"");
            Error::new(ErrorKind::Invalid, message).with_source(source)
        })
    }

    /// Reads the certificates that are trusted besides the system's.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] for a text without certificates.
    pub(crate) fn certificates(&self) -> Result<Vec<Certificate>> {
        let mut certificates = Vec::new();
        for (place, pem) in self.roots.iter().enumerate() {
            let read = Certificate::from_pem_bundle(pem.as_bytes()).unwrap_or_default();
            if read.is_empty() {
                let message = format!(
                    "root_certificate[{place}] has no certificates: it must be PEM, which begins with -----BEGIN CERTIFICATE-----"
                );
                return Err(Error::new(ErrorKind::Invalid, message));
            }
            certificates.extend(read);
        }
        Ok(certificates)
    }

    /// Sets how long requests wait. [`RemoteTimeouts`] has an example.
    pub fn timeouts(mut self, timeouts: RemoteTimeouts) -> Self {
        self.timeouts = timeouts;
        self
    }

    /// Sets how often requests are tried. Another attempt is made only before a reply has begun.
    pub fn retries(mut self, retries: RemoteRetries) -> Self {
        self.retries = retries;
        self
    }

    /// Sets how many requests the server gets compared with the others of a decoder. The default is 1.
    /// [`RemoteBuilder::another`](crate::RemoteBuilder::another) has an example.
    pub fn weight(mut self, weight: u32) -> Self {
        self.weight = weight;
        self
    }
}

impl<U: Into<String>> From<U> for RemoteServer {
    fn from(url: U) -> Self {
        Self::at(url)
    }
}

/// How long a request waits for the server.
///
/// ```
/// use std::time::Duration;
///
/// use alloquy_openai::{RemoteServer, RemoteTimeouts};
///
/// let mut timeouts = RemoteTimeouts::default();
/// timeouts.first = Duration::from_secs(20);
/// assert_eq!(timeouts.connect, Duration::from_secs(10));
/// let server = RemoteServer::at("http://localhost:8000").timeouts(timeouts);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RemoteTimeouts {
    /// For a connection. The default is 10 seconds.
    pub connect: Duration,
    /// For the first token, while the prompt is queued and computed. Signs of life that a server sends meanwhile do not extend it.
    /// Vectors and scores must be complete within it. The default is 10 minutes.
    pub first: Duration,
    /// From one token to the next, whatever else the server sends meanwhile. A chat endpoint that sends signs of life, as while
    /// it thinks in silence, has as long as for the first token. The default is 1 minute.
    pub between: Duration,
}

impl Default for RemoteTimeouts {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            first: Duration::from_secs(600),
            between: Duration::from_secs(60),
        }
    }
}

/// How often a request is tried, and how long it waits in between.
///
/// The wait is what the server asks for with `Retry-After`. If it asks for none, the wait is random, between nothing and 250 ms, then
/// 500 ms, 1 s and so on: clients that failed together come back one by one.
///
/// ```
/// use alloquy_openai::RemoteRetries;
///
/// let mut retries = RemoteRetries::default();
/// retries.attempts = 1;
/// assert_eq!(retries.longest_wait.as_secs(), 20);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RemoteRetries {
    /// How often a request is sent, the first time included. The default is 4.
    pub attempts: u32,
    /// The longest wait before an attempt. A server that wants to be left alone for longer is not tried again. The default is
    /// 20 seconds.
    pub longest_wait: Duration,
}

impl Default for RemoteRetries {
    fn default() -> Self {
        Self { attempts: 4, longest_wait: Duration::from_secs(20) }
    }
}

impl RemoteRetries {
    /// Waits before the attempt after this one.
    ///
    /// # Errors
    /// What failed, if there is no other attempt.
    pub(crate) async fn pause(&self, fault: Fault, attempt: u32) -> Result<()> {
        let Some(wait) = self.wait(&fault, attempt) else { return Err(fault.error) };
        tracing::debug!(error = %fault.error, attempt, ?wait, "request failed and is sent again");
        sleep(wait).await;
        Ok(())
    }

    /// Returns how long to wait before the next attempt; `None` if there is none.
    fn wait(&self, fault: &Fault, attempt: u32) -> Option<Duration> {
        if !fault.is_passing || attempt >= self.attempts {
            return None;
        }
        match fault.retry_after {
            Some(asked) if asked > self.longest_wait => None,
            Some(asked) => Some(asked),
            None => {
                let most = BACKOFF.saturating_mul(2_u32.saturating_pow(attempt - 1)).min(self.longest_wait);
                Some(part(most, random::bits()))
            }
        }
    }
}

/// Returns a part of a duration: nothing for the lowest bits, nearly all of it for the highest.
fn part(most: Duration, bits: u64) -> Duration {
    let nanoseconds = most.as_nanos().saturating_mul(u128::from(bits)) >> 64;
    Duration::from_nanos(u64::try_from(nanoseconds).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests;
