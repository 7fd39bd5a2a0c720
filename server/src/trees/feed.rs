//! The changes of a conversation as server-sent events, which continue after a lost connection.

use std::collections::VecDeque;
use std::time::{Duration, SystemTime};

use alloquy_core::annotations::{ANNOTATIONS_KEY, Annotations};
use alloquy_core::store::ConversationRecord;
use alloquy_core::tree::Tree;
use alloquy_core::{ConversationId, Owner};
use axum::body::Bytes;
use axum::extract::State;
use axum::http::HeaderMap;
use futures::stream;
use serde_json::{Value, json};
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use tokio::time::{Instant, timeout_at};

use super::identity::{opened, shown};
use super::notes::{bookmarks_of, labels_of};
use super::objects::NodeObject;
use super::seen::{Change, EventId, Seen};
use crate::app::App;
use crate::body::PathOf;
use crate::caller::Caller;
use crate::error::{ApiError, ApiResult};
use crate::streaming::{Framing, response};
use crate::watched_store::Changed;

/// The header with the id of the last event that a client has received.
pub(super) const LAST_EVENT_ID: &str = "last-event-id";
/// How often changes of other processes are looked for, and the end of the server.
const LOOKING: Duration = Duration::from_secs(1);

/// One client that listens.
struct Feed {
    app: App,
    owner: Owner,
    id: ConversationId,
    seen: Seen,
    /// When the last node was added, as far as it was seen.
    updated: Option<SystemTime>,
    changed: Receiver<Changed>,
    /// What is to be sent.
    frames: VecDeque<Bytes>,
    /// When something was sent last.
    sent: Instant,
    has_ended: bool,
}

/// `GET /v1/alloquy/conversations/{id}/events`
pub(super) async fn events(
    State(app): State<App>,
    caller: Caller,
    PathOf(id): PathOf<String>,
    headers: HeaderMap,
) -> ApiResult {
    let last = last_event(&headers)?;
    let conversation = opened(&app, &caller, &id).await?;
    let id = conversation.id().clone();
    // Before the state is read, so that no change falls between the two.
    let changed = app.changes();
    let (record, tree) = app.store().load(&caller.owner, &id).await?;
    let all = Seen::all(&record, &tree);
    let mut frames = VecDeque::new();
    let seen = match last {
        None => {
            frames.push_back(state("state", &all, &id));
            all
        }
        Some(last) => match Seen::at(last, &tree) {
            Some(mut seen) => {
                push_changes(&mut frames, &mut seen, &record, &tree)?;
                seen
            }
            None => {
                frames.push_back(state("reset", &all, &id));
                all
            }
        },
    };
    let feed = Feed {
        app,
        owner: caller.owner,
        id,
        seen,
        updated: None,
        changed,
        frames,
        sent: Instant::now(),
        has_ended: false,
    };
    let body = stream::unfold(feed, |mut feed| async move {
        let frame = feed.next().await?;
        Some((Ok(frame), feed))
    });
    Ok(response(body, Framing::Events))
}

fn last_event(headers: &HeaderMap) -> ApiResult<Option<EventId>> {
    let Some(given) = headers.get(LAST_EVENT_ID) else { return Ok(None) };
    let text = given.to_str().unwrap_or_default();
    match text.parse() {
        Ok(id) => Ok(Some(id)),
        Err(()) => {
            let message = format!("last-event-id: {text:?} is no id of an event of a conversation");
            Err(ApiError::invalid(LAST_EVENT_ID, message))
        }
    }
}

impl Feed {
    /// Returns what is sent next, or `None` at the end.
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            if let Some(frame) = self.frames.pop_front() {
                self.sent = Instant::now();
                return Some(frame);
            }
            if self.has_ended || self.app.is_draining() {
                return None;
            }
            if self.sent.elapsed() >= self.app.limits().heartbeat {
                self.sent = Instant::now();
                return Some(Bytes::from_static(Framing::Events.heartbeat()));
            }
            self.wait().await;
            if let Err(error) = self.look().await {
                self.frames.push_back(frame("error", None, &error.body()));
                self.has_ended = true;
            }
        }
    }

    /// Waits until this process changes the conversation, or until it is time to look for changes of others.
    async fn wait(&mut self) {
        let until = Instant::now() + LOOKING.min(self.app.limits().heartbeat);
        loop {
            match timeout_at(until, self.changed.recv()).await {
                Ok(Ok((owner, id))) if owner == self.owner && id == self.id => return,
                Ok(Ok(_)) => {}
                // Some announcements were missed, or it is time.
                Ok(Err(RecvError::Lagged(_))) | Err(_) => return,
                Ok(Err(RecvError::Closed)) => return tokio::time::sleep_until(until).await,
            }
        }
    }

    /// Reads what changed.
    async fn look(&mut self) -> ApiResult<()> {
        let store = self.app.store();
        let summary = store.summary(&self.owner, &self.id).await;
        let has_changed = match summary {
            Ok(summary) => {
                // A node that was added while another was pruned changes the time alone.
                let is_later = self.updated.replace(summary.updated) != Some(summary.updated);
                is_later || !self.seen.is_like(&summary)
            }
            Err(error) if error.is_not_found() => return self.deleted(),
            Err(error) => return Err(error.into()),
        };
        if !has_changed {
            return Ok(());
        }
        match store.load(&self.owner, &self.id).await {
            Ok((record, tree)) => push_changes(&mut self.frames, &mut self.seen, &record, &tree),
            Err(error) if error.is_not_found() => self.deleted(),
            Err(error) => Err(error.into()),
        }
    }

    fn deleted(&mut self) -> ApiResult<()> {
        self.has_ended = true;
        let deleted = json!({"id": shown(&self.id)});
        self.frames.push_back(frame("conversation.deleted", None, &deleted));
        Ok(())
    }
}

/// Adds the events of what changed.
fn push_changes(
    frames: &mut VecDeque<Bytes>,
    seen: &mut Seen,
    record: &ConversationRecord,
    tree: &Tree,
) -> ApiResult<()> {
    let notes = Annotations::of(record)?;
    for (change, id) in seen.changes(record, tree) {
        let (name, data) = match change {
            Change::Added(node) => ("node.added", json!(NodeObject::of(&node, &notes))),
            Change::Pruned(nodes) => ("nodes.pruned", json!({"nodes": nodes})),
            Change::Head(head) => ("head.moved", json!({"head": head})),
            Change::Metadata => ("metadata.changed", metadata(record, tree, &notes)),
        };
        frames.push_back(frame(name, Some(id), &data));
    }
    Ok(())
}

fn metadata(record: &ConversationRecord, tree: &Tree, notes: &Annotations) -> Value {
    let mut metadata = record.metadata.clone();
    metadata.shift_remove(ANNOTATIONS_KEY);
    json!({
        "revision": record.revision,
        "metadata": metadata,
        "labels": labels_of(tree, notes),
        "bookmarks": bookmarks_of(notes),
    })
}

/// The event with which a client reads the tree.
fn state(name: &str, seen: &Seen, id: &ConversationId) -> Bytes {
    let data =
        json!({"id": shown(id), "head": seen.head(), "nodes": seen.count(), "revision": seen.revision()});
    frame(name, Some(seen.event_id()), &data)
}

fn frame(name: &str, id: Option<EventId>, data: &Value) -> Bytes {
    match id {
        Some(id) => format!("id: {id}\nevent: {name}\ndata: {data}\n\n").into(),
        None => format!("event: {name}\ndata: {data}\n\n").into(),
    }
}
