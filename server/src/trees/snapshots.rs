//! The snapshot of a conversation: what a model has computed of it, saved for other servers and for later.

use alloquy_core::Conversation;
use alloquy_engine::decoder::SavedSnapshot;
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use schemars::JsonSchema;
use serde::Serialize;

use super::identity::{opened, shown};
use crate::app::App;
use crate::body::PathOf;
use crate::caller::Caller;
use crate::deleted_object::DeletedObject;
use crate::error::{ApiError, ApiResult};
use crate::models::OpenedModel;
use crate::snapshots::{Snapshots, refusal_word};
use crate::times::unix_seconds;

/// A snapshot that was saved.
#[derive(Debug, JsonSchema, Serialize)]
pub(super) struct SavedObject {
    object: &'static str,
    /// The conversation.
    conversation: String,
    /// The model that computed it: the one that answered the last turn here.
    model: String,
    /// How many tokens of the prompt and its reply need no computing.
    tokens: usize,
    bytes: u64,
    /// How many snapshots of other conversations were removed for it: the least recently used ones.
    evicted: usize,
}

/// A stored snapshot.
#[derive(Debug, JsonSchema, Serialize)]
pub(super) struct SnapshotObject {
    object: &'static str,
    /// The conversation.
    conversation: String,
    /// The model that computed it; `null` where that is none of the models that are in memory.
    model: Option<String>,
    /// How many tokens need no computing; `null` for a snapshot that cannot be read.
    tokens: Option<usize>,
    bytes: u64,
    /// When it was saved, in seconds since 1970.
    saved_at: u64,
    /// Why it cannot be read, such as `cut` or `damaged`.
    refused: Option<&'static str>,
}

/// Returns the snapshots of the server.
fn snapshots(app: &App) -> ApiResult<&Snapshots> {
    app.snapshots().ok_or_else(|| {
        let message = "this server has no place for snapshots: it is started with --snapshots PLACE";
        ApiError::new(StatusCode::BAD_REQUEST, message).code("unsupported_value")
    })
}

/// `PUT /v1/alloquy/conversations/{id}/snapshot`: saves what the model holds of the last turn here.
pub(super) async fn save(
    State(app): State<App>,
    caller: Caller,
    PathOf(id): PathOf<String>,
) -> ApiResult<Json<SavedObject>> {
    let conversation = opened(&app, &caller, &id).await?;
    let snapshots = snapshots(&app)?;
    let _place = app.admit(&caller).await?;
    let Some(turn) = snapshots.recent(&caller.owner, conversation.id()) else {
        return Err(nothing(&app, &conversation).await?);
    };
    let model = app.models().loaded(&turn.model).and_then(|opened| opened.snapshots);
    let Some(model) = model else { return Err(nothing(&app, &conversation).await?) };
    let saved = match snapshots.save(&turn, &*model, app.store()).await {
        Err(error) if error.is_not_found() => return Err(nothing(&app, &conversation).await?),
        saved => saved?,
    };
    match saved.saved {
        SavedSnapshot::Kept { evicted } => Ok(Json(SavedObject {
            object: "snapshot",
            conversation: shown(conversation.id()),
            model: turn.model.clone(),
            tokens: saved.tokens,
            bytes: saved.bytes,
            evicted,
        })),
        SavedSnapshot::TooLarge { bytes, quota } => {
            let message = format!(
                "the snapshot has {bytes} bytes and {quota} are allowed: an earlier one was removed, and the operator may raise --snapshots-quota"
            );
            Err(ApiError::new(StatusCode::INSUFFICIENT_STORAGE, message).code("snapshot_too_large"))
        }
    }
}

/// `GET /v1/alloquy/conversations/{id}/snapshot`
pub(super) async fn read(
    State(app): State<App>,
    caller: Caller,
    PathOf(id): PathOf<String>,
) -> ApiResult<Json<SnapshotObject>> {
    let conversation = opened(&app, &caller, &id).await?;
    let snapshots = snapshots(&app)?;
    let summary = snapshots.summary(&caller.owner, conversation.id()).await?;
    let Some(summary) = summary else { return Err(none(&shown(conversation.id()))) };
    let mut object = SnapshotObject {
        object: "snapshot",
        conversation: shown(conversation.id()),
        model: None,
        tokens: None,
        bytes: summary.bytes,
        saved_at: unix_seconds(summary.saved),
        refused: None,
    };
    match summary.contents {
        Ok(contents) => {
            object.model = app.models().with_snapshots_of(&contents.origin);
            object.tokens = Some(contents.units.len());
        }
        Err(refusal) => object.refused = Some(refusal_word(&refusal)),
    }
    Ok(Json(object))
}

/// `DELETE /v1/alloquy/conversations/{id}/snapshot`
pub(super) async fn delete(
    State(app): State<App>,
    caller: Caller,
    PathOf(id): PathOf<String>,
) -> ApiResult<Json<DeletedObject>> {
    let conversation = opened(&app, &caller, &id).await?;
    let id = shown(conversation.id());
    if !snapshots(&app)?.remove(&caller.owner, conversation.id()).await? {
        return Err(none(&id));
    }
    Ok(Json(DeletedObject::new(id, "snapshot.deleted")))
}

/// Creates the error for a conversation of which nothing can be saved.
async fn nothing(app: &App, conversation: &Conversation) -> ApiResult<ApiError> {
    let path = conversation.history().await?;
    let name = path.last().and_then(|node| node.model()).and_then(|name| app.models().served_as(name));
    let model = name.as_deref().and_then(|name| app.models().loaded(name));
    if let (Some(name), Some(OpenedModel { snapshots: None, .. })) = (name, model) {
        let message = format!(
            "the model {name:?} has no snapshots: only models that this machine computes have them, and those of other servers do not"
        );
        return Ok(ApiError::new(StatusCode::BAD_REQUEST, message).code("unsupported_value"));
    }
    let message = format!(
        "no model holds anything of {:?}: a snapshot is saved after a turn that this server has answered, while its model is in memory",
        shown(conversation.id())
    );
    Ok(ApiError::new(StatusCode::CONFLICT, message).code("nothing_held"))
}

fn none(id: &str) -> ApiError {
    ApiError::not_found(format!("the conversation {id:?} has no snapshot: PUT saves one"))
}
