//! `/v1/alloquy/page`: what the page has to know of the server: its models and what they can do, and what is on.

use alloquy_core::media::MediaKind;
use alloquy_core::{Message, Preface, Request, ToolSpec};
use axum::extract::State;
use axum::routing::get;
use axum::{Json, Router};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;

use crate::app::App;
use crate::models::OpenedModel;
use crate::operation::Operation;

/// The name of a tool that a template prints where it knows tools.
const PROBE: &str = "alloquy_probe";

/// What the page has to know of the server.
#[derive(Debug, JsonSchema, Serialize)]
#[allow(clippy::struct_excessive_bools, reason = "each is a field of the answer")]
struct PageObject {
    object: &'static str,
    /// The name of the program.
    name: &'static str,
    version: &'static str,
    /// The models that answer; the first one answers requests that name none.
    models: Vec<PageModel>,
    /// The models of vectors.
    embeddings: Vec<String>,
    /// The models that order texts.
    rerankers: Vec<String>,
    /// Whether there is a library of prompts.
    prompts: bool,
    /// Whether there are flows.
    flows: bool,
    /// Whether there are tools of the host.
    tools: bool,
    /// Whether requests need a key.
    keys: bool,
}

/// A model that answers.
#[derive(Debug, JsonSchema, Serialize)]
struct PageModel {
    id: String,
    /// Further names.
    aliases: Vec<String>,
    /// Whether it is in memory.
    loaded: bool,
    /// The positions of its context, where they are known.
    context_length: Option<usize>,
    /// What it can do; `null` for a model that is not in memory.
    capabilities: Option<ModelCapabilities>,
}

/// What a model can do.
#[derive(Debug, JsonSchema, Serialize)]
#[allow(clippy::struct_excessive_bools, reason = "each is a field of the answer")]
struct ModelCapabilities {
    text: bool,
    image: bool,
    audio: bool,
    video: bool,
    /// Whether log-probabilities are reported with the texts of their tokens.
    logprobs: bool,
    /// Whether texts are scored.
    score: bool,
    /// Whether its prompts show tools; `null` where it does not report its prompts.
    tools: Option<bool>,
    /// Whether its prompts are shown.
    prompt: bool,
    /// Whether a reply may begin with a given text, and be continued.
    prefix: bool,
}

impl ModelCapabilities {
    fn of(model: &OpenedModel) -> Self {
        let takes = |kind: MediaKind| model.media.contains(&kind);
        let tool = ToolSpec::new(PROBE, "Does nothing.", json!({"type": "object", "properties": {}}));
        let mut preface = Preface::default();
        preface.tools.push(tool);
        let request = Request::new(preface, vec![Message::user("Hi")]);
        // A template may refuse tools.
        let with_tool = model.chat.prompt(&request);
        let plain = model.chat.prompt(&Request::new(Preface::default(), vec![Message::user("Hi")]));
        let has_prompts = plain.is_ok_and(|prompt| prompt.is_some());
        let shows_tools =
            with_tool.is_ok_and(|prompt| prompt.is_some_and(|prompt| prompt.rendered.contains(PROBE)));
        Self {
            text: true,
            image: takes(MediaKind::Image),
            audio: takes(MediaKind::Audio),
            video: takes(MediaKind::Video),
            logprobs: model.has_tokens(),
            score: model.scores,
            tools: has_prompts.then_some(shows_tools),
            prompt: has_prompts,
            prefix: model.chat.takes_beginnings(),
        }
    }
}

pub(super) fn routes() -> Router<App> {
    Router::new().route("/v1/alloquy/page", get(about))
}

pub(super) fn operations() -> Vec<Operation> {
    vec![
        Operation::get("/v1/alloquy/page", "Returns the models with what they can do, and what else is on.")
            .answer::<PageObject>(),
    ]
}

async fn about(State(app): State<App>) -> Json<PageObject> {
    let mut models = Vec::new();
    for status in app.models().list() {
        models.push(PageModel {
            id: status.model.name().to_owned(),
            aliases: status.model.aliases().to_vec(),
            loaded: status.is_loaded,
            context_length: status.context_length,
            capabilities: app.models().loaded(status.model.name()).as_ref().map(ModelCapabilities::of),
        });
    }
    Json(PageObject {
        object: "page",
        name: "Alloquy",
        version: env!("CARGO_PKG_VERSION"),
        models,
        embeddings: app.embedders().list().iter().map(|one| one.name().to_owned()).collect(),
        rerankers: app.rerankers().list().iter().map(|one| one.name().to_owned()).collect(),
        prompts: app.prompts().is_some(),
        flows: !app.flows().now().is_empty(),
        tools: !app.tools().all().is_empty(),
        keys: app.has_keys(),
    })
}
