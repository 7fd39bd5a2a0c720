//! Stored completions: one, their list, their messages, their metadata, and their end.

use std::collections::BTreeMap;

use alloquy_core::query::{Filter, MetadataKey, Sort, SortKey};
use alloquy_core::store::ConversationRecord;
use alloquy_core::{Conversation, ConversationManager as _, Manager, Message, Node, Query, Role};
use alloquy_formats::messages::{self, Dialect, Transcript};
use axum::Json;
use axum::extract::State;
use serde_json::{Value, json};

use super::identity::{ID, METADATA, conversation_of, no_completion};
use super::response::Completion;
use crate::app::App;
use crate::body::{JsonBody, PathOf, QueryOf};
use crate::caller::Caller;
use crate::error::{ApiError, ApiResult};
use crate::paging::{Order, Page, PageQuery};
use crate::reply_report::ReplyReport;
use crate::times::unix_seconds;
use crate::turn_options::MetadataChange;

/// A stored completion.
struct StoredCompletion {
    conversation: Conversation,
    record: ConversationRecord,
}

impl StoredCompletion {
    /// Opens a completion of the caller's.
    ///
    /// # Errors
    /// 404 for an id of something else.
    async fn open(manager: &Manager, id: &str) -> ApiResult<Self> {
        let conversation = match manager.open(&conversation_of(id)?).await {
            Err(error) if error.is_not_found() => return Err(no_completion(id)),
            opened => opened?,
        };
        let record = conversation.record().await?;
        if !record.metadata.contains_key(METADATA) {
            return Err(no_completion(id));
        }
        Ok(Self { conversation, record })
    }

    fn field(&self, name: &str) -> Value {
        self.record.metadata.get(METADATA).and_then(|fields| fields.get(name)).cloned().unwrap_or_default()
    }

    /// Returns the path to the reply: the messages, and what the turn added.
    async fn path(&self) -> ApiResult<Vec<Node>> {
        let mut path = self.conversation.history().await?;
        let first = path.iter().position(|node| node.reply.is_some());
        let Some(first) = first else {
            let message = format!("the chat completion {}{} has no reply yet", ID, self.record.id);
            return Err(ApiError::not_found(message));
        };
        let added = path.iter().skip(first).take_while(|node| is_of_turn(node)).count();
        path.truncate(first + added);
        Ok(path)
    }

    async fn object(&self) -> ApiResult<Value> {
        let path = self.path().await?;
        let reply = path.iter().rev().find_map(|node| node.reply.as_deref().map(|facts| (node, facts)));
        let Some((node, facts)) = reply else { return Err(no_completion(self.record.id.as_str())) };
        let report = ReplyReport::stored(facts, self.record.id.clone(), node.id);
        let completion = Completion {
            id: self.record.id.clone(),
            created: unix_seconds(self.record.created),
            model: self.field("model").as_str().unwrap_or(&facts.model).to_owned(),
            is_stored: true,
        };
        let mut object = completion.object(&node.message, &report, None);
        if let Value::Object(fields) = &mut object {
            fields.insert("metadata".to_owned(), self.field("metadata"));
        }
        Ok(object)
    }
}

/// Returns whether a node after the first reply belongs to the same turn.
fn is_of_turn(node: &Node) -> bool {
    matches!(node.message.role, Role::Assistant | Role::Tool)
}

/// `GET /v1/chat/completions/{id}`
pub(super) async fn one(
    State(app): State<App>,
    caller: Caller,
    PathOf(id): PathOf<String>,
) -> ApiResult<Json<Value>> {
    let stored = StoredCompletion::open(&app.conversations(&caller), &id).await?;
    Ok(Json(stored.object().await?))
}

