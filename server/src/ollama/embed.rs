//! `POST /api/embed`: the vectors of texts.

use std::time::Instant;

use axum::Json;
use axum::extract::State;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::reply::nanoseconds;
use super::request::KeepAlive;
use super::served_name::served_name;
use crate::app::App;
use crate::body::JsonBody;
use crate::caller::Caller;
use crate::embedders::{TextUse, must_have};
use crate::error::{ApiError, ApiResult};
use crate::text_or::TextOr;

/// The fields of `/api/embed`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct EmbedBody {
    model: String,
    input: TextOr<String>,
    /// Whether the ends of texts that are too long are left out, which is so unless it is `false`.
    #[serde(default)]
    truncate: Option<bool>,
    #[serde(default)]
    dimensions: Option<usize>,
    #[serde(default, rename = "keep_alive")]
    _keep_alive: Option<KeepAlive>,
}

/// The vectors.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct EmbedReply {
    model: String,
    embeddings: Vec<Vec<f32>>,
    total_duration: u64,
    load_duration: u64,
    prompt_eval_count: usize,
}

pub(super) async fn embed(
    State(app): State<App>,
    caller: Caller,
    JsonBody(body): JsonBody<EmbedBody>,
) -> ApiResult<Json<EmbedReply>> {
    let start = Instant::now();
    let texts = match body.input {
        TextOr::Text(text) => vec![text],
        TextOr::List(texts) => texts,
    };
    let _place = app.admit(&caller).await?;
    let embedder = app.embedders().get(&served_name(&app, &body.model))?;
    must_have(embedder.dimensions(), body.dimensions)?;
    let vectors = app.vectors(embedder, &texts, TextUse::Passage, &caller).await?;
    if let (Some(false), Some(index)) = (body.truncate, vectors.cut.first()) {
        let place = format!("input[{index}]");
        let message = format!("{place} is longer than the model reads: shorten it, or leave truncate out");
        return Err(ApiError::invalid(place, message));
    }
    Ok(Json(EmbedReply {
        model: embedder.name().to_owned(),
        embeddings: vectors.vectors,
        total_duration: nanoseconds(start.elapsed()),
        load_duration: 0,
        prompt_eval_count: vectors.tokens,
    }))
}
