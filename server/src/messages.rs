//! `/v1/messages`: Anthropic's Messages, whole or streamed, and the number of their tokens. Nothing is stored.

mod blocks;
mod events;
mod request;
mod response;
mod tools;

use alloquy_core::manager::NewConversation;
use axum::extract::State;
use axum::response::IntoResponse;
use axum::routing::post;
use axum::{Json, Router};

use crate::app::App;
use crate::body::JsonBody;
use crate::caller::Caller;
use crate::client_tools::ClientTools;
use crate::error::{ApiError, ApiResult};
use crate::error_form::AnthropicErrorBody;
use crate::operation::Operation;
use crate::reply_report::complete;
use crate::streaming;
use events::EventWriter;
use request::{CountRequest, MessagesRequest};
use response::{Heading, MessageObject, TokenCount};

pub(crate) fn routes() -> Router<App> {
    Router::new().route("/v1/messages", post(create)).route("/v1/messages/count_tokens", post(count_tokens))
}

pub(crate) fn operations() -> Vec<Operation> {
    vec![
        Operation::post("/v1/messages", "Answers a list of messages, whole or as a stream.")
            .body::<MessagesRequest>()
            .answer::<MessageObject>()
            .events()
            .errors::<AnthropicErrorBody>(),
        Operation::post("/v1/messages/count_tokens", "Counts the tokens of a prompt.")
            .body::<CountRequest>()
            .answer::<TokenCount>()
            .errors::<AnthropicErrorBody>(),
    ]
}

/// Answers a list of messages.
async fn create(State(app): State<App>, caller: Caller, body: JsonBody<MessagesRequest>) -> ApiResult {
    let JsonBody(request) = body;
    let asked = app.read(move |media| request.asked(media)).await?;
    let place = app.admit(&caller).await?;
    let model = app.model(asked.model.as_deref()).await?;
    let turn = app.turn(asked.turn, &model, &caller)?;
    let manager = app.temporary_manager(&model, &caller)?;
    let tools = ClientTools::of(&asked.preface);
    let conversation = manager.create(NewConversation::from(asked.preface)).await?;
    let heading = Heading {
        conversation: conversation.id().clone(),
        model: model.name().to_owned(),
        hides_thinking: asked.hides_thinking,
        is_compared: asked.is_compared,
        tools,
    };
    let turn = conversation.send(turn);
    if asked.is_streamed {
        return streaming::respond(turn, EventWriter::new(heading), app.limits(), (model, place)).await;
    }
    let reply = complete(turn.await?)?;
    Ok(Json(heading.whole(&reply)).into_response())
}

/// Counts the tokens of a prompt, with the template of the model, and computes nothing of it.
async fn count_tokens(
    State(app): State<App>,
    caller: Caller,
    body: JsonBody<CountRequest>,
) -> ApiResult<Json<TokenCount>> {
    let JsonBody(request) = body;
    let asked = app.read(move |media| request.asked(media)).await?;
    let _place = app.admit(&caller).await?;
    let model = app.model(asked.model.as_deref()).await?;
    let manager = app.temporary_manager(&model, &caller)?;
    let conversation = manager.create(NewConversation::from(asked.preface)).await?;
    match conversation.prompt(asked.turn).await? {
        Some(prompt) => Ok(Json(TokenCount { input_tokens: prompt.positions() })),
        None => {
            let message = format!(
                "model: {:?} does not report its prompts, so their tokens are not counted",
                model.name()
            );
            Err(ApiError::unsupported("model", message))
        }
    }
}
