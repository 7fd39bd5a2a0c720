//! `/v1/models`: the models that are served.

use std::time::SystemTime;

use axum::extract::State;
use axum::http::HeaderMap;
use axum::routing::get;
use axum::{Json, Router};
use schemars::JsonSchema;
use serde::Serialize;

use crate::app::App;
use crate::body::PathOf;
use crate::embedders::ServedEmbedder;
use crate::error::{ApiError, ApiResult};
use crate::error_form::ANTHROPIC_VERSION;
use crate::models::ModelStatus;
use crate::operation::Operation;
use crate::rerankers::ServedReranker;
use crate::times::{rfc3339, unix_seconds};

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
#[derive(Debug, Default, JsonSchema, Serialize)]
struct ModelReport {
    /// Further names.
    aliases: Vec<String>,
    /// Whether it is in memory.
    loaded: bool,
    /// The positions of its context, where it is loaded and they are known.
    context_length: Option<usize>,
    /// How many bytes it takes in memory, where models of its kind are unloaded.
    #[serde(skip_serializing_if = "Option::is_none")]
    memory: Option<u64>,
    /// The numbers of a vector, of a model of embeddings.
    #[serde(skip_serializing_if = "Option::is_none")]
    dimensions: Option<usize>,
    /// Whether it orders texts.
    #[serde(skip_serializing_if = "Option::is_none")]
    reranker: Option<bool>,
}

/// The models in the form of Anthropic's API, without those of vectors.
#[derive(Debug, JsonSchema, Serialize)]
struct AnthropicModelList {
    data: Vec<AnthropicModel>,
    has_more: bool,
    first_id: Option<String>,
    last_id: Option<String>,
}

/// A model in the form of Anthropic's API.
#[derive(Debug, JsonSchema, Serialize)]
struct AnthropicModel {
    #[serde(rename = "type")]
    kind: &'static str,
    id: String,
    display_name: String,
    created_at: String,
}

/// A list in the form that the headers of the request ask for.
#[derive(Debug, JsonSchema, Serialize)]
#[serde(untagged)]
enum ModelListAnswer {
    OpenAi(ModelList),
    Anthropic(AnthropicModelList),
}

/// A model in the form that the headers of the request ask for.
#[derive(Debug, JsonSchema, Serialize)]
#[serde(untagged)]
enum ModelAnswer {
    OpenAi(ModelObject),
    Anthropic(AnthropicModel),
}

pub(crate) fn routes() -> Router<App> {
    // Names of models may contain slashes.
    Router::new().route("/v1/models", get(list)).route("/v1/models/{*name}", get(one))
}

pub(crate) fn operations() -> Vec<Operation> {
    vec![
        Operation::get("/v1/models", "Lists the models.").answer::<ModelListAnswer>(),
        Operation::get("/v1/models/{*name}", "Returns a model.").answer::<ModelAnswer>(),
    ]
}

async fn list(State(app): State<App>, headers: HeaderMap) -> Json<ModelListAnswer> {
    if headers.contains_key(ANTHROPIC_VERSION) {
        return Json(ModelListAnswer::Anthropic(anthropic_list(&app)));
    }
    let models = app.models().list();
    let mut data: Vec<ModelObject> = models.iter().map(shown).collect();
    data.extend(app.embedders().list().iter().map(shown_embedder));
    data.extend(app.rerankers().list().iter().map(shown_reranker));
    Json(ModelListAnswer::OpenAi(ModelList { object: "list", data }))
}

async fn one(
    State(app): State<App>,
    headers: HeaderMap,
    PathOf(name): PathOf<String>,
) -> ApiResult<Json<ModelAnswer>> {
    let is_anthropic = headers.contains_key(ANTHROPIC_VERSION);
    if let Some(embedder) = app.embedders().find(&name) {
        return Ok(Json(ModelAnswer::OpenAi(shown_embedder(embedder))));
    }
    if let Some(reranker) = app.rerankers().find(&name) {
        return Ok(Json(ModelAnswer::OpenAi(shown_reranker(reranker))));
    }
    match app.models().status(&name) {
        Ok(status) if is_anthropic => {
            let object = anthropic(status.model.name(), status.model.created());
            Ok(Json(ModelAnswer::Anthropic(object)))
        }
        Ok(status) => Ok(Json(ModelAnswer::OpenAi(shown(&status)))),
        Err(error) => Err(ApiError::from(error).param("model").code("model_not_found")),
    }
}

fn shown(status: &ModelStatus) -> ModelObject {
    let model = &status.model;
    ModelObject {
        id: model.name().to_owned(),
        object: "model",
        created: unix_seconds(model.created()),
        owned_by: "alloquy",
        alloquy: ModelReport {
            aliases: model.aliases().to_vec(),
            loaded: status.is_loaded,
            context_length: status.context_length,
            memory: Some(model.memory()),
            ..ModelReport::default()
        },
    }
}

/// Returns the models of replies in the form of Anthropic's API.
fn anthropic_list(app: &App) -> AnthropicModelList {
    let models = app.models().list();
    let data: Vec<AnthropicModel> =
        models.iter().map(|status| anthropic(status.model.name(), status.model.created())).collect();
    AnthropicModelList {
        has_more: false,
        first_id: data.first().map(|model| model.id.clone()),
        last_id: data.last().map(|model| model.id.clone()),
        data,
    }
}

fn anthropic(name: &str, created: SystemTime) -> AnthropicModel {
    AnthropicModel {
        kind: "model",
        id: name.to_owned(),
        display_name: name.to_owned(),
        created_at: rfc3339(created),
    }
}

fn shown_embedder(embedder: &ServedEmbedder) -> ModelObject {
    let dimensions = Some(embedder.dimensions());
    let report = ModelReport { loaded: true, dimensions, ..ModelReport::default() };
    always_loaded(embedder.name(), embedder.created(), report)
}

fn shown_reranker(reranker: &ServedReranker) -> ModelObject {
    let report = ModelReport { loaded: true, reranker: Some(true), ..ModelReport::default() };
    always_loaded(reranker.name(), reranker.created(), report)
}

fn always_loaded(name: &str, created: SystemTime, alloquy: ModelReport) -> ModelObject {
    ModelObject {
        id: name.to_owned(),
        object: "model",
        created: unix_seconds(created),
        owned_by: "alloquy",
        alloquy,
    }
}