/// `GET /v1/chat/completions`: the first created first, unless the order is `desc`.
pub(super) async fn list(
    State(app): State<App>,
    caller: Caller,
    QueryOf(given): QueryOf<Vec<(String, String)>>,
) -> ApiResult<Json<Value>> {
    let (query, filters) = filtered(given)?;
    let manager = app.conversations(&caller);
    let sort = match query.order_or(Order::Ascending) {
        Order::Ascending => Sort::ascending(SortKey::Created),
        Order::Descending => Sort::descending(SortKey::Created),
    };
    let mut wanted = Query::default().sort(sort.clone()).limit(query.limit());
    for filter in filters {
        wanted = wanted.filter(filter);
    }
    if let Some(after) = &query.after {
        let summary = StoredCompletion::open(&manager, after).await?.conversation.summary().await?;
        let key = Query::sort_key(&sort, &summary);
        let cursor = wanted.cursor_after(key, summary.record.id)?;
        wanted = wanted.after(cursor);
    }
    let found = manager.list(&wanted).await?;
    let mut objects = Vec::with_capacity(found.conversations.len());
    for summary in &found.conversations {
        let id = format!("{ID}{}", summary.record.id);
        let stored = StoredCompletion::open(&manager, &id).await?;
        // A completion that is being generated is not listed yet.
        if let Ok(object) = stored.object().await {
            objects.push(object);
        }
    }
    Ok(Json(Page { data: objects, has_more: found.next.is_some() }.json()))
}

/// Splits the query into the page and the conditions.
fn filtered(given: Vec<(String, String)>) -> ApiResult<(PageQuery, Vec<Filter>)> {
    // Only completions have this, among all conversations.
    let mut filters = vec![Filter::exists(MetadataKey::of([METADATA, "model"]))];
    let mut page = PageQuery::default();
    for (name, value) in given {
        let key = name.strip_prefix("metadata[").and_then(|rest| rest.strip_suffix(']'));
        match (name.as_str(), key) {
            (_, Some(key)) => {
                filters.push(Filter::equals(MetadataKey::of([METADATA, "metadata", key]), value));
            }
            ("model", None) => filters.push(Filter::equals(MetadataKey::of([METADATA, "model"]), value)),
            _ => page.set(&name, value)?,
        }
    }
    Ok((page, filters))
}

/// `GET /v1/chat/completions/{id}/messages`: what was sent.
pub(super) async fn messages(
    State(app): State<App>,
    caller: Caller,
    PathOf(id): PathOf<String>,
    QueryOf(given): QueryOf<Vec<(String, String)>>,
) -> ApiResult<Json<Value>> {
    let mut page = PageQuery::default();
    for (name, value) in given {
        page.set(&name, value)?;
    }
    let stored = StoredCompletion::open(&app.conversations(&caller), &id).await?;
    let mut sent = stored.record.preface.messages.clone();
    let path = stored.path().await?;
    sent.extend(path.into_iter().take_while(|node| node.reply.is_none()).map(|node| node.message));
    let mut objects = written(sent, &id)?;
    if page.order_or(Order::Ascending) == Order::Descending {
        objects.reverse();
    }
    Ok(Json(page.of(objects)?.json()))
}

/// Returns messages in OpenAI's format, with ids.
fn written(messages: Vec<Message>, id: &str) -> ApiResult<Vec<Value>> {
    let document = messages::write(Dialect::OpenAi, &Transcript::new(messages))?;
    let list = document.get("messages").and_then(Value::as_array).cloned().unwrap_or_default();
    let mut objects = Vec::with_capacity(list.len());
    for (index, mut message) in list.into_iter().enumerate() {
        if let Value::Object(fields) = &mut message {
            fields.insert("id".to_owned(), format!("{id}-{index}").into());
        }
        objects.push(message);
    }
    Ok(objects)
}

/// `POST /v1/chat/completions/{id}`: replaces the metadata.
pub(super) async fn update(
    State(app): State<App>,
    caller: Caller,
    PathOf(id): PathOf<String>,
    JsonBody(change): JsonBody<MetadataChange>,
) -> ApiResult<Json<Value>> {
    let metadata: BTreeMap<String, String> = change.metadata()?;
    let manager = app.conversations(&caller);
    let stored = StoredCompletion::open(&manager, &id).await?;
    let fields = json!({"model": stored.field("model"), "metadata": metadata});
    stored.conversation.set_metadata(METADATA, fields).await?;
    Ok(Json(StoredCompletion::open(&manager, &id).await?.object().await?))
}

/// `DELETE /v1/chat/completions/{id}`
pub(super) async fn delete(
    State(app): State<App>,
    caller: Caller,
    PathOf(id): PathOf<String>,
) -> ApiResult<Json<Value>> {
    let manager = app.conversations(&caller);
    let stored = StoredCompletion::open(&manager, &id).await?;
    manager.delete(stored.conversation.id()).await?;
    Ok(Json(json!({"object": "chat.completion.deleted", "id": id, "deleted": true})))
}
