//! Streams of changes: one client that listens, what wakes it, and what it is sent.

use std::collections::VecDeque;
use std::time::Duration;

use alloquy_core::{ConversationId, Owner};
use async_trait::async_trait;
use axum::body::Bytes;
use axum::http::HeaderMap;
use axum::response::Response;
use futures::stream;
use serde_json::Value;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use tokio::time::{Instant, timeout_at};

use crate::app::App;
use crate::caller::Caller;
use crate::error::ApiResult;
use crate::held_streams::HeldStream;
use crate::streaming::{Framing, response};
use crate::watched_store::Changed;

/// The header with the id of the last event that a client has received.
pub(super) const LAST_EVENT_ID: &str = "last-event-id";
/// How often changes of other processes are looked for, and the end of the server.
const LOOKING: Duration = Duration::from_secs(1);

/// Where the changes of a feed come from.
#[async_trait]
pub(super) trait FeedSource: Send + Sync + 'static {
    /// Returns whether a change of this conversation is one of the feed.
    fn concerns(&self, changed: &ConversationId) -> bool;

    /// Adds the events of what changed, and returns whether more may follow. `changed` is what this process changed; without it, it
    /// is time to look for changes of others.
    async fn look(
        &mut self,
        listener: &Listener,
        changed: Option<ConversationId>,
        frames: &mut Frames,
    ) -> ApiResult<bool>;
}

/// The events that are to be sent.
#[derive(Debug, Default)]
pub(super) struct Frames(VecDeque<Bytes>);

impl Frames {
    /// Adds an event. Without an id, a client continues after the event before it.
    pub(super) fn push(&mut self, name: &str, id: Option<&str>, data: &Value) {
        let frame = match id {
            Some(id) => format!("id: {id}\nevent: {name}\ndata: {data}\n\n"),
            None => format!("event: {name}\ndata: {data}\n\n"),
        };
        self.0.push_back(frame.into());
    }
}

/// Who listens, and what wakes it.
pub(super) struct Listener {
    pub(super) app: App,
    pub(super) owner: Owner,
    changed: Receiver<Changed>,
    _held: HeldStream,
}

impl Listener {
    /// # Errors
    /// 429 where its owner has too many event streams.
    pub(super) fn new(app: App, caller: &Caller) -> ApiResult<Self> {
        let held = app.hold_stream(caller)?;
        let changed = app.changes();
        Ok(Self { app, owner: caller.owner.clone(), changed, _held: held })
    }

    /// Waits until this process changes something of the feed, or until it is time to look for changes of others.
    async fn wait(&mut self, source: &impl FeedSource, until: Instant) -> Option<ConversationId> {
        loop {
            match timeout_at(until, self.changed.recv()).await {
                Ok(Ok((owner, id))) if owner == self.owner && source.concerns(&id) => return Some(id),
                Ok(Ok(_)) => {}
                // Some announcements were missed, or it is time.
                Ok(Err(RecvError::Lagged(_))) | Err(_) => return None,
                Ok(Err(RecvError::Closed)) => {
                    tokio::time::sleep_until(until).await;
                    return None;
                }
            }
        }
    }
}

/// Returns the text of the header with the last event.
pub(super) fn last_event(headers: &HeaderMap) -> Option<&str> {
    headers.get(LAST_EVENT_ID).map(|given| given.to_str().unwrap_or_default())
}

/// The events of a source for one client.
pub(super) struct Feed<S> {
    listener: Listener,
    frames: Frames,
    source: S,
    /// When something was sent last.
    sent: Instant,
    /// When changes of others are looked for.
    looks: Instant,
    has_ended: bool,
}

impl<S: FeedSource> Feed<S> {
    /// A feed that begins with some events.
    pub(super) fn new(listener: Listener, frames: Frames, source: S) -> Self {
        let now = Instant::now();
        Self { listener, frames, source, sent: now, looks: now + LOOKING, has_ended: false }
    }

    /// Answers with the events. They are read from the source as the client reads them.
    pub(super) fn respond(self) -> Response {
        let body = stream::unfold(self, |mut feed| async move {
            let frame = feed.next().await?;
            Some((Ok(frame), feed))
        });
        response(body, Framing::Events)
    }

    /// Returns what is sent next, or `None` at the end.
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            if let Some(frame) = self.frames.0.pop_front() {
                self.sent = Instant::now();
                return Some(frame);
            }
            if self.has_ended || self.listener.app.is_draining() {
                return None;
            }
            if self.sent.elapsed() >= self.listener.app.limits().heartbeat {
                self.sent = Instant::now();
                return Some(Bytes::from_static(Framing::Events.heartbeat()));
            }
            let changed = self.listener.wait(&self.source, self.looks).await;
            if changed.is_none() {
                self.looks = Instant::now() + LOOKING;
            }
            match self.source.look(&self.listener, changed, &mut self.frames).await {
                Ok(may_follow) => self.has_ended = !may_follow,
                Err(error) => {
                    self.frames.push("error", None, &error.body());
                    self.has_ended = true;
                }
            }
        }
    }
}
