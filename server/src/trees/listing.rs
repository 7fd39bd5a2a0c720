//! Lists of conversations, and searches for messages.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::time::{Duration, SystemTime};

use alloquy_core::query::{Filter, MetadataKey, Sort, SortKey};
use alloquy_core::store::DamagedConversation;
use alloquy_core::{ConversationManager as _, Query};
use axum::Json;
use axum::extract::State;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

use super::identity::{conversation_id, shown};
use super::objects::ConversationObject;
use crate::app::App;
use crate::body::QueryOf;
use crate::caller::Caller;
use crate::error::{ApiError, ApiResult};
use crate::paging::{ListOf, Order, PageQuery};

/// Which conversations are listed, and in which order.
#[derive(Debug, Default, JsonSchema)]
#[allow(dead_code, reason = "it describes the parameters, which are read one by one")]
pub(super) struct ListParameters {
    /// The id of the conversation before the first one.
    after: Option<String>,
    /// At most so many: 20 unless it is given, and no more than 100.
    limit: Option<usize>,
    /// `asc`, or `desc` unless it is given.
    order: Option<String>,
    /// By what they are sorted: `updated` unless it is given, `created`, `name`, or `metadata.NAME`.
    sort: Option<String>,
    /// Words that a message of the conversation has, on any branch.
    text: Option<String>,
    /// Created at this second since 1970, or later.
    created_after: Option<u64>,
    /// Created before this second.
    created_before: Option<u64>,
    /// Updated at this second, or later.
    updated_after: Option<u64>,
    /// Updated before this second.
    updated_before: Option<u64>,
    /// Values of the metadata: `metadata[topic]=tea`. A number, `true`, `false` and a text in quotes are JSON.
    metadata: Option<BTreeMap<String, Value>>,
}

/// What messages are searched for, and where.
#[derive(Debug, Default, JsonSchema)]
#[allow(dead_code, reason = "it describes the parameters, which are read one by one")]
pub(super) struct SearchParameters {
    /// Words; `"two words"` in this order, and `cup*` for a beginning.
    text: String,
    /// The cursor of the page, from `next` of the page before it.
    cursor: Option<String>,
    /// At most so many: 20 unless it is given, and no more than 100.
    limit: Option<usize>,
    /// `relevance` unless it is given, or `created`.
    sort: Option<String>,
    /// In conversations that were created at this second since 1970, or later.
    created_after: Option<u64>,
    /// In conversations that were created before this second.
    created_before: Option<u64>,
    /// In conversations that were updated at this second, or later.
    updated_after: Option<u64>,
    /// In conversations that were updated before this second.
    updated_before: Option<u64>,
    /// In conversations with these values: `metadata[topic]=tea`.
    metadata: Option<BTreeMap<String, Value>>,
}

/// A page of the messages that were found.
#[derive(Debug, JsonSchema, Serialize)]
pub(super) struct SearchResults {
    object: &'static str,
    data: Vec<HitObject>,
    has_more: bool,
    /// The cursor of the next page.
    next: Option<String>,
    /// Whether `all` hits were compared by relevance, or only so many of the newest ones.
    ranked: Value,
    /// Conversations that could not be read.
    damaged: Vec<String>,
}

/// A message that was found.
#[derive(Debug, JsonSchema, Serialize)]
struct HitObject {
    object: &'static str,
    /// The conversation.
    conversation: String,
    node: String,
    role: String,
    /// The text around the words, and where they are in it.
    snippet: Value,
    /// How well it matches.
    score: f64,
}

/// What both lists read of the address.
#[derive(Default)]
struct Conditions {
    page: PageQuery,
    query: Query,
    sort: Option<String>,
    text: Option<String>,
    cursor: Option<String>,
    created: Times,
    updated: Times,
}

#[derive(Default)]
struct Times {
    from: Option<SystemTime>,
    until: Option<SystemTime>,
}

impl Times {
    fn bounds(&self) -> (Bound<SystemTime>, Bound<SystemTime>) {
        let from = self.from.map_or(Bound::Unbounded, Bound::Included);
        let until = self.until.map_or(Bound::Unbounded, Bound::Excluded);
        (from, until)
    }
}

impl Conditions {
    fn read(given: Vec<(String, String)>) -> ApiResult<Self> {
        let mut read = Self::default();
        for (name, value) in given {
            read.set(&name, value)?;
        }
        let mut query = read.query.created(read.created.bounds()).updated(read.updated.bounds());
        query = query.limit(read.page.limit());
        if let Some(text) = &read.text {
            query = query.text(text).map_err(|error| ApiError::from(error).param("text"))?;
        }
        read.query = query;
        Ok(read)
    }

    fn set(&mut self, name: &str, value: String) -> ApiResult<()> {
        if let Some(key) = name.strip_prefix("metadata[").and_then(|rest| rest.strip_suffix(']')) {
            let filter = filter(key, &value);
            self.query = std::mem::take(&mut self.query).filter(filter);
            return Ok(());
        }
        match name {
            "sort" => self.sort = Some(value),
            "text" => self.text = Some(value),
            "cursor" => self.cursor = Some(value),
            "created_after" => self.created.from = Some(time(name, &value)?),
            "created_before" => self.created.until = Some(time(name, &value)?),
            "updated_after" => self.updated.from = Some(time(name, &value)?),
            "updated_before" => self.updated.until = Some(time(name, &value)?),
            _ => self.page.set(name, value)?,
        }
        Ok(())
    }
}

