//! The head of a conversation: read with its ETag, and moved by compare-and-set.

use alloquy_core::{Conversation, NodeId, TurnRequest};
use axum::Json;
use axum::extract::State;
use axum::http::header::{ETAG, IF_MATCH};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use schemars::JsonSchema;
use serde::Deserialize;

use super::identity::{opened, place};
use super::objects::HeadObject;
use crate::app::App;
use crate::body::{JsonBody, PathOf};
use crate::caller::Caller;
use crate::error::{ApiError, ApiResult};

/// The ETag of the place before the first message.
const ROOT: &str = "root";

/// Where the head is to be.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct NewHead {
    /// A node: its id or a part of it, its position, or a bookmark. `null` is before the first message.
    // Named, so that a body without it is an error: an absent option would be `null`.
    #[serde(deserialize_with = "Option::deserialize")]
    #[schemars(required)]
    head: Option<String>,
}

/// The head that a request expects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Expected {
    /// Wherever it is.
    Any,
    At(Option<NodeId>),
}

impl Expected {
    /// Reads the header `If-Match`.
    ///
    /// # Errors
    /// 400 for what is no ETag of a head.
    pub(super) fn of(headers: &HeaderMap) -> ApiResult<Self> {
        let Some(given) = headers.get(IF_MATCH) else { return Ok(Self::Any) };
        let text = given.to_str().unwrap_or_default().trim();
        if text == "*" {
            return Ok(Self::Any);
        }
        let tag = text.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
        if tag == Some(ROOT) {
            return Ok(Self::At(None));
        }
        match tag.and_then(|tag| tag.parse().ok()) {
            Some(node) => Ok(Self::At(Some(node))),
            None => {
                let message = format!(
                    "if-match: {text:?} is no ETag of a head, expected the id of a node in quotes, or {ROOT:?} in quotes"
                );
                Err(ApiError::invalid("if-match", message))
            }
        }
    }

    /// Checks where the head is, and lets a turn move it only from there.
    ///
    /// # Errors
    /// 412 if it is elsewhere.
    pub(super) async fn check(self, conversation: &Conversation, ask: TurnRequest) -> ApiResult<TurnRequest> {
        let Self::At(expected) = self else { return Ok(ask) };
        let head = conversation.head().await?;
        if head != expected {
            return Err(elsewhere(head));
        }
        Ok(ask.expected_head(head))
    }
}

fn elsewhere(head: Option<NodeId>) -> ApiError {
    let message = format!("the head is at {}: read it again", etag(head));
    ApiError::new(StatusCode::PRECONDITION_FAILED, message).param("if-match").code("head_moved")
}

fn etag(head: Option<NodeId>) -> String {
    match head {
        Some(node) => format!("\"{node}\""),
        None => format!("\"{ROOT}\""),
    }
}

/// Returns the object of the head with its ETag.
fn answer(conversation: &Conversation, head: Option<NodeId>) -> Response {
    ([(ETAG, etag(head))], Json(HeadObject::of(conversation.id(), head))).into_response()
}

pub(super) async fn read(State(app): State<App>, caller: Caller, PathOf(id): PathOf<String>) -> ApiResult {
    let conversation = opened(&app, &caller, &id).await?;
    let head = conversation.head().await?;
    Ok(answer(&conversation, head))
}

pub(super) async fn set(
    State(app): State<App>,
    caller: Caller,
    PathOf(id): PathOf<String>,
    headers: HeaderMap,
    JsonBody(new): JsonBody<NewHead>,
) -> ApiResult {
    let expected = Expected::of(&headers)?;
    let conversation = opened(&app, &caller, &id).await?;
    let to = place(&conversation, &new.head.unwrap_or_default(), "head").await?;
    match expected {
        Expected::Any => conversation.goto(to).await?,
        Expected::At(from) => {
            let moved = app.store().set_head(&caller.owner, conversation.id(), from, to).await;
            match moved {
                Err(error) if error.is_conflict() => return Err(elsewhere(conversation.head().await?)),
                moved => moved?,
            }
        }
    }
    Ok(answer(&conversation, to))
}
