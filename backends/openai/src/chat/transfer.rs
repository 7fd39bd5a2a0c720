//! One request to a chat endpoint from its start to its end: attempts, timeouts, events.

use std::sync::Arc;
use std::time::Duration;

use alloquy_core::{Error, ErrorKind, Result};
use reqwest::Response;
use tokio::sync::mpsc::Sender;
use tokio::time::{sleep, timeout};

use super::event::ChatEvent;
use super::protocol::ChatProtocol;
use crate::fault::{self, Fault};
use crate::http::{Http, RemoteTimeouts, late};
use crate::sse::EventReader;
use crate::transfer::{DONE, RemoteRetries, parsed};

/// How long the counts of tokens are waited for after the end of a reply.
const REST: Duration = Duration::from_secs(2);

/// How many bytes an answer may have.
const ANSWER: usize = 64 << 20;

/// One request.
#[derive(Debug)]
pub(crate) struct ChatTransfer {
    pub(crate) http: Arc<Http>,
    pub(crate) protocol: ChatProtocol,
    pub(crate) timeouts: RemoteTimeouts,
    pub(crate) retries: RemoteRetries,
    pub(crate) body: String,
    pub(crate) events: Sender<Result<ChatEvent>>,
}

/// How far the answer of one attempt has come.
#[derive(Debug, Default)]
struct Progress {
    /// Whether an event was read. Then no other attempt may be made.
    has_begun: bool,
    has_ended: bool,
    is_done: bool,
}

/// Why an attempt did not succeed.
enum Stopped {
    Failed(Fault),
    /// The receiver of the events is gone.
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

impl ChatTransfer {
    /// Sends the request, and the events of its reply. Another attempt is made only before the first event.
    pub(crate) async fn run(self) {
        let mut attempt = 1;
        let mut is_accepted = false;
        loop {
            let mut progress = Progress::default();
            let fault = match self.attempt(&mut is_accepted, &mut progress).await {
                Ok(()) | Err(Stopped::Unread) => return,
                Err(Stopped::Failed(fault)) => fault,
            };
            let wait = self.retries.wait(&fault, attempt).filter(|_| !progress.has_begun);
            let Some(wait) = wait else {
                // The receiver may be gone.
                let _ = self.events.send(Err(fault.error)).await;
                return;
            };
            tracing::debug!(error = %fault.error, attempt, ?wait, "request failed and is sent again");
            sleep(wait).await;
            attempt += 1;
        }
    }

    async fn attempt(&self, is_accepted: &mut bool, progress: &mut Progress) -> Result<(), Stopped> {
        let path = self.protocol.path();
        let first = self.timeouts.first;
        let answer = timeout(first, self.http.stream(path, self.body.clone())).await;
        let Ok(response) = answer else {
            return Err(Fault::passing(late(self.http.address(), path, first)).into());
        };
        let mut response = response?;
        if !*is_accepted {
            *is_accepted = true;
            self.send(ChatEvent::Accepted).await?;
        }
        let mut reader = EventReader::default();
        let mut length = 0;
        while !progress.has_ended {
            let Some(bytes) = self.piece(&mut response, progress).await? else {
                return Err(self.cut(&reader).into());
            };
            length += bytes.len();
            if length > ANSWER {
                return Err(self.endless().into());
            }
            // What was said before an event that cannot be read is part of the reply.
            let mut data = Vec::new();
            let read = reader.push(&bytes, &mut data);
            self.take(data, progress).await?;
            read?;
        }
        // The reply is complete, so that a failure after it changes nothing.
        let _ = timeout(REST, self.rest(response, reader, progress)).await;
        Ok(())
    }

    async fn take(&self, data: Vec<String>, progress: &mut Progress) -> Result<(), Stopped> {
        for data in data {
            if data == DONE {
                progress.is_done = true;
                continue;
            }
            progress.has_begun = true;
            let event = parsed(&data)?;
            if let Some(fault) = fault::of_event(&event) {
                return Err(fault.into());
            }
            for event in self.protocol.events(&event) {
                progress.has_ended |= matches!(event, ChatEvent::End(_));
                self.send(event).await?;
            }
        }
        Ok(())
    }

    async fn piece(
        &self,
        response: &mut Response,
        progress: &Progress,
    ) -> Result<Option<impl std::ops::Deref<Target = [u8]> + Send + use<>>, Stopped> {
        let most = if progress.has_begun { self.timeouts.between } else { self.timeouts.first };
        match timeout(most, response.chunk()).await {
            Ok(piece) => Ok(piece.map_err(|source| self.http.unreachable(source))?),
            Err(_) => Err(Fault::passing(late(self.http.address(), self.protocol.path(), most)).into()),
        }
    }

    /// Reads what follows the end of the reply: the counts of tokens.
    async fn rest(
        &self,
        mut response: Response,
        mut reader: EventReader,
        progress: &mut Progress,
    ) -> Result<(), Stopped> {
        while !progress.is_done {
            let Ok(Some(bytes)) = response.chunk().await else { return Ok(()) };
            let mut data = Vec::new();
            reader.push(&bytes, &mut data)?;
            self.take(data, progress).await?;
        }
        Ok(())
    }

    /// The answer does not end.
    fn endless(&self) -> Error {
        let message =
            format!("an answer of {} has more than {ANSWER} bytes: set max_tokens", self.http.address());
        Error::new(ErrorKind::Backend, message)
    }

    /// The answer ended before the reply did.
    fn cut(&self, reader: &EventReader) -> Fault {
        let place = if reader.is_within() { "within an event" } else { "before the end of the reply" };
        let address = self.http.address();
        let message = format!("the answer of {address} ended {place}: send the request again");
        Fault::passing(Error::new(ErrorKind::Backend, message))
    }

    async fn send(&self, event: ChatEvent) -> Result<(), Stopped> {
        self.events.send(Ok(event)).await.map_err(|_| Stopped::Unread)
    }
}
