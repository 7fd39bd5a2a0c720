//! Labels of nodes, and bookmarks.

use std::collections::BTreeMap;

use alloquy_core::ConversationId;
use alloquy_core::annotations::Annotations;
use alloquy_core::tree::Tree;
use axum::Json;
use axum::extract::State;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::identity::{HEAD, node as found, opened, shown};
use crate::app::App;
use crate::body::{JsonBody, PathOf};
use crate::caller::Caller;
use crate::error::{ApiError, ApiResult};

/// The label of a node and the branch below it.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct NewLabel {
    label: String,
}

/// Where a bookmark is set.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct NewBookmark {
    /// The node: its id or a part of it, its position, another bookmark, or `head`.
    node: String,
}

/// The notes on the nodes of a conversation.
#[derive(Debug, JsonSchema, Serialize)]
pub(super) struct NotesObject {
    object: &'static str,
    /// The conversation.
    id: String,
    /// The labels by their nodes.
    labels: BTreeMap<String, String>,
    /// The nodes by the names of their bookmarks.
    bookmarks: BTreeMap<String, String>,
}

/// Returns the labels by their nodes.
pub(super) fn labels_of(tree: &Tree, notes: &Annotations) -> BTreeMap<String, String> {
    let mut labels = BTreeMap::new();
    for node in tree.nodes() {
        if let Some(label) = notes.label(node) {
            labels.insert(node.id.to_string(), label.to_owned());
        }
    }
    labels
}

/// Returns the nodes by the names of their bookmarks.
pub(super) fn bookmarks_of(notes: &Annotations) -> BTreeMap<String, String> {
    notes.bookmarks().map(|(name, node)| (name.to_owned(), node.to_string())).collect()
}

async fn object(app: &App, caller: &Caller, id: &ConversationId) -> ApiResult<Json<NotesObject>> {
    let (record, tree) = app.store().load(&caller.owner, id).await?;
    let notes = Annotations::of(&record)?;
    let labels = labels_of(&tree, &notes);
    Ok(Json(NotesObject { object: "notes", id: shown(id), labels, bookmarks: bookmarks_of(&notes) }))
}

pub(super) async fn read(
    State(app): State<App>,
    caller: Caller,
    PathOf(id): PathOf<String>,
) -> ApiResult<Json<NotesObject>> {
    let conversation = opened(&app, &caller, &id).await?;
    object(&app, &caller, conversation.id()).await
}

pub(super) async fn set_label(
    State(app): State<App>,
    caller: Caller,
    PathOf((id, name)): PathOf<(String, String)>,
    JsonBody(new): JsonBody<NewLabel>,
) -> ApiResult<Json<NotesObject>> {
    let conversation = opened(&app, &caller, &id).await?;
    let node = found(&conversation, &name, "node").await?;
    conversation.label(node, Some(&new.label)).await?;
    object(&app, &caller, conversation.id()).await
}

pub(super) async fn remove_label(
    State(app): State<App>,
    caller: Caller,
    PathOf((id, name)): PathOf<(String, String)>,
) -> ApiResult<Json<NotesObject>> {
    let conversation = opened(&app, &caller, &id).await?;
    let node = found(&conversation, &name, "node").await?;
    conversation.label(node, None).await?;
    object(&app, &caller, conversation.id()).await
}

pub(super) async fn set_bookmark(
    State(app): State<App>,
    caller: Caller,
    PathOf((id, name)): PathOf<(String, String)>,
    JsonBody(new): JsonBody<NewBookmark>,
) -> ApiResult<Json<NotesObject>> {
    let conversation = opened(&app, &caller, &id).await?;
    if name == HEAD {
        let message = format!("{HEAD:?} is the name of the head here: choose another name");
        return Err(ApiError::invalid("name", message));
    }
    let node = found(&conversation, &new.node, "node").await?;
    conversation.bookmark(&name, node).await?;
    object(&app, &caller, conversation.id()).await
}

pub(super) async fn remove_bookmark(
    State(app): State<App>,
    caller: Caller,
    PathOf((id, name)): PathOf<(String, String)>,
) -> ApiResult<Json<NotesObject>> {
    let conversation = opened(&app, &caller, &id).await?;
    conversation.remove_bookmark(&name).await?;
    object(&app, &caller, conversation.id()).await
}
