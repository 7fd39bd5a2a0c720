//! `/v1/chat/completions`: OpenAI's Chat Completions, stateless or stored.

mod chunks;
mod identity;
pub(crate) mod messages;
mod request;
mod response;
mod schemas;
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
use crate::client_tools::ClientTools;
use crate::deleted_object::DeletedObject;
use crate::error::{ApiError, ApiResult};
use crate::logprobs::must_have_tokens;
use crate::models::ModelLease;
use crate::operation::Operation;
use crate::paging::PageParameters;
use crate::reply_report::complete;
use crate::streaming;
use crate::times::unix_seconds;
use crate::turn_options::MetadataChange;
use chunks::ChunkWriter;
use identity::METADATA;
use request::{ChatRequest, Storing};
use response::Completion;
use schemas::{ChatCompletion, CompletionList, CompletionListParameters, MessageList};

pub(crate) fn routes() -> Router<App> {
    Router::new()
        .route("/v1/chat/completions", get(stored::list).post(create))
        .route("/v1/chat/completions/{id}", get(stored::one).post(stored::update).delete(stored::delete))
        .route("/v1/chat/completions/{id}/messages", get(stored::messages))
}

pub(crate) fn operations() -> Vec<Operation> {
    let all = "/v1/chat/completions";
    let one = "/v1/chat/completions/{id}";
    vec![
        Operation::post(all, "Answers a list of messages, whole or as a stream.")
            .body::<ChatRequest>()
            .answer::<ChatCompletion>()
            .events(),
        Operation::get(all, "Lists the stored completions.")
            .query::<CompletionListParameters>()
            .answer::<CompletionList>(),
        Operation::get(one, "Returns a stored completion.").answer::<ChatCompletion>(),
        Operation::post(one, "Replaces the metadata of a stored completion.")
            .body::<MetadataChange>()
            .answer::<ChatCompletion>(),
        Operation::delete(one, "Deletes a stored completion with its conversation.")
            .answer::<DeletedObject>(),
        Operation::get("/v1/chat/completions/{id}/messages", "Lists the messages that were sent.")
            .query::<PageParameters>()
            .answer::<MessageList>(),
    ]
}

/// The stored conversation of a request.
struct Opened {
    manager: Manager,
    conversation: Conversation,
}

/// The stored conversation of a request whose reply has not ended. If it is dropped so, because the client has left, the conversation
/// is removed unless the reply had begun.
struct Unfinished(Option<Opened>);

impl Unfinished {
    /// Keeps the conversation of a reply, and removes that of a request that was refused.
    async fn ended<T>(mut self, outcome: ApiResult<T>) -> ApiResult<T> {
        if let (Some(opened), Err(_)) = (self.0.take(), &outcome) {
            opened.remove_unanswered().await;
        }
        outcome
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        if let Some(opened) = self.0.take() {
            tokio::spawn(opened.remove_unanswered());
        }
    }
}

/// Answers a list of messages.
async fn create(State(app): State<App>, caller: Caller, body: JsonBody<ChatRequest>) -> ApiResult {
    let JsonBody(request) = body;
    let mut asked = app.read(move |media| request.asked(media)).await?;
    let place = app.admit(&caller).await?;
    let model = app.model(asked.model.as_deref()).await?;
    if asked.logprobs {
        must_have_tokens("logprobs", &model)?;
    }
    let turn = std::mem::take(&mut asked.turn);
    let (turn, manager) = match asked.storing {
        Storing::Stored => (app.stored_turn(turn, &model, &caller)?, app.manager(&model, &caller)),
        Storing::Temporary => (app.turn(turn, &model, &caller)?, app.temporary_manager(&model, &caller)?),
    };
    let tools = ClientTools::of(&asked.preface);
    let mut new = NewConversation::from(asked.preface);
    if asked.storing == Storing::Stored {
        let metadata = serde_json::json!({"model": model.name(), "metadata": asked.metadata});
        new = new.metadata(METADATA, metadata);
    }
    let conversation = manager.create(new).await?;
    let turn = conversation.send(turn);
    let completion = completion(&model, &conversation, asked.storing, tools);
    let stored = (asked.storing == Storing::Stored).then_some(Opened { manager, conversation });
    let Some(options) = asked.stream else {
        let unfinished = Unfinished(stored);
        let answered = turn.await.map_err(ApiError::from).and_then(complete);
        let reply = unfinished.ended(answered).await?;
        return Ok(Json(completion.whole(&reply, model.opened(), asked.logprobs)).into_response());
    };
    let writer = ChunkWriter::new(completion, model.opened().clone(), asked.logprobs, options);
    let held = (model, place);
    let otherwise = async move {
        if let Some(opened) = stored {
            opened.remove_unanswered().await;
        }
    };
    streaming::respond_or(streaming::PlainTurn(turn), writer, app.limits(), held, otherwise).await
}

fn completion(
    model: &ModelLease,
    conversation: &Conversation,
    storing: Storing,
    tools: ClientTools,
) -> Completion {
    Completion {
        id: conversation.id().clone(),
        created: unix_seconds(SystemTime::now()),
        model: model.name().to_owned(),
        is_stored: storing == Storing::Stored,
        tools,
    }
}

impl Opened {
    /// Removes the conversation if the model has added nothing to it: without a reply, there is no completion.
    async fn remove_unanswered(self) {
        let nodes = self.conversation.nodes().await;
        let is_unanswered = nodes.is_ok_and(|nodes| nodes.iter().all(|node| node.reply.is_none()));
        if !is_unanswered {
            return;
        }
        if let Err(error) = self.manager.delete(self.conversation.id()).await {
            tracing::warn!(error = format!("{error:#}"), "the conversation of a refused request stays");
        }
    }
}
