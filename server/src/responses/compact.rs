//! `/v1/responses/compact`: the messages of the user, and a summary of everything in the place of the rest.

use std::time::SystemTime;

use alloquy_core::{Message, Node, NodeId, Role};
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::media::load_media;
use super::object::ResponseUsage;
use super::place::{Place, managers};
use super::request::{Asked, ResponseRequest};
use crate::app::App;
use crate::body::JsonBody;
use crate::caller::Caller;
use crate::error::{ApiError, ApiResult};
use crate::items::{GivenItem, Input, Item, SUMMARY_PREFIX, Shown};
use crate::models::ModelLease;
use crate::reply_report::{ReplyReport, complete};
use crate::times::unix_seconds;

/// What the model is to do.
const INSTRUCTION: &str = "Summarise this conversation for yourself, because you will continue it without its replies. Use the language \
in which it is held. Keep what was asked and what is still to be done, what was found and decided, and all names, numbers and results of \
tools that may matter. Write the summary alone.";

/// A conversation that is to become shorter.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(super) struct CompactRequest {
    #[schemars(with = "Option<Input>")]
    input: Option<Value>,
    /// The system prompt while the summary is written.
    instructions: Option<String>,
    model: Option<String>,
    previous_response_id: Option<String>,
    /// Names those who share a prompt. Prompts are found by their tokens here, so it changes nothing.
    #[serde(rename = "prompt_cache_key")]
    _prompt_cache_key: Option<String>,
    service_tier: Option<String>,
}

/// A conversation that became shorter. It is not stored.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct CompactedResponse {
    id: String,
    object: &'static str,
    created_at: u64,
    /// The messages of the user, and then one item of the type `compaction`.
    output: Vec<Item>,
    usage: ResponseUsage,
    alloquy: Value,
}

impl CompactRequest {
    fn asked(self, app: &App) -> ApiResult<Asked> {
        if self.input.is_none() && self.previous_response_id.is_none() {
            let message = "input and previous_response_id are missing, so there is nothing to compact";
            return Err(ApiError::invalid("input", message));
        }
        let has_input = self.input.is_some();
        let mut request = ResponseRequest::default();
        request.input = self.input;
        request.instructions = self.instructions;
        request.model = self.model;
        request.previous_response_id = self.previous_response_id;
        request.service_tier = self.service_tier;
        request.store = Some(false);
        let items = if has_input { request.items()? } else { Vec::new() };
        let is_approval = |item: &GivenItem| matches!(item, GivenItem::McpApprovalResponse(_));
        if let Some(index) = items.iter().position(is_approval) {
            let place = format!("input[{index}]");
            let message = format!("{place}: an approval is answered by a response, and nothing runs here");
            return Err(ApiError::unsupported(place, message));
        }
        request.asked_with(items, unix_seconds(SystemTime::now()), app.tools())
    }
}

/// `POST /v1/responses/compact`
pub(super) async fn compact(
    State(app): State<App>,
    caller: Caller,
    JsonBody(request): JsonBody<CompactRequest>,
) -> ApiResult<Json<CompactedResponse>> {
    let asked = request.asked(&app)?;
    let _held = app.admit(&caller).await?;
    let model = app.model(asked.model.as_deref()).await?;
    let (stored, temporary) = managers(&asked, &app, &model, &caller)?;
    let place = Place::open(&asked, &app, &caller, stored, temporary).await?;
    let messages = place.given_messages(&asked, None, &app, &caller).await?;
    let users = users(&place, &messages, &app, &caller).await?;
    summarised(&place, &asked, messages, users, &app, &model, &caller).await
}

/// Returns the items of all messages of the user.
async fn users(place: &Place, messages: &[Message], app: &App, caller: &Caller) -> ApiResult<Vec<Item>> {
    let mut nodes = place.path().await?;
    nodes.retain(|node| node.message.role == Role::User);
    load_media(&mut nodes, true, app, caller).await?;
    let given = messages.iter().filter(|message| message.role == Role::User);
    nodes.extend(given.map(|message| Node::new(None, message.clone())));
    let shown = Shown { conversation: place.conversation.id(), images: true };
    let mut items = Vec::new();
    for node in &nodes {
        shown.push_given(node, &mut items)?;
    }
    Ok(items)
}

/// Lets the model write the summary, and returns it after the messages of the user.
async fn summarised(
    place: &Place,
    asked: &Asked,
    mut messages: Vec<Message>,
    mut output: Vec<Item>,
    app: &App,
    model: &ModelLease,
    caller: &Caller,
) -> ApiResult<Json<CompactedResponse>> {
    if messages.is_empty() && output.is_empty() {
        let message = "the conversation has no message of the user, so there is nothing to compact";
        return Err(ApiError::invalid("input", message));
    }
    place.note_system(&messages).await?;
    messages.push(Message::user(INSTRUCTION));
    let turn = place.instructed(asked.turn(messages.clone()), asked, &messages);
    let turn = place.put(app.turn(turn, model, caller)?);
    let reply = complete(place.conversation.send(turn).await?)?;
    let summary = reply.text();
    if summary.trim().is_empty() {
        let message = format!("the model {:?} wrote no summary: try again, or another model", model.name());
        return Err(ApiError::new(StatusCode::BAD_GATEWAY, message).code("no_summary"));
    }
    let id = NodeId::new();
    output.push(Item::Compaction {
        id: format!("cmp_{id}"),
        encrypted_content: format!("{SUMMARY_PREFIX}{}", URL_SAFE_NO_PAD.encode(summary.trim())),
    });
    let usage = ResponseUsage::from(reply.reply.usage);
    let report = ReplyReport::of(&reply.reply, None);
    Ok(Json(CompactedResponse {
        id: format!("compaction_{id}"),
        object: "response.compaction",
        created_at: unix_seconds(SystemTime::now()),
        output,
        usage,
        alloquy: report.json(),
    }))
}
