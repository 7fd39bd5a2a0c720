//! An answer that comes as events.

use std::sync::Arc;

use alloquy_core::{Error, ErrorKind};
use reqwest::Response;
use serde_json::Value;
use tokio::time::timeout;

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
}

impl StreamedAnswer {
    /// Sends a request, and returns its answer once it has begun as a success.
    pub(crate) async fn open(http: &Arc<Http>, path: &'static str, body: String) -> Result<Self, Fault> {
        let first = http.timeouts.first;
        let Ok(response) = timeout(first, http.stream(path, body)).await else {
            return Err(Fault::passing(late(http.address(), path, first)));
        };
        Ok(Self { http: Arc::clone(http), path, response: response?, reader: EventReader::default() })
    }

    /// Reads bytes, and adds the data of the events that they complete to `data`. Returns how many bytes there were.
    ///
    /// # Errors
    /// Why no more bytes come: silence, a connection that fails, the end of the answer, or an event that cannot be read. The
    /// events before it are added.
    pub(crate) async fn read(&mut self, has_begun: bool, data: &mut Vec<String>) -> Result<usize, Fault> {
        let timeouts = &self.http.timeouts;
        let most = if has_begun { timeouts.between } else { timeouts.first };
        let Ok(bytes) = timeout(most, self.response.chunk()).await else {
            return Err(Fault::passing(late(self.http.address(), self.path, most)));
        };
        let Some(bytes) = bytes.map_err(|source| self.http.unreachable(source))? else {
            return Err(self.cut());
        };
        self.reader.push(&bytes, data)?;
        Ok(bytes.len())
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
