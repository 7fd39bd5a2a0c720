//! A server, and how it is reached.

use std::time::Duration;

use alloquy_core::Result;
use tokio::time::sleep;

use crate::fault::Fault;
use crate::key::ApiKey;

/// How long the first wait before another attempt is. Each further one is twice as long.
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
    /// For the first token, while the prompt is queued and computed. Vectors and scores must be complete within it. The default
    /// is 10 minutes.
    pub first: Duration,
    /// From one token to the next. The default is 1 minute.
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
            None => Some((BACKOFF * 2_u32.saturating_pow(attempt - 1)).min(self.longest_wait)),
        }
    }
}
