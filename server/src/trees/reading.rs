//! Nodes, paths and branches of a tree.

use alloquy_core::Conversation;
use axum::Json;
use axum::extract::State;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::identity::{HEAD, node as found, opened, place};
use super::objects::{BranchObject, NodeNotes, NodeObject, TreeObject};
use crate::app::App;
use crate::body::{PathOf, QueryOf};
use crate::caller::Caller;
use crate::error::ApiResult;
use crate::paging::{ListOf, PageParameters};

/// The two nodes that are compared.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct DiffParameters {
    /// A node; the head unless it is given.
    #[serde(default)]
    left: Option<String>,
    /// The other node.
    right: String,
}

/// What the paths to two nodes have in common, and what only one of them has.
#[derive(Debug, JsonSchema, Serialize)]
pub(super) struct DiffObject {
    object: &'static str,
    /// The nodes on both paths.
    common: Vec<NodeObject>,
    /// The nodes that only the left path has.
    left: Vec<NodeObject>,
    /// The nodes that only the right path has.
    right: Vec<NodeObject>,
}

pub(super) async fn tree(
    State(app): State<App>,
    caller: Caller,
    PathOf(id): PathOf<String>,
) -> ApiResult<Json<TreeObject>> {
    let conversation = opened(&app, &caller, &id).await?;
    // One call, so that the head is a node of the tree.
    let (record, tree) = app.store().load(&caller.owner, conversation.id()).await?;
    Ok(Json(TreeObject::of(&record.id, record.head, &tree, &NodeNotes::of(&record)?)))
}

pub(super) async fn branches(
    State(app): State<App>,
    caller: Caller,
    PathOf(id): PathOf<String>,
) -> ApiResult<Json<ListOf<BranchObject>>> {
    let branches = opened(&app, &caller, &id).await?.branches().await?;
    let objects: Vec<_> = branches.into_iter().map(BranchObject::of).collect();
    Ok(Json(ListOf::of(objects, |branch| branch.id.as_str(), false)))
}

pub(super) async fn node(
    State(app): State<App>,
    caller: Caller,
    PathOf((id, name)): PathOf<(String, String)>,
) -> ApiResult<Json<NodeObject>> {
    let conversation = opened(&app, &caller, &id).await?;
    let id = found(&conversation, &name, "node").await?;
    let read = app.store().load_node(&caller.owner, conversation.id(), id).await?;
    Ok(Json(NodeObject::of(&read, &notes(&conversation).await?)))
}

pub(super) async fn path(
    State(app): State<App>,
    caller: Caller,
    PathOf((id, name)): PathOf<(String, String)>,
    QueryOf(page): QueryOf<PageParameters>,
) -> ApiResult<Json<ListOf<NodeObject>>> {
    let conversation = opened(&app, &caller, &id).await?;
    let to = place(&conversation, &name, "node").await?;
    let nodes = conversation.path(to).await?;
    let objects = NodeObject::all(&nodes, &notes(&conversation).await?);
    Ok(Json(page.of(objects, |node| node.id.as_str())?))
}

pub(super) async fn diff(
    State(app): State<App>,
    caller: Caller,
    PathOf(id): PathOf<String>,
    QueryOf(sides): QueryOf<DiffParameters>,
) -> ApiResult<Json<DiffObject>> {
    let conversation = opened(&app, &caller, &id).await?;
    let left = place(&conversation, sides.left.as_deref().unwrap_or(HEAD), "left").await?;
    let right = place(&conversation, &sides.right, "right").await?;
    let diff = conversation.diff(left, right).await?;
    let notes = notes(&conversation).await?;
    Ok(Json(DiffObject {
        object: "diff",
        common: NodeObject::all(&diff.common, &notes),
        left: NodeObject::all(&diff.left, &notes),
        right: NodeObject::all(&diff.right, &notes),
    }))
}

pub(super) async fn notes(conversation: &Conversation) -> ApiResult<NodeNotes> {
    NodeNotes::of(&conversation.record().await?)
}
