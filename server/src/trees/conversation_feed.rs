//! The changes of one conversation, as events from which another connection continues.

use std::time::SystemTime;

use alloquy_core::ConversationId;
use alloquy_core::annotations::{ANNOTATIONS_KEY, Annotations};
use alloquy_core::store::ConversationRecord;
use alloquy_core::tree::Tree;
use async_trait::async_trait;
use axum::extract::State;
use axum::http::HeaderMap;
use serde_json::{Value, json};

use super::feed::{Feed, FeedSource, Frames, LAST_EVENT_ID, Listener, last_event};
use super::identity::{opened, shown};
use super::notes::{bookmarks_of, labels_of};
use super::objects::{NodeNotes, NodeObject};
use super::seen::{Change, EventId, Seen};
use crate::app::App;
use crate::body::PathOf;
use crate::caller::Caller;
use crate::error::{ApiError, ApiResult};

/// What one client has seen of a conversation.
struct ConversationSource {
    id: ConversationId,
    seen: Seen,
    /// When the last node was added, as far as it was seen.
    updated: Option<SystemTime>,
}

/// `GET /v1/alloquy/conversations/{id}/events`
pub(super) async fn events(
    State(app): State<App>,
    caller: Caller,
    PathOf(id): PathOf<String>,
    headers: HeaderMap,
) -> ApiResult {
    let last = read_last(&headers)?;
    let conversation = opened(&app, &caller, &id).await?;
    let id = conversation.id().clone();
    // The listener begins before the state is read, so that no change falls between the two.
    let listener = Listener::new(app.clone(), &caller)?;
    let (record, tree) = app.store().load(&caller.owner, &id).await?;
    let all = Seen::all(&record, &tree);
    let mut frames = Frames::default();
    let seen = match last {
        None => {
            push_state(&mut frames, "state", &all, &id);
            all
        }
        Some(last) => match Seen::at(last, &tree) {
            Some(mut seen) => {
                push_changes(&mut frames, &mut seen, &record, &tree)?;
                seen
            }
            None => {
                push_state(&mut frames, "reset", &all, &id);
                all
            }
        },
    };
    Ok(Feed::new(listener, frames, ConversationSource { id, seen, updated: None }).respond())
}

fn read_last(headers: &HeaderMap) -> ApiResult<Option<EventId>> {
    let Some(text) = last_event(headers) else { return Ok(None) };
    match text.parse() {
        Ok(id) => Ok(Some(id)),
        Err(()) => {
            let message = format!("last-event-id: {text:?} is no id of an event of a conversation");
            Err(ApiError::invalid(LAST_EVENT_ID, message))
        }
    }
}

#[async_trait]
impl FeedSource for ConversationSource {
    fn concerns(&self, changed: &ConversationId) -> bool {
        *changed == self.id
    }

    async fn look(
        &mut self,
        listener: &Listener,
        _: Option<ConversationId>,
        frames: &mut Frames,
    ) -> ApiResult<bool> {
        let store = listener.app.store();
        let summary = match store.summary(&listener.owner, &self.id).await {
            Err(error) if error.is_not_found() => return Ok(self.deleted(frames)),
            summary => summary?,
        };
        // A node that was added while another was pruned changes the time alone.
        let is_later = self.updated.replace(summary.updated) != Some(summary.updated);
        if !is_later && self.seen.is_like(&summary) {
            return Ok(true);
        }
        match store.load(&listener.owner, &self.id).await {
            Err(error) if error.is_not_found() => Ok(self.deleted(frames)),
            loaded => {
                let (record, tree) = loaded?;
                push_changes(frames, &mut self.seen, &record, &tree)?;
                Ok(true)
            }
        }
    }
}

impl ConversationSource {
    /// Adds the last event, and returns that nothing follows.
    fn deleted(&self, frames: &mut Frames) -> bool {
        frames.push("conversation.deleted", None, &json!({"id": shown(&self.id)}));
        false
    }
}

/// Adds the events of what changed.
fn push_changes(
    frames: &mut Frames,
    seen: &mut Seen,
    record: &ConversationRecord,
    tree: &Tree,
) -> ApiResult<()> {
    let notes = NodeNotes::of(record)?;
    for (change, id) in seen.changes(record, tree) {
        let (name, data) = match change {
            Change::Added(node) => ("node.added", json!(NodeObject::of(&node, &notes))),
            Change::Pruned(nodes) => ("nodes.pruned", json!({"nodes": nodes})),
            Change::Head(head) => ("head.moved", json!({"head": head})),
            Change::Metadata => ("metadata.changed", metadata(record, tree, &notes.annotations)),
        };
        frames.push(name, Some(&id.to_string()), &data);
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

/// Adds the event at which a client reads the tree.
fn push_state(frames: &mut Frames, name: &str, seen: &Seen, id: &ConversationId) {
    let data =
        json!({"id": shown(id), "head": seen.head(), "nodes": seen.count(), "revision": seen.revision()});
    frames.push(name, Some(&seen.event_id().to_string()), &data);
}
