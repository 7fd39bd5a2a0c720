//! `/v1/models`: the models that are served.

use std::time::SystemTime;

use axum::extract::State;
use axum::http::HeaderMap;
use axum::routing::get;
use axum::{Json, Router};
use serde_json::{Value, json};

use crate::app::App;
use crate::body::PathOf;
use crate::embedders::ServedEmbedder;
use crate::error::{ApiError, ApiResult};
use crate::error_form::ANTHROPIC_VERSION;
use crate::models::ModelStatus;
use crate::rerankers::ServedReranker;
use crate::times::{rfc3339, unix_seconds};

pub(crate) fn routes() -> Router<App> {
    // Names of models may contain slashes.
    Router::new().route("/v1/models", get(list)).route("/v1/models/{*name}", get(one))
}

async fn list(State(app): State<App>, headers: HeaderMap) -> Json<Value> {
    if headers.contains_key(ANTHROPIC_VERSION) {
        return Json(anthropic_list(&app));
    }
    let models = app.models().list();
    let mut data: Vec<Value> = models.iter().map(shown).collect();
    data.extend(app.embedders().list().iter().map(shown_embedder));
    data.extend(app.rerankers().list().iter().map(shown_reranker));
    Json(json!({"object": "list", "data": data}))
}

async fn one(
    State(app): State<App>,
    headers: HeaderMap,
    PathOf(name): PathOf<String>,
) -> ApiResult<Json<Value>> {
    let is_anthropic = headers.contains_key(ANTHROPIC_VERSION);
    if let Some(embedder) = app.embedders().find(&name) {
        return Ok(Json(shown_embedder(embedder)));
    }
    if let Some(reranker) = app.rerankers().find(&name) {
        return Ok(Json(shown_reranker(reranker)));
    }
    match app.models().status(&name) {
        Ok(status) if is_anthropic => Ok(Json(anthropic(status.model.name(), status.model.created()))),
        Ok(status) => Ok(Json(shown(&status))),
        Err(error) => Err(ApiError::from(error).param("model").code("model_not_found")),
    }
}

fn shown(status: &ModelStatus) -> Value {
    let model = &status.model;
    json!({
        "id": model.name(),
        "object": "model",
        "created": unix_seconds(model.created()),
        "owned_by": "alloquy",
        "alloquy": {
            "aliases": model.aliases(),
            "loaded": status.is_loaded,
            "context_length": status.context_length,
            "memory": model.memory(),
        },
    })
}

/// Returns the models of replies in the form of Anthropic's API.
fn anthropic_list(app: &App) -> Value {
    let models = app.models().list();
    let data: Vec<Value> =
        models.iter().map(|status| anthropic(status.model.name(), status.model.created())).collect();
    let first = data.first().and_then(|model| model.get("id")).cloned();
    let last = data.last().and_then(|model| model.get("id")).cloned();
    json!({"data": data, "has_more": false, "first_id": first, "last_id": last})
}

fn anthropic(name: &str, created: SystemTime) -> Value {
    json!({"type": "model", "id": name, "display_name": name, "created_at": rfc3339(created)})
}

fn shown_embedder(embedder: &ServedEmbedder) -> Value {
    json!({
        "id": embedder.name(),
        "object": "model",
        "created": unix_seconds(embedder.created()),
        "owned_by": "alloquy",
        "alloquy": {"aliases": [], "loaded": true, "dimensions": embedder.dimensions()},
    })
}

fn shown_reranker(reranker: &ServedReranker) -> Value {
    json!({
        "id": reranker.name(),
        "object": "model",
        "created": unix_seconds(reranker.created()),
        "owned_by": "alloquy",
        "alloquy": {"aliases": [], "loaded": true, "reranker": true},
    })
}
