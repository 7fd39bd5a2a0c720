//! One request from its start to its end: attempts, timeouts, events.

use std::sync::Arc;
use std::time::{Duration, Instant};

use alloquy_core::{Error, ErrorKind};
use alloquy_engine::decoder::{DecodeEvent, DecodeEventKind};
use tokio::sync::mpsc::Sender;
use tokio::time::timeout;

use crate::dialect::Dialect;
use crate::fault::{self, Fault};
use crate::http::Http;
use crate::pool::{Pool, Route};
use crate::reply::{ReplyReader, ReplyState};
use crate::request::RemoteRequest;
use crate::slots::Wish;
use crate::streamed::{DONE, Stopped, StreamedAnswer, parsed};

/// How long the rest of an answer is waited for after the last token, so that its counts are read and its connection can be
/// used again.
const REST: Duration = Duration::from_millis(250);

/// How long a server whose slots are all taken gets no further requests.
const OVERLOADED: Duration = Duration::from_secs(1);

/// The items of a stream.
type Item = alloquy_core::Result<DecodeEvent>;

/// One request.
#[derive(Debug)]
pub(crate) struct Transfer {
    pool: Arc<Pool>,
    request: RemoteRequest,
    /// What is known of the request where a server has slots.
    wish: Wish,
    reader: ReplyReader,
    items: Sender<Item>,
    /// Where the request is, and how it is written there; `None` while all servers rest.
    sent: Option<Sent>,
    is_started: bool,
}

/// A request as a server gets it.
#[derive(Debug)]
struct Sent {
    route: Route,
    body: String,
}

impl Sent {
    fn http(&self) -> &Arc<Http> {
        &self.route.place.endpoint.http
    }

    fn dialect(&self) -> Dialect {
        self.route.place.description.dialect
    }
}

impl Transfer {
    pub(crate) fn new(
        pool: Arc<Pool>,
        request: RemoteRequest,
        reader: ReplyReader,
        items: Sender<Item>,
    ) -> Self {
        let wish = Wish::reply(request.space.adapter.as_deref(), &request.prompt, reader.limit);
        Self { pool, request, wish, reader, items, sent: None, is_started: false }
    }

    /// Chooses a server, if one is ready.
    ///
    /// # Errors
    /// As [`RemoteRequest::body`].
    pub(crate) fn place(&mut self) -> alloquy_core::Result<()> {
        if let Some(route) = self.pool.route(&self.request) {
            self.take_route(route)?;
        }
        Ok(())
    }

    fn take_route(&mut self, route: Route) -> alloquy_core::Result<()> {
        let body = self.request.body(&route.place.description)?;
        let endpoint = &route.place.endpoint;
        let block = route.place.description.dialect.block();
        self.reader.state = ReplyState::default();
        self.reader.recorder.at(Arc::clone(&endpoint.memory), block, route.stem, route.elsewhere);
        self.sent = Some(Sent { route, body });
        Ok(())
    }

    /// Sends the request, and the events of its reply. Another attempt is made only before the first token.
    pub(crate) async fn run(mut self) {
        let mut attempt = 1;
        loop {
            let fault = match self.attempt().await {
                Ok(()) | Err(Stopped::Unread) => return,
                Err(Stopped::Failed(fault)) => fault,
            };
            if let Err(error) = self.again(fault, attempt).await {
                // The receiver may be gone.
                let _ = self.items.send(Err(error)).await;
                return;
            }
            attempt += 1;
        }
    }

    /// Prepares another attempt: at another server at once, or at the only one after a while.
    ///
    /// # Errors
    /// What failed, if there is no other attempt.
    async fn again(&mut self, fault: Fault, attempt: u32) -> alloquy_core::Result<()> {
        let Some(sent) = self.sent.take() else { return Err(fault.error) };
        self.reader.recorder.free();
        self.pool.fail(&self.request, &sent.route.place, &fault);
        if self.reader.has_begun() {
            return Err(fault.error);
        }
        if self.pool.is_single() {
            sent.http().retries.pause(fault, attempt).await?;
            self.sent = Some(sent);
            return Ok(());
        }
        // It is no longer in flight there.
        drop(sent);
        let route = self.pool.next(&self.request, fault, attempt).await?;
        self.take_route(route)
    }

