//! The models in Ollama's form, and the version of its protocol.

use alloquy_core::media::Digest;
use axum::Json;
use axum::extract::State;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::served_name::served_name;
use crate::app::App;
use crate::body::JsonBody;
use crate::error::{ApiError, ApiResult};
use crate::times::{rfc3339, until_forever};

/// The version of Ollama whose protocol this is: clients require one that has the fields that they use.
const VERSION: &str = "0.12.6";

/// The family of all models here, whose real one is not known before they are loaded.
const FAMILY: &str = "alloquy";

/// A model of a list.
#[derive(Debug, Serialize, JsonSchema)]
struct ListedModel {
    name: String,
    model: String,
    modified_at: String,
    /// The bytes of the model.
    size: u64,
    /// A digest of the name: the files of a model are not read for a list.
    digest: String,
    details: Details,
    #[serde(flatten)]
    running: Option<Running>,
}

/// What is known of a loaded model.
#[derive(Debug, Serialize, JsonSchema)]
struct Running {
    expires_at: String,
    size_vram: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    context_length: Option<usize>,
}

/// What kind of model it is.
#[derive(Debug, Serialize, JsonSchema)]
struct Details {
    parent_model: &'static str,
    format: &'static str,
    family: &'static str,
    families: [&'static str; 1],
    parameter_size: &'static str,
    quantization_level: &'static str,
}

impl Details {
    fn unknown() -> Self {
        Self {
            parent_model: "",
            format: "",
            family: FAMILY,
            families: [FAMILY],
            parameter_size: "",
            quantization_level: "",
        }
    }
}

impl ListedModel {
    fn new(name: &str, modified_at: String, size: u64, running: Option<Running>) -> Self {
        Self {
            name: name.to_owned(),
            model: name.to_owned(),
            modified_at,
            size,
            digest: Digest::of(name.as_bytes()).to_string(),
            details: Details::unknown(),
            running,
        }
    }
}

/// The models.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "OllamaModelList")]
pub(super) struct ModelList {
    models: Vec<ListedModel>,
}

/// `GET /api/tags`
pub(super) async fn tags(State(app): State<App>) -> Json<ModelList> {
    let mut models = Vec::new();
    for status in app.models().list() {
        let model = &status.model;
        models.push(ListedModel::new(model.name(), rfc3339(model.created()), model.memory(), None));
    }
    for embedder in app.embedders().list() {
        models.push(ListedModel::new(embedder.name(), rfc3339(embedder.created()), 0, None));
    }
    Json(ModelList { models })
}

/// `GET /api/ps`: the models in memory.
pub(super) async fn running(State(app): State<App>) -> Json<ModelList> {
    let mut models = Vec::new();
    for status in app.models().list() {
        if status.is_loaded {
            let model = &status.model;
            let running =
                Running { expires_at: until_forever(), size_vram: 0, context_length: status.context_length };
            let created = rfc3339(model.created());
            models.push(ListedModel::new(model.name(), created, model.memory(), Some(running)));
        }
    }
    Json(ModelList { models })
}

/// The body of `/api/show`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ShowBody {
    #[serde(default)]
    model: Option<String>,
    /// The former name of `model`.
    #[serde(default)]
    name: Option<String>,
    /// Fields that are empty here are so in the long form too.
    #[serde(default, rename = "verbose")]
    _verbose: Option<bool>,
}

/// One model.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct ShownModel {
    modelfile: &'static str,
    parameters: &'static str,
    template: &'static str,
    details: Details,
    model_info: Map<String, Value>,
    capabilities: Vec<&'static str>,
    modified_at: String,
}

/// `POST /api/show`
pub(super) async fn show(
    State(app): State<App>,
    JsonBody(body): JsonBody<ShowBody>,
) -> ApiResult<Json<ShownModel>> {
    let Some(given) = body.model.or(body.name) else {
        return Err(ApiError::invalid("model", "model is missing: name one of GET /api/tags"));
    };
    let name = served_name(&app, &given);
    let mut info = Map::new();
    info.insert("general.architecture".to_owned(), FAMILY.into());
    let (modified_at, capabilities) = match app.embedders().find(&name) {
        Some(embedder) => {
            info.insert(format!("{FAMILY}.embedding_length"), embedder.dimensions().into());
            (embedder.created(), vec!["embedding"])
        }
        None => {
            let status = app.models().status(&name);
            let status =
                status.map_err(|error| ApiError::from(error).param("model").code("model_not_found"))?;
            if let Some(length) = status.context_length {
                info.insert(format!("{FAMILY}.context_length"), length.into());
            }
            (status.model.created(), vec!["completion", "tools"])
        }
    };
    Ok(Json(ShownModel {
        modelfile: "",
        parameters: "",
        template: "",
        details: Details::unknown(),
        model_info: info,
        capabilities,
        modified_at: rfc3339(modified_at),
    }))
}

/// `GET /api/version`
pub(super) async fn version() -> Json<Value> {
    Json(json!({"version": VERSION, "alloquy": {"version": env!("CARGO_PKG_VERSION")}}))
}
