//! The items of a conversation: those of the path to its head.

use alloquy_core::{Conversation, Manager, Message, Node, NodeId, TurnRequest};
use axum::Json;
use axum::extract::State;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::object::{ConversationObject, object};
use crate::app::App;
use crate::body::{JsonBody, PathOf, QueryOf};
use crate::caller::Caller;
use crate::error::{ApiError, ApiResult};
use crate::items::{Calls, GivenItem, Input, Item, MARK, Shown, TurnMark, items_of_path, parsed_items};
use crate::paging::{Order, Page};
use crate::responses::{
    Included, leading_system, load_media, note_system, open_conversation, page_of, references,
};

/// How many items one call adds at most.
const MOST: usize = 20;

/// The fields of a request that adds items.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct AddRequest {
    #[schemars(with = "Input")]
    items: Value,
}

/// Reads the items of a request.
///
/// # Errors
/// 400 with the place of what is not valid, and for too many.
pub(super) fn given(items: &Value) -> ApiResult<Vec<GivenItem>> {
    if !items.is_array() {
        return Err(ApiError::invalid("items", "items: expected a list of items"));
    }
    let given = parsed_items(items, "items")?;
    if given.len() > MOST {
        let message =
            format!("items has {}, expected at most {MOST}: send the rest in further calls", given.len());
        return Err(ApiError::invalid("items", message));
    }
    Ok(given)
}

/// Returns the messages of items that follow a path.
pub(super) async fn messages(
    given: Vec<GivenItem>,
    path: &[Node],
    app: &App,
    manager: &Manager,
) -> ApiResult<Vec<Message>> {
    let references = references(&given, "items", manager).await?;
    let mut calls = Calls::default();
    let named = references.values().flat_map(|(_, message)| message.tool_calls());
    for call in path.iter().flat_map(|node| node.message.tool_calls()).chain(named) {
        calls.insert(call.id.clone(), call.name.clone());
    }
    app.read(move |media| GivenItem::messages(&given, "items", &calls, &references, media)).await
}

/// Adds messages to the head of a conversation, and returns their nodes.
pub(super) async fn add(conversation: &Conversation, messages: Vec<Message>) -> ApiResult<Vec<Node>> {
    if messages.is_empty() {
        return Ok(Vec::new());
    }
    if conversation.head().await?.is_none() {
        note_system(conversation, leading_system(&messages).as_deref()).await?;
    }
    let adding = TurnRequest::from(messages).message_metadata(MARK, json!(TurnMark::default()));
    Ok(conversation.add(adding).await?.nodes)
}

/// `POST /v1/conversations/{id}/items`: adds items to the head.
pub(super) async fn create(
    State(app): State<App>,
    caller: Caller,
    PathOf(id): PathOf<String>,
    QueryOf(query): QueryOf<Vec<(String, String)>>,
    JsonBody(request): JsonBody<AddRequest>,
) -> ApiResult<Json<Value>> {
    let included = included(query)?;
    let given = given(&request.items)?;
    let manager = app.conversations(&caller);
    let conversation = open_conversation(&manager, &id).await?;
    let path = conversation.history().await?;
    let messages = messages(given, &path, &app, &manager).await?;
    let nodes = add(&conversation, messages).await?;
    let shown = Shown { conversation: conversation.id(), images: included.images };
    let mut items = Vec::new();
    for node in &nodes {
        shown.push_given(node, &mut items)?;
    }
    let data: Vec<Value> = items.into_iter().map(Value::from).collect();
    Ok(Json(Page { data, has_more: false }.json()))
}

/// `GET /v1/conversations/{id}/items`: the last one first unless the order is `asc`.
pub(super) async fn list(
    State(app): State<App>,
    caller: Caller,
    PathOf(id): PathOf<String>,
    QueryOf(pairs): QueryOf<Vec<(String, String)>>,
) -> ApiResult<Json<Value>> {
    let (page, included) = page_of(pairs)?;
    let conversation = open_conversation(&app.conversations(&caller), &id).await?;
    let items = all(&conversation, included, &app, &caller).await?;
    let mut items: Vec<Value> = items.into_iter().map(Value::from).collect();
    if page.order_or(Order::Descending) == Order::Descending {
        items.reverse();
    }
    Ok(Json(page.of(items)?.json()))
}

