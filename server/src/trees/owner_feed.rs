//! The changes of all conversations of an owner.
//!
//! This process announces what it changes. What others change is found by the list of conversations, the last updated ones: new
//! conversations and new nodes, and not a head that moves.

use std::collections::BTreeMap;
use std::time::SystemTime;

use alloquy_core::query::{PageCursor, Sort, SortKey};
use alloquy_core::store::ConversationSummary;
use alloquy_core::{ConversationId, NodeId, Query};
use async_trait::async_trait;
use axum::extract::State;
use axum::http::HeaderMap;
use serde_json::json;

use super::feed::{Feed, FeedSource, Frames, LAST_EVENT_ID, Listener, last_event};
use super::identity::shown;
use super::objects::ConversationObject;
use crate::app::App;
use crate::caller::Caller;
use crate::error::{ApiError, ApiResult};

/// How many conversations are read at once.
const PAGE: usize = 100;

/// What one client has seen of all conversations.
struct OwnerSource {
    /// After the last conversation, in the order of their updates. It is the id of events.
    cursor: Option<PageCursor>,
    /// What was announced since, so that it is not sent twice.
    announced: BTreeMap<ConversationId, Version>,
}

/// What is compared of a conversation.
type Version = (SystemTime, Option<NodeId>, u64);

fn version(summary: &ConversationSummary) -> Version {
    (summary.updated, summary.record.head, summary.record.revision)
}

/// `GET /v1/alloquy/events`
pub(super) async fn events(State(app): State<App>, caller: Caller, headers: HeaderMap) -> ApiResult {
    let last = match last_event(&headers) {
        Some(text) => Some(text.parse().map_err(|error| ApiError::from(error).param(LAST_EVENT_ID))?),
        None => None,
    };
    let listener = Listener::new(app.clone(), &caller)?;
    let mut frames = Frames::default();
    let mut source = OwnerSource { cursor: last, announced: BTreeMap::new() };
    if source.cursor.is_some() {
        // A cursor of another list is an error before the stream begins.
        source.read(&listener, &mut frames).await?;
    } else {
        source.cursor = newest(&app, &caller).await?;
        let id = source.cursor.as_ref().map(ToString::to_string);
        let count = app.store().count(&caller.owner, &Query::default()).await?;
        frames.push("state", id.as_deref(), &json!({"conversations": count}));
    }
    Ok(Feed::new(listener, frames, source).respond())
}

fn by_update() -> Query {
    Query::default().sort(Sort::ascending(SortKey::Updated)).limit(PAGE)
}

/// Returns the cursor after the conversation.
fn after(summary: &ConversationSummary) -> ApiResult<PageCursor> {
    let key = Query::sort_key(&Sort::ascending(SortKey::Updated), summary);
    Ok(by_update().cursor_after(key, summary.record.id.clone())?)
}

/// Returns the cursor after the last updated conversation.
async fn newest(app: &App, caller: &Caller) -> ApiResult<Option<PageCursor>> {
    let query = Query::default().sort(Sort::descending(SortKey::Updated)).limit(1);
    let page = app.store().list(&caller.owner, &query).await?;
    page.conversations.first().map(after).transpose()
}

impl OwnerSource {
    /// Adds the events of the conversations after the cursor.
    async fn read(&mut self, listener: &Listener, frames: &mut Frames) -> ApiResult<()> {
        loop {
            let mut query = by_update();
            if let Some(cursor) = &self.cursor {
                query = query.after(cursor.clone());
            }
            let page = listener.app.store().list(&listener.owner, &query).await?;
            for summary in page.conversations {
                let cursor = after(&summary)?;
                let is_sent = self.announced.get(&summary.record.id) == Some(&version(&summary));
                if !is_sent {
                    let object = json!(ConversationObject::of(summary));
                    frames.push("conversation.changed", Some(&cursor.to_string()), &object);
                }
                self.cursor = Some(cursor);
            }
            if page.next.is_none() {
                self.announced.clear();
                return Ok(());
            }
        }
    }
}

#[async_trait]
impl FeedSource for OwnerSource {
    fn concerns(&self, _: &ConversationId) -> bool {
        true
    }

    async fn look(
        &mut self,
        listener: &Listener,
        changed: Option<ConversationId>,
        frames: &mut Frames,
    ) -> ApiResult<bool> {
        let Some(id) = changed else {
            self.read(listener, frames).await?;
            return Ok(true);
        };
        // Its event has no id: others may have been updated before it.
        match listener.app.store().summary(&listener.owner, &id).await {
            Err(error) if error.is_not_found() => {
                frames.push("conversation.deleted", None, &json!({"id": shown(&id)}));
            }
            summary => {
                let summary = summary?;
                self.announced.insert(id, version(&summary));
                frames.push("conversation.changed", None, &json!(ConversationObject::of(summary)));
            }
        }
        Ok(true)
    }
}
