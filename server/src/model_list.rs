//! `/v1/models`: the models that are served.

use axum::extract::State;
use axum::routing::get;
use axum::{Json, Router};
use serde_json::{Value, json};

use crate::app::App;
use crate::body::PathOf;
use crate::error::{ApiError, ApiResult};
use crate::models::ModelStatus;
use crate::times::unix_seconds;

pub(crate) fn routes() -> Router<App> {
    // Names of models may contain slashes.
    Router::new().route("/v1/models", get(list)).route("/v1/models/{*name}", get(one))
}

async fn list(State(app): State<App>) -> Json<Value> {
    let models = app.models().list();
    let data: Vec<Value> = models.iter().map(shown).collect();
    Json(json!({"object": "list", "data": data}))
}

async fn one(State(app): State<App>, PathOf(name): PathOf<String>) -> ApiResult<Json<Value>> {
    match app.models().status(&name) {
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
