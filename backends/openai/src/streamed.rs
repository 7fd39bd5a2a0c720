//! An answer that comes as events.

use std::sync::Arc;
use std::time::Duration;

use alloquy_core::{Error, ErrorKind};
use reqwest::Response;
use serde_json::Value;
use tokio::time::{Instant, timeout_at};

use crate::fault::Fault;
use crate::http::{Http, late};
use crate::sse::EventReader;
use crate::wire::quoted;

/// What ends a stream of completions. Other protocols end the answer.
pub(crate) const DONE: &str = "[DONE]";

/// The events of one answer.
#[derive(Debug)]
pub(crate) struct StreamedAnswer {
    http: Arc<Http>,
    path: &'static str,
    response: Response,
    reader: EventReader,
    deadline: Deadline,
}

/// How long the next token may take.
#[derive(Clone, Copy, Debug)]
struct Deadline {
    /// When the wait began.
    begun: Instant,
    wait: Duration,
}

impl Deadline {
    fn after(wait: Duration) -> Self {
        Self { begun: Instant::now(), wait }
    }

    /// Waits for `work`, and returns `None` when the deadline passes before it is ready.
    async fn limit<F: Future>(self, work: F) -> Option<F::Output> {
        match self.begun.checked_add(self.wait) {
            Some(at) => timeout_at(at, work).await.ok(),
            // The time is longer than clocks count.
            None => Some(work.await),
        }
    }
}

impl StreamedAnswer {
    /// Sends a request, and returns its answer once it has begun as a success. The first token must come within `first` from here.
    pub(crate) async fn open(
        http: &Arc<Http>,
        path: &'static str,
        body: String,
        first: Duration,
    ) -> Result<Self, Fault> {
        let deadline = Deadline::after(first);
        let Some(response) = deadline.limit(http.stream(path, body)).await else {
            return Err(Fault::passing(late(http.address(), path, first)));
        };
        let reader = EventReader::default();
        Ok(Self { http: Arc::clone(http), path, response: response?, reader, deadline })
    }

    /// Notes that a token has come: the time for the next one runs from now.
    pub(crate) fn token_came(&mut self) {
        self.deadline = Deadline::after(self.http.timeouts.between);
    }

    /// Notes that the server has sent something else, which is allowed as long as it may take to the first token.
    pub(crate) fn sign_of_life(&mut self) {
        let timeouts = &self.http.timeouts;
        let longer = self.deadline.begun.elapsed().saturating_add(timeouts.between).min(timeouts.first);
        self.deadline.wait = self.deadline.wait.max(longer);
    }

    /// Checks that the next token is not late, where bytes come and it is in none of them.
    ///
    /// # Errors
    /// [`ErrorKind::Busy`] if it is late.
    pub(crate) fn check_time(&self) -> Result<(), Fault> {
        if self.deadline.begun.elapsed() < self.deadline.wait {
            return Ok(());
        }
        Err(self.no_token())
    }

    /// Reads bytes, and adds the data of the events that they complete to `data`. Returns how many bytes there were.
    ///
    /// # Errors
    /// Why no more bytes come: no token in time, a connection that fails, the end of the answer, or an event that cannot be read. The
    /// events before it are added.
    pub(crate) async fn read(&mut self, data: &mut Vec<String>) -> Result<usize, Fault> {
        let deadline = self.deadline;
        let Some(bytes) = deadline.limit(self.response.chunk()).await else {
            return Err(self.no_token());
        };
        let Some(bytes) = bytes.map_err(|source| self.http.unreachable(source))? else {
            return Err(self.cut());
        };
        self.reader.push(&bytes, data)?;
        Ok(bytes.len())
    }

    /// The server has sent no token in time.
    fn no_token(&self) -> Fault {
        let wait = self.deadline.wait;
        let message = format!(
            "{}{} sent no token within {wait:?}: set `RemoteTimeouts` if it needs longer",
            self.http.address(),
            self.path
        );
        Fault::passing(Error::new(ErrorKind::Busy, message))
    }

    /// The answer ended before the reply did.
    fn cut(&self) -> Fault {
        let place = if self.reader.is_within() { "within an event" } else { "before the end of the reply" };
        let address = self.http.address();
        let message = format!("the answer of {address} ended {place}: send the request again");
        Fault::passing(Error::new(ErrorKind::Backend, message))
    }
}

/// Reads the data of an event as JSON.
pub(crate) fn parsed(data: &str) -> alloquy_core::Result<Value> {
    serde_json::from_str(data).map_err(|source| {
        let message = format!("the server sent an event that is not JSON: {:?}", quoted(data));
        Error::new(ErrorKind::Backend, message).with_source(source)
    })
}

/// Why an attempt did not succeed.
#[derive(Debug)]
pub(crate) enum Stopped {
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
