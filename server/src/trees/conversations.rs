//! One conversation: created, read, changed and deleted.

use alloquy_core::annotations::ANNOTATIONS_KEY;
use alloquy_core::manager::NewConversation;
use alloquy_core::prompt_library::{PromptName, Values};
use alloquy_core::store::ConversationStoreExt as _;
use alloquy_core::{Conversation, ConversationId, ConversationManager as _, Preface, SamplingOptions};
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::identity::{opened, shown};
use super::objects::ConversationObject;
use crate::app::App;
use crate::body::{JsonBody, PathOf};
use crate::caller::Caller;
use crate::chat_completions::messages;
use crate::deleted_object::DeletedObject;
use crate::error::{ApiError, ApiResult};
use crate::items::DECISIONS;
use crate::media_policy::MediaPolicy;

/// What a new conversation begins with.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct NewTree {
    /// The name, which is a part of the id; a unique one unless it is given.
    #[serde(default)]
    name: Option<String>,
    /// The messages before the first node, as in Chat Completions: system prompts and examples.
    #[serde(default)]
    messages: Option<Vec<Map<String, Value>>>,
    /// The functions that the model may call, as in Chat Completions. Their results are sent by the client.
    #[serde(default)]
    tools: Option<Vec<Map<String, Value>>>,
    /// A prompt of the library, whose messages are before those of `messages`.
    #[serde(default)]
    prompt: Option<PromptCall>,
    /// How replies are sampled.
    #[serde(default)]
    #[schemars(with = "Map<String, Value>")]
    sampling: SamplingOptions,
    /// Values that queries find, such as `title`.
    #[serde(default)]
    metadata: Map<String, Value>,
}

/// A prompt of the library, and what it is filled in with.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct PromptCall {
    /// The name, such as `system/support@1.0.0`.
    name: String,
    #[serde(default)]
    values: Map<String, Value>,
}

impl PromptCall {
    /// # Errors
    /// 400 for what is no name of a prompt.
    pub(super) fn read(self) -> ApiResult<(PromptName, Values)> {
        let name = self.name.parse().map_err(|error| ApiError::from(error).param("prompt.name"))?;
        Ok((name, Values::from(self.values)))
    }
}

/// What changes in the metadata.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ConversationChange {
    /// Values to set; `null` removes one. Others stay.
    metadata: Map<String, Value>,
}

impl NewTree {
    fn read(self, media: &MediaPolicy) -> ApiResult<NewConversation> {
        let preface = self.preface(media)?;
        let mut new = NewConversation::from(preface).sampling(self.sampling);
        if let Some(name) = self.name {
            let id: ConversationId = name.parse().map_err(|error| ApiError::from(error).param("name"))?;
            new = new.id(id);
        }
        for (name, value) in self.metadata {
            new = new.metadata(name, value);
        }
        if let Some(prompt) = self.prompt {
            let (name, values) = prompt.read()?;
            new = new.system_prompt_name(name, values);
        }
        Ok(new)
    }

    fn preface(&self, media: &MediaPolicy) -> ApiResult<Preface> {
        let list = self.messages.clone().unwrap_or_default();
        let tools = self.tools.clone().map(Value::from_iter);
        let transcript = messages::read(Value::from_iter(list), tools, media)?;
        Ok(Preface { messages: transcript.messages, tools: transcript.tools, ..Preface::default() })
    }
}

pub(super) async fn create(
    State(app): State<App>,
    caller: Caller,
    JsonBody(new): JsonBody<NewTree>,
) -> ApiResult<(StatusCode, Json<ConversationObject>)> {
    let new = app.read(move |media| new.read(media)).await?;
    let conversation = app.conversations(&caller).create(new).await?;
    Ok((StatusCode::CREATED, Json(object(&conversation).await?)))
}

pub(super) async fn one(
    State(app): State<App>,
    caller: Caller,
    PathOf(id): PathOf<String>,
) -> ApiResult<Json<ConversationObject>> {
    Ok(Json(object(&opened(&app, &caller, &id).await?).await?))
}

pub(super) async fn change(
    State(app): State<App>,
    caller: Caller,
    PathOf(id): PathOf<String>,
    JsonBody(change): JsonBody<ConversationChange>,
) -> ApiResult<Json<ConversationObject>> {
    let conversation = opened(&app, &caller, &id).await?;
    if change.metadata.contains_key(ANNOTATIONS_KEY) {
        let message = format!("metadata.{ANNOTATIONS_KEY}: labels and bookmarks have routes of their own");
        return Err(ApiError::invalid(format!("metadata.{ANNOTATIONS_KEY}"), message));
    }
    if change.metadata.contains_key(DECISIONS) {
        let message =
            format!("metadata.{DECISIONS}: it says which approved calls have run, and does not change");
        return Err(ApiError::invalid(format!("metadata.{DECISIONS}"), message));
    }
    let wanted = change.metadata;
    let changed = app.store().change_metadata(&caller.owner, conversation.id(), |metadata| {
        for (name, value) in &wanted {
            if value.is_null() {
                metadata.shift_remove(name);
            } else {
                metadata.insert(name.clone(), value.clone());
            }
        }
    });
    changed.await?;
    Ok(Json(object(&conversation).await?))
}

pub(super) async fn delete(
    State(app): State<App>,
    caller: Caller,
    PathOf(id): PathOf<String>,
) -> ApiResult<Json<DeletedObject>> {
    let conversation = opened(&app, &caller, &id).await?;
    app.conversations(&caller).delete(conversation.id()).await?;
    Ok(Json(DeletedObject::new(shown(conversation.id()), "conversation.deleted")))
}

/// Returns the object of a conversation.
pub(super) async fn object(conversation: &Conversation) -> ApiResult<ConversationObject> {
    Ok(ConversationObject::of(conversation.summary().await?))
}
