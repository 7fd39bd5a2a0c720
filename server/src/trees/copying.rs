//! Copies of a conversation, and the removal of branches: fork, merge, prune.

use alloquy_core::ConversationId;
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::conversations::object;
use super::identity::{HEAD, node as found, opened, place, shown};
use super::objects::ConversationObject;
use crate::app::App;
use crate::body::{JsonBody, PathOf};
use crate::caller::Caller;
use crate::error::{ApiError, ApiResult};

/// A copy of the path to a node.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct NewFork {
    /// The last node of the copy; the head unless it is given.
    #[serde(default)]
    node: Option<String>,
    /// The name of the copy; a unique one unless it is given.
    #[serde(default)]
    name: Option<String>,
}

/// Another copy of the conversation.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct NewMerge {
    /// The id of the conversation whose nodes are added.
    from: String,
}

/// A branch that is removed.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct NewPrune {
    /// The first node of the branch.
    node: String,
    /// Whether the space of pruned nodes is reclaimed.
    #[serde(default)]
    compact: bool,
}

/// What a merge changed.
#[derive(Debug, JsonSchema, Serialize)]
pub(super) struct MergeObject {
    object: &'static str,
    /// The conversation that has the nodes now.
    id: String,
    /// The conversation that they are from.
    from: String,
    /// The nodes that were added, parents before children.
    added: Vec<String>,
    /// The nodes that were pruned here, because they were pruned there.
    pruned: Vec<String>,
    /// The nodes that were not added, because they were pruned here.
    pruned_here: Vec<String>,
    /// The nodes that were pruned there and are kept here, because the head is at or below them.
    held: Vec<String>,
}

/// What was pruned.
#[derive(Debug, JsonSchema, Serialize)]
pub(super) struct PruneObject {
    object: &'static str,
    /// The conversation.
    id: String,
    /// The first node of the branch.
    node: String,
    /// How many nodes were pruned.
    nodes: usize,
}

pub(super) async fn fork(
    State(app): State<App>,
    caller: Caller,
    PathOf(id): PathOf<String>,
    JsonBody(new): JsonBody<NewFork>,
) -> ApiResult<(StatusCode, Json<ConversationObject>)> {
    let conversation = opened(&app, &caller, &id).await?;
    let name = match &new.name {
        Some(name) => name.parse().map_err(|error| ApiError::from(error).param("name"))?,
        None => ConversationId::new(),
    };
    let node = place(&conversation, new.node.as_deref().unwrap_or(HEAD), "node").await?;
    let copy = conversation.fork_at(node, name).await?;
    Ok((StatusCode::CREATED, Json(object(&copy).await?)))
}

pub(super) async fn merge(
    State(app): State<App>,
    caller: Caller,
    PathOf(id): PathOf<String>,
    JsonBody(new): JsonBody<NewMerge>,
) -> ApiResult<Json<MergeObject>> {
    let conversation = opened(&app, &caller, &id).await?;
    let other = opened(&app, &caller, &new.from).await.map_err(|error| error.param("from"))?;
    let report = conversation.merge(&other).await?;
    Ok(Json(MergeObject {
        object: "merge",
        id: shown(conversation.id()),
        from: shown(other.id()),
        added: report.added.iter().map(ToString::to_string).collect(),
        pruned: report.pruned.iter().map(ToString::to_string).collect(),
        pruned_here: report.pruned_here.iter().map(ToString::to_string).collect(),
        held: report.held.iter().map(ToString::to_string).collect(),
    }))
}

pub(super) async fn prune(
    State(app): State<App>,
    caller: Caller,
    PathOf(id): PathOf<String>,
    JsonBody(new): JsonBody<NewPrune>,
) -> ApiResult<Json<PruneObject>> {
    let conversation = opened(&app, &caller, &id).await?;
    let node = found(&conversation, &new.node, "node").await?;
    let nodes = conversation.prune(node).await?;
    if new.compact {
        conversation.compact().await?;
    }
    Ok(Json(PruneObject { object: "prune", id: shown(conversation.id()), node: node.to_string(), nodes }))
}
