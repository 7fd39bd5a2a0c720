//! `/v1/chat/completions`: OpenAI's Chat Completions, stateless or stored.

mod chunks;
mod identity;
mod messages;
mod request;
mod response;
mod stored;

use std::time::SystemTime;

use alloquy_core::manager::NewConversation;
use alloquy_core::{Conversation, ConversationManager as _, Manager};
use axum::extract::State;
use axum::response::IntoResponse;
use axum::routing::get;
use axum::{Json, Router};

use crate::app::App;
use crate::body::JsonBody;
use crate::caller::Caller;
use crate::error::{ApiError, ApiResult};
use crate::logprobs::must_have_tokens;
use crate::models::ModelLease;
use crate::reply_report::complete;
use crate::streaming;
use crate::times::unix_seconds;
use chunks::ChunkWriter;
use identity::METADATA;
use request::{ChatRequest, Storing};
use response::Completion;

pub(crate) fn routes() -> Router<App> {
    Router::new()
        .route("/v1/chat/completions", get(stored::list).post(create))
        .route("/v1/chat/completions/{id}", get(stored::one).post(stored::update).delete(stored::delete))
        .route("/v1/chat/completions/{id}/messages", get(stored::messages))
}

/// The conversation of a request, and whether it is stored.
struct Opened {
    manager: Manager,
    conversation: Conversation,
    storing: Storing,
}

/// Answers a list of messages.
async fn create(State(app): State<App>, caller: Caller, body: JsonBody<ChatRequest>) -> ApiResult {
    let JsonBody(request) = body;
    let mut asked = request.asked(app.media())?;
    let place = app.admit(&caller).await?;
    let model = app.model(asked.model.as_deref()).await?;
    if asked.logprobs {
        must_have_tokens("logprobs", &model)?;
    }
    let turn = app.turn(std::mem::take(&mut asked.turn), &model, &caller)?;
    let manager = match asked.storing {
        Storing::Stored => app.manager(&model, &caller),
        Storing::Temporary => app.temporary_manager(&model, &caller)?,
    };
    let mut new = NewConversation::from(asked.preface);
    if asked.storing == Storing::Stored {
        let metadata = serde_json::json!({"model": model.name(), "metadata": asked.metadata});
        new = new.metadata(METADATA, metadata);
    }
    let conversation = manager.create(new).await?;
    let turn = conversation.send(turn);
    let completion = completion(&model, &conversation, asked.storing);
    let opened = Opened { manager, conversation, storing: asked.storing };
    let Some(options) = asked.stream else {
        let answered = turn.await.map_err(ApiError::from).and_then(complete);
        let reply = or_removed(answered, &opened).await?;
        return Ok(Json(completion.whole(&reply, model.opened(), asked.logprobs)).into_response());
    };
    let writer = ChunkWriter::new(completion, model.opened().clone(), asked.logprobs, options);
    let held = (model, place);
    let response = streaming::respond(turn, writer, app.limits(), held).await;
    or_removed(response, &opened).await
}

fn completion(model: &ModelLease, conversation: &Conversation, storing: Storing) -> Completion {
    Completion {
        id: conversation.id().clone(),
        created: unix_seconds(SystemTime::now()),
        model: model.name().to_owned(),
        is_stored: storing == Storing::Stored,
    }
}

/// Removes a stored conversation to which the model has added nothing, because the request was refused.
async fn or_removed<T>(outcome: ApiResult<T>, opened: &Opened) -> ApiResult<T> {
    if outcome.is_err() && opened.storing == Storing::Stored && is_empty(&opened.conversation).await {
        let removed = opened.manager.delete(opened.conversation.id()).await;
        if let Err(error) = removed {
            tracing::warn!(error = format!("{error:#}"), "the conversation of a refused request stays");
        }
    }
    outcome
}

async fn is_empty(conversation: &Conversation) -> bool {
    conversation.nodes().await.is_ok_and(|nodes| nodes.is_empty())
}
