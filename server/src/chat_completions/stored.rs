//! Stored completions: one, their list, their messages, their metadata, and their end.

use std::collections::BTreeMap;

use alloquy_core::message::ToolCall;
use alloquy_core::query::{Filter, MetadataKey, Sort, SortKey};
use alloquy_core::store::{ConversationRecord, ConversationStoreExt as _};
use alloquy_core::{
    Conversation, ConversationId, ConversationManager as _, Error, Manager, Message, Node, Query, Role,
};
use alloquy_formats::messages::{self, Dialect, Transcript};
use axum::Json;
use axum::extract::State;
use serde_json::{Value, json};

use super::identity::{ID, METADATA, conversation_of, no_completion};
use super::response::Completion;
use crate::app::App;
use crate::body::{JsonBody, PathOf, QueryOf};
use crate::caller::Caller;
use crate::client_tools::ClientTools;
use crate::deleted_object::DeletedObject;
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
        let stored = Self::find(manager, &conversation_of(id)?).await?;
        stored.ok_or_else(|| no_completion(id))
    }

    /// Returns the completion of a conversation, if it is one and still there.
    ///
    /// # Errors
    /// Those of the store.
    async fn find(manager: &Manager, id: &ConversationId) -> ApiResult<Option<Self>> {
        let found = async {
            let conversation = manager.open(id).await?;
            let record = conversation.record().await?;
            Ok(Self { conversation, record })
        };
        match found.await {
            Ok(stored) if stored.record.metadata.contains_key(METADATA) => Ok(Some(stored)),
            Ok(_) => Ok(None),
            Err(error) => absent(error),
        }
    }

    fn field(&self, name: &str) -> Value {
        self.record.metadata.get(METADATA).and_then(|fields| fields.get(name)).cloned().unwrap_or_default()
    }

    /// Returns the path to the reply: the messages, and what the turn added. `None` while there is no reply.
    async fn path(&self) -> ApiResult<Option<Vec<Node>>> {
        let mut path = match self.conversation.history().await {
            Ok(path) => path,
            Err(error) => return absent(error),
        };
        let Some(first) = path.iter().position(|node| node.reply.is_some()) else { return Ok(None) };
        let added = path.iter().skip(first).take_while(|node| is_of_turn(node)).count();
        path.truncate(first + added);
        Ok(Some(path))
    }

    /// Creates the error for a completion that is being generated.
    fn unanswered(&self) -> ApiError {
        ApiError::not_found(format!("the chat completion {}{} has no reply yet", ID, self.record.id))
    }

    /// Returns the object; `None` while there is no reply.
    async fn object(&self) -> ApiResult<Option<Value>> {
        let Some(path) = self.path().await? else { return Ok(None) };
        let reply = path.iter().rev().find_map(|node| node.reply.as_deref().map(|facts| (node, facts)));
        let Some((node, facts)) = reply else { return Ok(None) };
        let report = ReplyReport::stored(facts, self.record.id.clone(), node.id);
        let completion = Completion {
            id: self.record.id.clone(),
            created: unix_seconds(self.record.created),
            model: self.field("model").as_str().unwrap_or(&facts.model).to_owned(),
            is_stored: true,
            tools: ClientTools::of(&self.record.preface),
        };
        let message = completion.tools.shown(&node.message, &open_calls(node, &path));
        let mut object = completion.object(&message, &report, None);
        if let Value::Object(fields) = &mut object {
            fields.insert("metadata".to_owned(), self.field("metadata"));
        }
        Ok(Some(object))
    }
}

/// Returns the calls of a reply without a result in the rest of its path.
fn open_calls(reply: &Node, path: &[Node]) -> Vec<ToolCall> {
    let mut open: Vec<ToolCall> = reply.message.tool_calls().cloned().collect();
    let after = path.iter().skip_while(|node| node.id != reply.id);
    for result in after.flat_map(|node| node.message.tool_results()) {
        open.retain(|call| call.id != result.id);
    }
    open
}

/// Returns nothing for what was deleted meanwhile.
fn absent<T>(error: Error) -> ApiResult<Option<T>> {
    if error.is_not_found() { Ok(None) } else { Err(error.into()) }
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
    Ok(Json(stored.object().await?.ok_or_else(|| stored.unanswered())?))
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
    let mut wanted = Query::default().sort(sort.clone()).limit(query.limit() + 1);
    for filter in filters {
        wanted = wanted.filter(filter);
    }
    if let Some(after) = &query.after {
        let summary = StoredCompletion::open(&manager, after).await?.conversation.summary().await?;
        let key = Query::sort_key(&sort, &summary);
        let cursor = wanted.cursor_after(key, summary.record.id)?;
        wanted = wanted.after(cursor);
    }
    // One more than the page has, so that it is known whether there are more.
    let mut objects = listed(&manager, wanted, query.limit() + 1).await?;
    let has_more = objects.len() > query.limit();
    objects.truncate(query.limit());
    Ok(Json(Page { data: objects, has_more }.json()))
}

/// Returns the first `most` completions that a query finds. Those that are being generated are not listed yet, and those that are
/// deleted meanwhile are not listed any more; others take their places.
async fn listed(manager: &Manager, mut wanted: Query, most: usize) -> ApiResult<Vec<Value>> {
    let mut objects = Vec::new();
    loop {
        let found = manager.list(&wanted).await?;
        for summary in &found.conversations {
            let Some(stored) = StoredCompletion::find(manager, &summary.record.id).await? else { continue };
            objects.extend(stored.object().await?);
            if objects.len() == most {
                return Ok(objects);
            }
        }
        let Some(next) = found.next else { return Ok(objects) };
        wanted = wanted.after(next);
    }
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
    let path = stored.path().await?.ok_or_else(|| stored.unanswered())?;
    sent.extend(path.into_iter().take_while(|node| node.reply.is_none()).map(|node| node.message));
    load_media(&mut sent, &app, &caller).await?;
    let mut objects = written(sent, &id)?;
    if page.order_or(Order::Ascending) == Order::Descending {
        objects.reverse();
    }
    Ok(Json(page.of(objects)?.json()))
}

/// Adds the bytes of images, audio and videos, which a store keeps beside the messages.
async fn load_media(messages: &mut [Message], app: &App, caller: &Caller) -> ApiResult<()> {
    let parts = messages.iter_mut().flat_map(|message| &mut message.parts);
    for media in parts.flat_map(|part| part.content.media_mut()) {
        if media.bytes().is_none() {
            *media = app.store().get_media(&caller.owner, media).await?;
        }
    }
    Ok(())
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
    let stored = StoredCompletion::open(&manager, &id).await?;
    Ok(Json(stored.object().await?.ok_or_else(|| stored.unanswered())?))
}

/// `DELETE /v1/chat/completions/{id}`
pub(super) async fn delete(
    State(app): State<App>,
    caller: Caller,
    PathOf(id): PathOf<String>,
) -> ApiResult<Json<DeletedObject>> {
    let manager = app.conversations(&caller);
    let stored = StoredCompletion::open(&manager, &id).await?;
    manager.delete(stored.conversation.id()).await?;
    Ok(Json(DeletedObject::new(id, "chat.completion.deleted")))
}