/// Returns the condition on a value: a number or a boolean where the text is one, and else the text.
fn filter(key: &str, text: &str) -> Filter {
    let key = MetadataKey::of([key]);
    match serde_json::from_str::<Value>(text) {
        Ok(Value::Bool(value)) => Filter::equals(key, value),
        Ok(Value::String(value)) => Filter::equals(key, value),
        Ok(Value::Number(number)) => match number.as_f64() {
            Some(value) => Filter::equals(key, value),
            None => Filter::equals(key, text),
        },
        _ => Filter::equals(key, text),
    }
}

/// Reads a time in seconds since 1970.
fn time(name: &str, text: &str) -> ApiResult<SystemTime> {
    let seconds = text.parse().ok().map(Duration::from_secs);
    match seconds.and_then(|seconds| SystemTime::UNIX_EPOCH.checked_add(seconds)) {
        Some(time) => Ok(time),
        None => {
            let message = format!("{name} is {text:?}, expected the seconds since 1970");
            Err(ApiError::invalid(name, message))
        }
    }
}

/// `GET /v1/alloquy/conversations`
pub(super) async fn list(
    State(app): State<App>,
    caller: Caller,
    QueryOf(given): QueryOf<Vec<(String, String)>>,
) -> ApiResult<Json<ListOf<ConversationObject>>> {
    let read = Conditions::read(given)?;
    if read.cursor.is_some() {
        return Err(ApiError::invalid("cursor", "cursor is of searches: lists continue with after=ID"));
    }
    let by = sort_key(read.sort.as_deref().unwrap_or("updated"))?;
    let sort = match read.page.order_or(Order::Descending) {
        Order::Ascending => Sort::ascending(by),
        Order::Descending => Sort::descending(by),
    };
    let mut query = read.query.sort(sort.clone());
    let manager = app.conversations(&caller);
    if let Some(after) = &read.page.after {
        let summary = match app.store().summary(&caller.owner, &conversation_id(after)?).await {
            Err(error) if error.is_not_found() => {
                let message = format!("there is no conversation {after:?}");
                return Err(ApiError::not_found(message).param("after"));
            }
            summary => summary?,
        };
        let key = Query::sort_key(&sort, &summary);
        let cursor = query.cursor_after(key, summary.record.id)?;
        query = query.after(cursor);
    }
    let found = manager.list(&query).await?;
    let has_more = found.next.is_some();
    warn_of(&found.damaged);
    let objects: Vec<_> = found.conversations.into_iter().map(ConversationObject::of).collect();
    Ok(Json(ListOf::of(objects, |object| object.id.as_str(), has_more)))
}

fn sort_key(text: &str) -> ApiResult<SortKey> {
    match (text, text.strip_prefix("metadata.")) {
        ("updated", _) => Ok(SortKey::Updated),
        ("created", _) => Ok(SortKey::Created),
        ("name", _) => Ok(SortKey::Id),
        (_, Some(name)) => Ok(SortKey::Metadata(MetadataKey::of([name]))),
        _ => {
            let message =
                format!("sort is {text:?}, expected \"updated\", \"created\", \"name\" or \"metadata.NAME\"");
            Err(ApiError::invalid("sort", message))
        }
    }
}

/// `GET /v1/alloquy/search`
pub(super) async fn search(
    State(app): State<App>,
    caller: Caller,
    QueryOf(given): QueryOf<Vec<(String, String)>>,
) -> ApiResult<Json<SearchResults>> {
    let read = Conditions::read(given)?;
    if read.text.is_none() {
        return Err(ApiError::invalid("text", "text: a search needs words to search for"));
    }
    if read.page.after.is_some() {
        return Err(ApiError::invalid("after", "after is of lists: searches continue with cursor=NEXT"));
    }
    if read.page.order_or(Order::Descending) == Order::Ascending {
        return Err(ApiError::unsupported("order", "order is \"asc\", and searches have the best first"));
    }
    let mut query = read.query;
    match read.sort.as_deref() {
        None | Some("relevance") => {}
        Some("created") => query = query.sort(Sort::descending(SortKey::Created)),
        Some(other) => {
            let message = format!("sort is {other:?}, expected \"relevance\" or \"created\"");
            return Err(ApiError::invalid("sort", message));
        }
    }
    if let Some(cursor) = &read.cursor {
        query = query.after(cursor.parse().map_err(|error| ApiError::from(error).param("cursor"))?);
    }
    let found = app.conversations(&caller).search(&query).await?;
    warn_of(&found.damaged);
    let data = found.hits.into_iter().map(|hit| HitObject {
        object: "search.hit",
        conversation: shown(&hit.conversation),
        node: hit.node.to_string(),
        role: hit.role.to_string(),
        snippet: json!(hit.snippet),
        score: hit.score,
    });
    Ok(Json(SearchResults {
        object: "search.results",
        data: data.collect(),
        has_more: found.next.is_some(),
        next: found.next.map(|next| next.to_string()),
        ranked: json!(found.ranked),
        damaged: found.damaged.into_iter().map(|damaged| damaged.name).collect(),
    }))
}

/// Reports damaged conversations to the operator. Their reasons may name files of the machine.
fn warn_of(damaged: &[DamagedConversation]) {
    for one in damaged {
        tracing::warn!(conversation = one.name, reason = one.reason, "a conversation is damaged");
    }
}