    async fn attempt(&mut self) -> Result<(), Stopped> {
        if self.sent.is_none() {
            let route = self.pool.first(&self.request).await?;
            self.take_route(route)?;
        }
        let Some(sent) = &self.sent else { return Ok(()) };
        let dialect = sent.dialect();
        let http = Arc::clone(sent.http());
        let mut answer = self.open(&http, dialect).await?;
        if !self.is_started {
            self.is_started = true;
            self.send(DecodeEventKind::Started { seed: self.request.seed }).await?;
        }
        while self.reader.state.end.is_none() {
            // What was said before an event that cannot be read is part of the reply.
            let mut data = Vec::new();
            let read = answer.read(&mut data).await;
            let known = self.reader.state.seen;
            self.take(data, dialect).await?;
            read?;
            // Time that a slow reader of the stream takes is not the server's, so the next wait begins here.
            if self.reader.state.seen > known {
                answer.token_came();
            } else if self.reader.state.end.is_none() {
                answer.check_time()?;
            }
        }
        // A server that generates on is left: the connection is closed.
        let _ = timeout(REST, self.rest(answer, dialect)).await;
        let report = self.reader.finish();
        if let Some(sent) = self.sent.take() {
            sent.route.place.complete();
        }
        if let Some(report) = report {
            self.send(DecodeEventKind::Cached(report)).await?;
        }
        if let Some(end) = self.reader.state.end {
            self.send(DecodeEventKind::Finished(end)).await?;
        }
        Ok(())
    }

    /// Sends the request, and returns its answer once it has begun.
    async fn open(&mut self, http: &Arc<Http>, dialect: Dialect) -> Result<StreamedAnswer, Fault> {
        let first = http.timeouts.first;
        let since = Instant::now();
        let Ok(body) = timeout(first, self.placed()).await else { return Err(unplaced(http)) };
        // The time in the queue counts.
        let left = first.saturating_sub(since.elapsed());
        let opened = StreamedAnswer::open(http, dialect.path(), body, left).await;
        let is_queue_at_fault = left < first / 2;
        opened.map_err(|fault| {
            if is_queue_at_fault && fault.error.kind() == ErrorKind::Busy { overloaded(fault) } else { fault }
        })
    }

    /// Waits for a slot of the server, where it has slots, and returns the request with its number.
    async fn placed(&mut self) -> String {
        let Some(sent) = &self.sent else { return String::new() };
        let Some(slots) = &sent.route.place.slots else { return sent.body.clone() };
        // Another attempt may go elsewhere.
        self.reader.recorder.free();
        let lease = slots.take(self.wish.clone()).await;
        let body = sent.dialect().in_slot(&sent.body, lease.slot());
        self.reader.recorder.placed(lease);
        body
    }

    /// Takes the data of events.
    async fn take(&mut self, data: Vec<String>, dialect: Dialect) -> Result<(), Stopped> {
        for data in data.iter().filter(|data| *data != DONE) {
            let event = parsed(data)?;
            if let Some(fault) = fault::of_event(&event) {
                return Err(fault.into());
            }
            let chunk = dialect.chunk(&event, self.reader.state.seen)?;
            let had_begun = self.reader.has_begun();
            let mut events = Vec::new();
            let taken = self.reader.take(chunk, &mut events);
            if let Some(sent) = self.sent.as_ref().filter(|_| !had_begun && self.reader.has_begun()) {
                sent.route.place.succeed();
            }
            for event in events {
                self.send(event).await?;
            }
            taken?;
        }
        Ok(())
    }

    /// Reads what follows the last token.
    async fn rest(&mut self, mut answer: StreamedAnswer, dialect: Dialect) {
        let mut data = Vec::new();
        while answer.read(&mut data).await.is_ok() {
            for data in data.drain(..).filter(|data| data != DONE) {
                let chunk = parsed(&data).and_then(|event| dialect.chunk(&event, self.reader.state.seen));
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

/// No slot was free in time.
fn unplaced(http: &Http) -> Fault {
    let waited = http.timeouts.first;
    let message = format!(
        "no slot of {} was free within {waited:?}: ask for fewer replies at once, or start it with more slots (--parallel)",
        http.address()
    );
    overloaded(Fault::lasting(Error::new(ErrorKind::Busy, message)))
}

/// A fault of our own queue is no outage of the server, which is asked again soon and without a check.
fn overloaded(mut fault: Fault) -> Fault {
    fault.retry_after.get_or_insert(OVERLOADED);
    fault
}
