//! One request to a chat endpoint from its start to its end: attempts, timeouts, events.

use std::sync::Arc;
use std::time::Duration;

use alloquy_core::{Error, ErrorKind, Result};
use tokio::sync::mpsc::Sender;
use tokio::time::timeout;

use super::event::ChatEvent;
use super::protocol::ChatProtocol;
use crate::fault;
use crate::http::Http;
use crate::streamed::{DONE, Stopped, StreamedAnswer, parsed};

/// How long the counts of tokens are waited for after the end of a reply.
const REST: Duration = Duration::from_secs(2);

/// How many bytes an answer may have.
const ANSWER: usize = 64 << 20;

/// One request.
#[derive(Debug)]
pub(crate) struct ChatTransfer {
    pub(crate) http: Arc<Http>,
    pub(crate) protocol: ChatProtocol,
    pub(crate) body: String,
    pub(crate) events: Sender<Result<ChatEvent>>,
}

/// How far the answer of one attempt has come.
#[derive(Debug, Default)]
struct Progress {
    /// Whether an event was read. Then no other attempt may be made.
    has_begun: bool,
    /// How much of the reply itself was read: texts, pieces of calls, its end.
    said: usize,
    has_ended: bool,
    is_done: bool,
}

impl ChatTransfer {
    /// Sends the request, and the events of its reply. Another attempt is made only before the first event.
    pub(crate) async fn run(self) {
        let mut attempt = 1;
        let mut is_accepted = false;
        loop {
            let mut progress = Progress::default();
            let mut fault = match self.attempt(&mut is_accepted, &mut progress).await {
                Ok(()) | Err(Stopped::Unread) => return,
                Err(Stopped::Failed(fault)) => fault,
            };
            fault.is_passing &= !progress.has_begun;
            if let Err(error) = self.http.retries.pause(fault, attempt).await {
                // The receiver may be gone.
                let _ = self.events.send(Err(error)).await;
                return;
            }
            attempt += 1;
        }
    }

    async fn attempt(&self, is_accepted: &mut bool, progress: &mut Progress) -> Result<(), Stopped> {
        let first = self.http.timeouts.first;
        let path = self.protocol.path();
        let mut answer = StreamedAnswer::open(&self.http, path, self.body.clone(), first).await?;
        if !*is_accepted {
            *is_accepted = true;
            self.send(ChatEvent::Accepted).await?;
        }
        let mut length = 0;
        while !progress.has_ended {
            // What was said before an event that cannot be read is part of the reply.
            let mut data = Vec::new();
            let read = answer.read(&mut data).await;
            let known = progress.said;
            self.take(data, progress).await?;
            length += read?;
            if progress.said > known {
                answer.token_came();
            } else {
                // A model may think in silence, and some servers send pings meanwhile.
                answer.sign_of_life();
                answer.check_time()?;
            }
            if length > ANSWER {
                return Err(self.endless().into());
            }
        }
        // The reply is complete, so that a failure after it changes nothing.
        let _ = timeout(REST, self.rest(answer, progress)).await;
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
                progress.said += usize::from(!matches!(event, ChatEvent::Usage(_)));
                self.send(event).await?;
            }
        }
        Ok(())
    }

    /// Reads what follows the end of the reply: the counts of tokens.
    async fn rest(&self, mut answer: StreamedAnswer, progress: &mut Progress) -> Result<(), Stopped> {
        while !progress.is_done {
            let mut data = Vec::new();
            answer.read(&mut data).await?;
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

    async fn send(&self, event: ChatEvent) -> Result<(), Stopped> {
        self.events.send(Ok(event)).await.map_err(|_| Stopped::Unread)
    }
}
