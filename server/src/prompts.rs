//! `/v1/alloquy/prompts`: the prompts of the host's library, shown and filled in.

use std::sync::Arc;

use alloquy_core::prompt_library::{Prompt, PromptInfo, PromptKind, PromptName, Values};
use axum::extract::State;
use axum::routing::{get, post};
use axum::{Json, Router};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::app::App;
use crate::body::{JsonBody, PathOf, QueryOf};
use crate::current_prompts::CurrentPrompts;
use crate::error::{ApiError, ApiResult};
use crate::operation::Operation;
use crate::paging::{ListOf, PageParameters};

pub(crate) fn routes() -> Router<App> {
    Router::new()
        .route("/v1/alloquy/prompts", get(list))
        .route("/v1/alloquy/prompts/{kind}/{name}", get(one))
        .route("/v1/alloquy/prompts/{kind}/{name}/render", post(render))
}

pub(crate) fn operations() -> Vec<Operation> {
    vec![
        Operation::get("/v1/alloquy/prompts", "Lists the prompts of the library.")
            .query::<PageParameters>()
            .answer::<ListOf<PromptObject>>(),
        Operation::get("/v1/alloquy/prompts/{kind}/{name}", "Returns a prompt, with its texts.")
            .answer::<PromptObject>(),
        Operation::post("/v1/alloquy/prompts/{kind}/{name}/render", "Fills a prompt in.")
            .body::<PromptValues>()
            .answer::<RenderedObject>(),
    ]
}

/// A prompt of the library.
#[derive(Debug, JsonSchema, Serialize)]
struct PromptObject {
    /// Its name, such as `system/support`.
    id: String,
    object: &'static str,
    /// `system`, `user`, `messages` or `rag`.
    kind: String,
    name: String,
    version: Option<String>,
    digest: String,
    /// Its texts, in the order of its messages.
    texts: Vec<String>,
    /// The values that it reads.
    variables: Vec<String>,
    /// The values without which it cannot be filled in.
    required: Vec<String>,
    defaults: Map<String, Value>,
    /// The JSON Schema of its values.
    input: Option<Value>,
    model: Option<String>,
    sampling: Value,
    metadata: Map<String, Value>,
}

/// The values that a prompt is filled in with.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct PromptValues {
    #[serde(default)]
    values: Map<String, Value>,
}

/// A prompt that was filled in.
#[derive(Debug, JsonSchema, Serialize)]
struct RenderedObject {
    object: &'static str,
    /// The name, the version and the digest of the prompt, and which values were `missing` or `unknown`.
    prompt: Value,
    messages: Vec<RenderedMessage>,
    model: Option<String>,
    sampling: Value,
}

/// A message of a prompt that was filled in.
#[derive(Debug, JsonSchema, Serialize)]
struct RenderedMessage {
    role: String,
    content: String,
}

impl PromptObject {
    fn of(info: &PromptInfo) -> Self {
        Self {
            id: info.name.to_string(),
            object: "prompt",
            kind: info.name.kind.to_string(),
            name: info.name.name.clone(),
            version: info.version.map(|version| version.to_string()),
            digest: info.digest.to_string(),
            texts: info.texts.clone(),
            variables: info.variables.iter().cloned().collect(),
            required: info.required.iter().cloned().collect(),
            defaults: info.defaults.clone(),
            input: info.input.clone(),
            model: info.model.clone(),
            sampling: json!(info.sampling),
            metadata: info.metadata.clone(),
        }
    }
}

/// Finds a prompt by its kind and its name, which may end with `@` and a version.
fn found(app: &App, kind: &str, name: &str) -> ApiResult<Arc<dyn Prompt>> {
    let text = format!("{kind}/{name}");
    // A kind that is none would become a part of the name.
    if kind.parse::<PromptKind>().is_err() {
        return Err(unknown(&text));
    }
    let name: PromptName = text.parse().map_err(|error| ApiError::from(error).param("prompt"))?;
    let Some(library) = app.prompts() else { return Err(unknown(&text)) };
    library.now().prompt(&name).map_err(|error| ApiError::from(error).param("prompt"))
}

fn unknown(name: &str) -> ApiError {
    ApiError::not_found(format!("there is no prompt {name:?}")).param("prompt")
}

async fn list(
    State(app): State<App>,
    QueryOf(page): QueryOf<PageParameters>,
) -> ApiResult<Json<ListOf<PromptObject>>> {
    let mut objects = Vec::new();
    if let Some(library) = app.prompts().map(CurrentPrompts::now) {
        for name in library.names() {
            objects.push(PromptObject::of(library.prompt(&name)?.info()));
        }
    }
    Ok(Json(page.of(objects, |prompt| prompt.id.as_str())?))
}

async fn one(
    State(app): State<App>,
    PathOf((kind, name)): PathOf<(String, String)>,
) -> ApiResult<Json<PromptObject>> {
    Ok(Json(PromptObject::of(found(&app, &kind, &name)?.info())))
}

async fn render(
    State(app): State<App>,
    PathOf((kind, name)): PathOf<(String, String)>,
    JsonBody(given): JsonBody<PromptValues>,
) -> ApiResult<Json<RenderedObject>> {
    let prompt = found(&app, &kind, &name)?;
    let filled =
        prompt.fill(&Values::from(given.values)).map_err(|error| ApiError::from(error).param("values"))?;
    let messages = filled
        .messages
        .iter()
        .map(|message| RenderedMessage { role: message.role.to_string(), content: message.rendered.text() });
    Ok(Json(RenderedObject {
        object: "prompt.rendered",
        prompt: filled.facts.to_json(),
        messages: messages.collect(),
        model: filled.model.clone(),
        sampling: json!(filled.sampling),
    }))
}
