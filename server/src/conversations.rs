//! `/v1/conversations`: OpenAI's Conversations. Each is one of the stored conversations; its items are those of the path to its head.

mod items;
mod object;

use alloquy_core::manager::NewConversation;
use alloquy_core::{ConversationManager as _, Preface};
use axum::extract::State;
use axum::routing::{get, post};
use axum::{Json, Router};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::app::App;
use crate::body::{JsonBody, PathOf};
use crate::caller::Caller;
use crate::deleted_object::DeletedObject;
use crate::error::ApiResult;
use crate::items::{Input, Item, MARK};
use crate::operation::Operation;
use crate::paging::ListOf;
use crate::responses::{IncludeParameters, ItemListParameters, open_conversation};
use crate::turn_options::{Metadata, MetadataChange, check_metadata};
use object::{ConversationObject, object};

pub(crate) fn routes() -> Router<App> {
    Router::new()
        .route("/v1/conversations", post(create))
        .route("/v1/conversations/{id}", get(one).post(update).delete(delete))
        .route("/v1/conversations/{id}/items", get(items::list).post(items::create))
        .route("/v1/conversations/{id}/items/{item}", get(items::one).delete(items::delete))
}

pub(crate) fn operations() -> Vec<Operation> {
    let one = "/v1/conversations/{id}";
    let list = "/v1/conversations/{id}/items";
    let item = "/v1/conversations/{id}/items/{item}";
    vec![
        Operation::post("/v1/conversations", "Creates a conversation.")
            .body::<NewRequest>()
            .answer::<ConversationObject>(),
        Operation::get(one, "Returns a conversation.").answer::<ConversationObject>(),
        Operation::post(one, "Replaces the metadata of a conversation.")
            .body::<MetadataChange>()
            .answer::<ConversationObject>(),
        Operation::delete(one, "Deletes a conversation with all its branches.").answer::<DeletedObject>(),
        Operation::get(list, "Lists the items on the path to the head.")
            .query::<ItemListParameters>()
            .answer::<ListOf<Item>>(),
        Operation::post(list, "Adds items to the head.")
            .query::<IncludeParameters>()
            .body::<items::AddRequest>()
            .answer::<ListOf<Item>>(),
        Operation::get(item, "Returns an item on the path to the head.")
            .query::<IncludeParameters>()
            .answer::<Item>(),
        Operation::delete(item, "Takes an item out of the path to the head.").answer::<ConversationObject>(),
    ]
}

/// The fields of a new conversation.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct NewRequest {
    #[schemars(with = "Option<Input>")]
    items: Option<Value>,
    metadata: Option<Metadata>,
}

/// `POST /v1/conversations`
async fn create(
    State(app): State<App>,
    caller: Caller,
    body: JsonBody<NewRequest>,
) -> ApiResult<Json<ConversationObject>> {
    let JsonBody(request) = body;
    let metadata = request.metadata.unwrap_or_default();
    check_metadata(&metadata)?;
    let items = request.items.unwrap_or_else(|| json!([]));
    let given = items::given(&items)?;
    let manager = app.conversations(&caller);
    let messages = items::messages(given, &[], &app, &manager).await?;
    let new = NewConversation::from(Preface::default()).metadata(MARK, json!({"metadata": metadata}));
    let conversation = manager.create(new).await?;
    if let Err(error) = items::add(&conversation, messages).await {
        manager.delete(conversation.id()).await?;
        return Err(error);
    }
    object(&conversation).await
}

/// `GET /v1/conversations/{id}`
async fn one(
    State(app): State<App>,
    caller: Caller,
    PathOf(id): PathOf<String>,
) -> ApiResult<Json<ConversationObject>> {
    object(&open_conversation(&app.conversations(&caller), &id).await?).await
}

/// `POST /v1/conversations/{id}`: replaces the metadata.
async fn update(
    State(app): State<App>,
    caller: Caller,
    PathOf(id): PathOf<String>,
    JsonBody(change): JsonBody<MetadataChange>,
) -> ApiResult<Json<ConversationObject>> {
    let metadata = change.metadata()?;
    let conversation = open_conversation(&app.conversations(&caller), &id).await?;
    let mut fields = conversation.metadata().await?.get(MARK).cloned().unwrap_or_else(|| json!({}));
    if let Some(fields) = fields.as_object_mut() {
        fields.insert("metadata".to_owned(), json!(metadata));
    }
    conversation.set_metadata(MARK, fields).await?;
    object(&conversation).await
}

/// `DELETE /v1/conversations/{id}`: deletes it with all its branches.
async fn delete(
    State(app): State<App>,
    caller: Caller,
    PathOf(id): PathOf<String>,
) -> ApiResult<Json<DeletedObject>> {
    let manager = app.conversations(&caller);
    let conversation = open_conversation(&manager, &id).await?;
    manager.delete(conversation.id()).await?;
    Ok(Json(DeletedObject::new(id, "conversation.deleted")))
}
