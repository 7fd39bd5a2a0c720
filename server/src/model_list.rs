//! `/v1/models`: the models that are served.

use axum::extract::State;
use axum::routing::get;
use axum::{Json, Router};
use schemars::JsonSchema;
use serde::Serialize;

use crate::app::App;
use crate::body::PathOf;
use crate::error::{ApiError, ApiResult};
use crate::models::ModelStatus;
use crate::operation::Operation;
use crate::times::unix_seconds;

/// The models that are served.
#[derive(Debug, JsonSchema, Serialize)]
struct ModelList {
    object: &'static str,
    data: Vec<ModelObject>,
}

/// A model.
#[derive(Debug, JsonSchema, Serialize)]
struct ModelObject {
    id: String,
    object: &'static str,
    /// Since when it is served, in seconds since 1970.
    created: u64,
    owned_by: &'static str,
    alloquy: ModelReport,
}

/// What this server knows of a model.
#[derive(Debug, JsonSchema, Serialize)]
struct ModelReport {
    /// Further names.
    aliases: Vec<String>,
    /// Whether it is in memory.
    loaded: bool,
    /// The positions of its context, where it is loaded and they are known.
    context_length: Option<usize>,
    /// How many bytes it takes in memory.
    memory: u64,
}

pub(crate) fn routes() -> Router<App> {
    // Names of models may contain slashes.
    Router::new().route("/v1/models", get(list)).route("/v1/models/{*name}", get(one))
}

pub(crate) fn operations() -> Vec<Operation> {
    vec![
        Operation::get("/v1/models", "Lists the models.").answer::<ModelList>(),
        Operation::get("/v1/models/{*name}", "Returns a model.").answer::<ModelObject>(),
    ]
}

async fn list(State(app): State<App>) -> Json<ModelList> {
    let models = app.models().list();
    let data = models.iter().map(shown).collect();
    Json(ModelList { object: "list", data })
}

async fn one(State(app): State<App>, PathOf(name): PathOf<String>) -> ApiResult<Json<ModelObject>> {
    match app.models().status(&name) {
        Ok(status) => Ok(Json(shown(&status))),
        Err(error) => Err(ApiError::from(error).param("model").code("model_not_found")),
    }
}

fn shown(status: &ModelStatus<'_>) -> ModelObject {
    let model = status.model;
    ModelObject {
        id: model.name().to_owned(),
        object: "model",
        created: unix_seconds(model.created()),
        owned_by: "alloquy",
        alloquy: ModelReport {
            aliases: model.aliases().to_vec(),
            loaded: status.is_loaded,
            context_length: status.context_length,
            memory: model.memory(),
        },
    }
}