async fn all(
    conversation: &Conversation,
    included: Included,
    app: &App,
    caller: &Caller,
) -> ApiResult<Vec<Item>> {
    let mut path = conversation.history().await?;
    load_media(&mut path, included.images, app, caller).await?;
    let shown = Shown { conversation: conversation.id(), images: included.images };
    let items = items_of_path(&path, shown)?;
    Ok(items.into_iter().map(|(_, item)| item).collect())
}

/// `GET /v1/conversations/{id}/items/{item}`
pub(super) async fn one(
    State(app): State<App>,
    caller: Caller,
    PathOf((id, item)): PathOf<(String, String)>,
    QueryOf(query): QueryOf<Vec<(String, String)>>,
) -> ApiResult<Json<Item>> {
    let included = included(query)?;
    let conversation = open_conversation(&app.conversations(&caller), &id).await?;
    let items = all(&conversation, included, &app, &caller).await?;
    let found = items.into_iter().find(|other| other.id() == item);
    found.map(Json).ok_or_else(|| no_item(&id, &item))
}

fn no_item(conversation: &str, item: &str) -> ApiError {
    let message = format!("the conversation {conversation:?} has no item {item:?} on the path to its head");
    ApiError::not_found(message).param("item_id")
}

fn included(query: Vec<(String, String)>) -> ApiResult<Included> {
    let mut names = Vec::new();
    for (name, value) in query {
        if name == "include" || name == "include[]" {
            names.push(value);
        } else {
            let message = format!("unknown parameter {name:?} in the address");
            return Err(ApiError::invalid(name, message));
        }
    }
    Included::read(names.iter().map(String::as_str))
}

/// `DELETE /v1/conversations/{id}/items/{item}`: takes an item out of the path to the head.
///
/// Nodes never change, so what follows it is copied without it, and the former path stays as a branch.
pub(super) async fn delete(
    State(app): State<App>,
    caller: Caller,
    PathOf((id, item)): PathOf<(String, String)>,
) -> ApiResult<Json<ConversationObject>> {
    let conversation = open_conversation(&app.conversations(&caller), &id).await?;
    let path = conversation.history().await?;
    let shown = Shown { conversation: conversation.id(), images: false };
    let items = items_of_path(&path, shown)?;
    let found = items.iter().find(|(_, other)| other.id() == item);
    let Some(place) = found.map(|(place, _)| *place) else { return Err(no_item(&id, &item)) };
    if items.iter().filter(|(other, _)| *other == place).count() > 1 {
        let message =
            format!("the item {item:?} is one of several of one reply, which are kept or deleted together");
        return Err(ApiError::unsupported("item_id", message));
    }
    let (before, rest) = path.split_at(place);
    let Some((deleted, after)) = rest.split_first() else { return Err(no_item(&id, &item)) };
    let tip = copied(&conversation, before.last().map(|node| node.id), after).await?;
    conversation.goto(tip).await?;
    if after.is_empty() {
        conversation.prune(deleted.id).await?;
    }
    if before.is_empty() {
        let first: Vec<Message> = after.iter().take(1).map(|node| node.message.clone()).collect();
        note_system(&conversation, leading_system(&first).as_deref()).await?;
    }
    object(&conversation).await
}

/// Copies nodes below another one, and returns the last one. The head stays.
async fn copied(
    conversation: &Conversation,
    mut tip: Option<NodeId>,
    nodes: &[Node],
) -> ApiResult<Option<NodeId>> {
    let elsewhere = Some(NodeId::new());
    let mut first = None;
    for node in nodes {
        let mut adding = TurnRequest::from(vec![node.message.clone()]).at(tip).expected_head(elsewhere);
        for (name, value) in &node.metadata {
            adding = adding.message_metadata(name, value.clone());
        }
        if let Some(facts) = &node.reply {
            adding = adding.reply_facts((**facts).clone());
        }
        match conversation.add(adding).await {
            Ok(added) => tip = added.node,
            Err(error) => {
                if let Some(first) = first {
                    conversation.prune(first).await?;
                }
                return Err(ApiError::from(error).param("item_id"));
            }
        }
        first = first.or(tip);
    }
    Ok(tip)
}
