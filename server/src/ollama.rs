//! `/api`: Ollama's protocol. Nothing is stored, and models are neither pulled nor created.

mod embed;
mod lines;
mod messages;
mod models;
mod options;
mod reply;
mod request;
mod served_name;

use std::time::Instant;

use alloquy_core::manager::NewConversation;
use axum::extract::State;
use axum::response::IntoResponse;
use axum::routing::{get, post};
use axum::{Json, Router};
use serde_json::{Map, Value};

use crate::app::App;
use crate::body::JsonBody;
use crate::caller::Caller;
use crate::client_tools::ClientTools;
use crate::error::{ApiError, ApiResult};
use crate::error_form::OllamaErrorBody;
use crate::operation::Operation;
use crate::reply_report::complete;
use crate::streaming;
use lines::LineWriter;
use reply::{Form, Heading, ReplyObject};
use request::{Asked, ChatBody, GenerateBody};
use served_name::served_name;

pub(crate) fn routes() -> Router<App> {
    Router::new()
        .route("/api/chat", post(chat))
        .route("/api/generate", post(generate))
        .route("/api/embed", post(embed::embed))
        .route("/api/tags", get(models::tags))
        .route("/api/ps", get(models::running))
        .route("/api/show", post(models::show))
        .route("/api/version", get(models::version))
}

/// The type of a stream: a line of JSON for each piece.
const LINES: &str = "application/x-ndjson";

pub(crate) fn operations() -> Vec<Operation> {
    let all = [
        Operation::post("/api/chat", "Answers a list of messages, as a stream or whole.")
            .body::<ChatBody>()
            .answer::<ReplyObject>()
            .text(LINES),
        Operation::post("/api/generate", "Answers a prompt, as a stream or whole.")
            .body::<GenerateBody>()
            .answer::<ReplyObject>()
            .text(LINES),
        Operation::post("/api/embed", "Computes vectors of texts.")
            .body::<embed::EmbedBody>()
            .answer::<embed::EmbedReply>(),
        Operation::get("/api/tags", "Lists the models.").answer::<models::ModelList>(),
        Operation::get("/api/ps", "Lists the models in memory.").answer::<models::ModelList>(),
        Operation::post("/api/show", "Returns a model.")
            .body::<models::ShowBody>()
            .answer::<models::ShownModel>(),
        Operation::get("/api/version", "Returns the version of the protocol.").answer::<Map<String, Value>>(),
    ];
    all.map(Operation::errors::<OllamaErrorBody>).to_vec()
}

/// Answers a list of messages.
async fn chat(State(app): State<App>, caller: Caller, body: JsonBody<ChatBody>) -> ApiResult {
    let JsonBody(request) = body;
    let asked = app.read(move |media| request.asked(media)).await?;
    answer(&app, &caller, asked, Form::Chat).await
}

/// Answers a prompt.
async fn generate(State(app): State<App>, caller: Caller, body: JsonBody<GenerateBody>) -> ApiResult {
    let JsonBody(request) = body;
    let asked = app.read(move |media| request.asked(media)).await?;
    answer(&app, &caller, asked, Form::Generate).await
}

async fn answer(app: &App, caller: &Caller, asked: Asked, form: Form) -> ApiResult {
    let start = Instant::now();
    let place = app.admit(caller).await?;
    let model = app.model(Some(&served_name(app, &asked.model))).await?;
    let mut heading = Heading {
        form,
        model: model.name().to_owned(),
        start,
        load: start.elapsed(),
        tools: ClientTools::default(),
    };
    let Some((preface, turn)) = asked.question else {
        // A request without a question loads the model.
        return Ok(Json(heading.loaded()).into_response());
    };
    must_fit(asked.context_length, model.opened().context_length)?;
    heading.tools = ClientTools::of(&preface);
    let turn = app.turn(turn, &model, caller)?;
    let manager = app.temporary_manager(&model, caller)?;
    let conversation = manager.create(NewConversation::from(preface)).await?;
    heading.load = start.elapsed();
    let turn = conversation.send(turn);
    if asked.is_streamed {
        return streaming::respond(turn, LineWriter::new(heading), app.limits(), (model, place)).await;
    }
    let reply = complete(turn.await?)?;
    Ok(Json(heading.whole(&reply)).into_response())
}

/// Checks the length of the context that a request needs. It is set where the model is loaded, not by a request.
fn must_fit(wanted: Option<usize>, has: Option<usize>) -> ApiResult<()> {
    match (wanted, has) {
        (Some(wanted), Some(has)) if wanted > has => {
            let message = format!(
                "options.num_ctx is {wanted}, and the context of this model has {has} tokens: at most {has}, or leave it out"
            );
            Err(ApiError::unsupported("options.num_ctx", message))
        }
        _ => Ok(()),
    }
}
