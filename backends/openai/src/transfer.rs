//! One request from its start to its end: attempts, timeouts, events.

use std::sync::Arc;
use std::time::Duration;

use alloquy_core::{Error, ErrorKind};
use alloquy_engine::decoder::{DecodeEvent, DecodeEventKind};
use reqwest::Response;
use serde_json::Value;
use tokio::sync::mpsc::Sender;
use tokio::time::{sleep, timeout};

use crate::dialect::Dialect;
use crate::fault::{self, Fault};
use crate::http::{Http, RemoteTimeouts, late};
use crate::reply::ReplyReader;
use crate::sse::EventReader;

/// What ends a stream of completions. Other dialects end the answer.
pub(crate) const DONE: &str = "[DONE]";

/// How long the rest of an answer is waited for after the last token, so that its counts are read and its connection can be
/// used again.
const REST: Duration = Duration::from_millis(250);

/// How long the first wait before another attempt is. Each further one is twice as long.
const BACKOFF: Duration = Duration::from_millis(250);

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
    /// Returns how long to wait before the next attempt; `None` if there is none.
    pub(crate) fn wait(&self, fault: &Fault, attempt: u32) -> Option<Duration> {
        if !fault.is_passing || attempt >= self.attempts {
            return None;
        }
        let wait = fault.retry_after.unwrap_or_else(|| BACKOFF * 2_u32.saturating_pow(attempt - 1));
        match fault.retry_after {
            Some(asked) if asked > self.longest_wait => None,
            _ => Some(wait.min(self.longest_wait)),
        }
    }
}

/// The items of a stream.
type Item = alloquy_core::Result<DecodeEvent>;

/// One request.
#[derive(Debug)]
pub(crate) struct Transfer {
    pub(crate) http: Arc<Http>,
    pub(crate) dialect: Dialect,
    pub(crate) timeouts: RemoteTimeouts,
    pub(crate) retries: RemoteRetries,
    pub(crate) body: String,
    pub(crate) seed: Option<u64>,
    pub(crate) reader: ReplyReader,
    pub(crate) items: Sender<Item>,
    pub(crate) is_started: bool,
}

/// The receiver of the events is gone.
struct Unread;

/// Why an attempt did not succeed.
enum Stopped {
    Failed(Fault),
    Unread,
}

impl From<Fault> for Stopped {
    fn from(fault: Fault) -> Self {
        Self::Failed(fault)
    }
}

impl From<Error> for Stopped {
    fn from(error: Error) -> Self {
        Self::Failed(error.into())
    }
}

impl From<Unread> for Stopped {
    fn from(_: Unread) -> Self {
        Self::Unread
    }
}

impl Transfer {
    /// Sends the request, and the events of its reply. Another attempt is made only before the first token.
    pub(crate) async fn run(mut self) {
        let mut attempt = 1;
        loop {
            let fault = match self.attempt().await {
                Ok(()) | Err(Stopped::Unread) => return,
                Err(Stopped::Failed(fault)) => fault,
            };
            let Some(wait) = self.wait(&fault, attempt) else {
                // The receiver may be gone.
                let _ = self.items.send(Err(fault.error)).await;
                return;
            };
            tracing::debug!(error = %fault.error, attempt, ?wait, "request failed and is sent again");
            sleep(wait).await;
            attempt += 1;
        }
    }

    /// Returns how long to wait before the next attempt; `None` if there is none.
    fn wait(&self, fault: &Fault, attempt: u32) -> Option<Duration> {
        if self.reader.has_begun() {
            return None;
        }
        self.retries.wait(fault, attempt)
    }

    async fn attempt(&mut self) -> Result<(), Stopped> {
        let path = self.dialect.path();
        let begun = timeout(self.timeouts.first, self.http.stream(path, self.body.clone())).await;
        let mut response = match begun {
            Ok(response) => response?,
            Err(_) => return Err(Fault::passing(late(self.http.address(), path, self.timeouts.first)).into()),
        };
        if !self.is_started {
            self.is_started = true;
            self.send(DecodeEventKind::Started { seed: self.seed }).await?;
        }
        let mut events = EventReader::default();
        while self.reader.state.end.is_none() {
            let Some(bytes) = self.piece(&mut response).await? else { return Err(self.cut(&events).into()) };
            // What was said before an event that cannot be read is part of the reply.
            let mut data = Vec::new();
            let read = events.push(bytes.as_ref(), &mut data);
            self.take(data).await?;
            read?;
        }
        self.rest(response, events).await;
        self.reader.finish();
        if let Some(end) = self.reader.state.end {
            self.send(DecodeEventKind::Finished(end)).await?;
        }
        Ok(())
    }

    /// Takes the data of events.
    async fn take(&mut self, data: Vec<String>) -> Result<(), Stopped> {
        for data in data.iter().filter(|data| *data != DONE) {
            let event = parsed(data)?;
            if let Some(fault) = fault::of_event(&event) {
                return Err(fault.into());
            }
            let chunk = self.dialect.chunk(&event, self.reader.state.seen)?;
            let mut events = Vec::new();
            let taken = self.reader.take(chunk, &mut events);
            for event in events {
                self.send(event).await?;
            }
            taken?;
        }
        Ok(())
    }

    async fn piece(
        &self,
        response: &mut Response,
    ) -> Result<Option<impl AsRef<[u8]> + Send + use<>>, Stopped> {
        let most = if self.reader.has_begun() { self.timeouts.between } else { self.timeouts.first };
        match timeout(most, response.chunk()).await {
            Ok(piece) => Ok(piece.map_err(|source| self.http.unreachable(source))?),
            Err(_) => Err(Fault::passing(late(self.http.address(), self.dialect.path(), most)).into()),
        }
    }

    /// Reads what follows the last token. A server that generates on is left: the connection is closed.
    async fn rest(&mut self, mut response: Response, mut events: EventReader) {
        let rest = async {
            while let Ok(Some(bytes)) = response.chunk().await {
                let mut data = Vec::new();
                if events.push(&bytes, &mut data).is_err() {
                    return;
                }
                for data in data.iter().filter(|data| *data != DONE) {
                    let chunk =
                        parsed(data).and_then(|event| self.dialect.chunk(&event, self.reader.state.seen));
                    let Ok(chunk) = chunk else { return };
                    // A server that does not know the stop token would generate until its limit.
                    if !chunk.tokens.is_empty() {
                        return;
                    }
                    // The reply has ended, so there are no further events.
                    if self.reader.take(chunk, &mut Vec::new()).is_err() {
                        return;
                    }
                }
            }
        };
        let _ = timeout(REST, rest).await;
    }

    /// The answer ended before the reply did.
    fn cut(&self, events: &EventReader) -> Fault {
        let place = if events.is_within() { "within an event" } else { "before the end of the reply" };
        let message = format!(
            "the answer of {} ended {place}, after {} tokens: send the request again",
            self.http.address(),
            self.reader.state.seen
        );
        Fault::passing(Error::new(ErrorKind::Backend, message))
    }

    async fn send(&self, event: DecodeEventKind) -> Result<(), Unread> {
        self.items.send(Ok(DecodeEvent::now(event))).await.map_err(|_| Unread)
    }
}

/// Reads the data of an event as JSON.
pub(crate) fn parsed(data: &str) -> alloquy_core::Result<Value> {
    serde_json::from_str(data).map_err(|source| {
        let quoted: String = data.chars().take(200).collect();
        let message = format!("the server sent an event that is not JSON: {quoted:?}");
        Error::new(ErrorKind::Backend, message).with_source(source)
    })
}
