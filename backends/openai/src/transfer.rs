//! One request from its start to its end: attempts, timeouts, events.

use std::sync::Arc;
use std::time::{Duration, Instant};

use alloquy_core::{Error, ErrorKind};
use alloquy_engine::decoder::{DecodeEvent, DecodeEventKind};
use tokio::sync::mpsc::Sender;
use tokio::time::timeout;

use crate::dialect::Dialect;
use crate::fault::{self, Fault};
use crate::http::{Http, late};
use crate::reply::ReplyReader;
use crate::slots::{SlotQueue, Wish};
use crate::streamed::{DONE, Stopped, StreamedAnswer, parsed};

/// How long the rest of an answer is waited for after the last token, so that its counts are read and its connection can be
/// used again.
const REST: Duration = Duration::from_millis(250);

/// The items of a stream.
type Item = alloquy_core::Result<DecodeEvent>;

/// One request.
#[derive(Debug)]
pub(crate) struct Transfer {
    pub(crate) http: Arc<Http>,
    /// The queue for the slots of the server, where it has slots.
    pub(crate) slots: Option<Arc<SlotQueue>>,
    pub(crate) wish: Wish,
    pub(crate) dialect: Dialect,
    pub(crate) body: String,
    pub(crate) seed: Option<u64>,
    pub(crate) reader: ReplyReader,
    pub(crate) items: Sender<Item>,
    pub(crate) is_started: bool,
}

impl Transfer {
    /// Sends the request, and the events of its reply. Another attempt is made only before the first token.
    pub(crate) async fn run(mut self) {
        let mut attempt = 1;
        loop {
            let mut fault = match self.attempt().await {
                Ok(()) | Err(Stopped::Unread) => return,
                Err(Stopped::Failed(fault)) => fault,
            };
            fault.is_passing &= !self.reader.has_begun();
            if let Err(error) = self.http.retries.pause(fault, attempt).await {
                // The receiver may be gone.
                let _ = self.items.send(Err(error)).await;
                return;
            }
            attempt += 1;
        }
    }

    async fn attempt(&mut self) -> Result<(), Stopped> {
        let first = self.http.timeouts.first;
        let since = Instant::now();
        let Ok(body) = timeout(first, self.placed()).await else { return Err(self.unplaced().into()) };
        // The time in the queue counts.
        let left = first.saturating_sub(since.elapsed());
        let answer = timeout(left, StreamedAnswer::open(&self.http, self.dialect.path(), body)).await;
        let Ok(answer) = answer else {
            let late = late(self.http.address(), self.dialect.path(), first);
            return Err(Fault::passing(late).into());
        };
        let mut answer = answer?;
        if !self.is_started {
            self.is_started = true;
            self.send(DecodeEventKind::Started { seed: self.seed }).await?;
        }
        while self.reader.state.end.is_none() {
            // What was said before an event that cannot be read is part of the reply.
            let mut data = Vec::new();
            let read = answer.read(self.reader.has_begun(), &mut data).await;
            self.take(data).await?;
            read?;
        }
        // A server that generates on is left: the connection is closed.
        let _ = timeout(REST, self.rest(answer)).await;
        if let Some(report) = self.reader.finish() {
            self.send(DecodeEventKind::Cached(report)).await?;
        }
        if let Some(end) = self.reader.state.end {
            self.send(DecodeEventKind::Finished(end)).await?;
        }
        Ok(())
    }

    /// Waits for a slot of the server, where it has slots, and returns the request with its number.
    async fn placed(&mut self) -> String {
        let Some(slots) = &self.slots else { return self.body.clone() };
        // Another attempt may go elsewhere.
        self.reader.recorder.free();
        let lease = slots.take(self.wish.clone()).await;
        let body = self.dialect.in_slot(&self.body, lease.slot());
        self.reader.recorder.placed(lease);
        body
    }

    /// No slot was free in time.
    fn unplaced(&self) -> Fault {
        let waited = self.http.timeouts.first;
        let message = format!(
            "no slot of {} was free within {waited:?}: ask for fewer replies at once, or start it with more slots (--parallel)",
            self.http.address()
        );
        Fault::lasting(Error::new(ErrorKind::Busy, message))
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

    /// Reads what follows the last token.
    async fn rest(&mut self, mut answer: StreamedAnswer) {
        let mut data = Vec::new();
        while answer.read(true, &mut data).await.is_ok() {
            for data in data.drain(..).filter(|data| data != DONE) {
                let chunk =
                    parsed(&data).and_then(|event| self.dialect.chunk(&event, self.reader.state.seen));
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
    }

    async fn send(&self, event: DecodeEventKind) -> Result<(), Stopped> {
        self.items.send(Ok(DecodeEvent::now(event))).await.map_err(|_| Stopped::Unread)
    }
}
