//! The alternatives of a token of a stored reply, which the model computes afterwards.

use std::collections::BTreeMap;

use alloquy_core::chat_model::ReplyBeginning;
use alloquy_core::sampling::TokenLogprobs;
use alloquy_core::tokenizer::TokenId;
use alloquy_core::{
    Conversation, ConversationManager as _, Manager, Node, NodeId, SamplingOptions, TurnRequest,
};
use axum::Json;
use axum::extract::State;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::identity::{node as found, opened, shown};
use crate::app::App;
use crate::body::{JsonBody, PathOf};
use crate::caller::Caller;
use crate::error::{ApiError, ApiResult};
use crate::logprobs::{SampledToken, check_top, must_have_tokens, sampled};
use crate::models::ModelLease;
use crate::reply_report::complete;

/// How many tokens are reported unless it is said.
const USUAL: usize = 8;
/// What is added to the logit of a token that is to be drawn. Reported are the log-probabilities before it.
const CERTAIN: f32 = 1e6;

/// A place in a reply.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct NewAlternatives {
    /// The model, which has to be that of the reply; the first one unless it is given.
    #[serde(default)]
    model: Option<String>,
    /// The reply: its id or a part of it, its position, a bookmark, or `head`.
    node: String,
    /// The place of the token among those of the reply, from 0.
    place: usize,
    /// How many of the most probable tokens are reported, 1 to 20; 8 unless it is given.
    #[serde(default)]
    top_logprobs: Option<usize>,
}

/// The most probable tokens at a place.
#[derive(Debug, JsonSchema, Serialize)]
pub(super) struct AlternativesObject {
    object: &'static str,
    /// The conversation.
    conversation: String,
    /// The reply.
    node: String,
    model: String,
    /// The place of the token among those of the reply, from 0.
    place: usize,
    /// The token of the reply, with the most probable ones.
    token: SampledToken,
}

impl NewAlternatives {
    fn top(&self) -> ApiResult<usize> {
        check_top(self.top_logprobs)?;
        match self.top_logprobs {
            Some(0) => Err(ApiError::invalid("top_logprobs", "top_logprobs is 0, expected 1 to 20")),
            top => Ok(top.unwrap_or(USUAL)),
        }
    }

    /// Returns the ids before the place, and the one at it.
    ///
    /// # Errors
    /// 400 for a node whose ids are not stored, and for a place that it does not have.
    fn of(&self, node: &Node) -> ApiResult<(Vec<TokenId>, TokenId)> {
        if node.reply.is_none() || node.tokens.is_empty() {
            let message = format!(
                "the ids of the node {} are not stored: it has to be a reply of a local model",
                node.id
            );
            return Err(ApiError::unsupported("node", message));
        }
        let Some(token) = node.tokens.get(self.place) else {
            let last = node.tokens.len().saturating_sub(1);
            let message = format!("place is {}, expected 0 to {last}", self.place);
            return Err(ApiError::invalid("place", message));
        };
        let before = node.tokens.iter().take(self.place).copied().collect();
        Ok((before, *token))
    }
}

/// Copies the path before a reply into memory, so that nothing is stored of what is asked there.
async fn copied(
    stored: &Manager,
    temporary: &Manager,
    conversation: &Conversation,
    at: Option<NodeId>,
) -> ApiResult<Conversation> {
    let mut archive = stored.export(conversation.id()).await?;
    let path = match at {
        Some(at) => conversation.path(at).await?,
        None => Vec::new(),
    };
    archive.nodes.retain(|node| path.iter().any(|other| other.id == node.id));
    archive.record.head = at;
    Ok(temporary.import(&archive).await?)
}

/// Returns the turn that draws exactly one token at the place.
fn one_token(node: &Node, before: Vec<TokenId>, token: TokenId, top: usize) -> TurnRequest {
    let sampling = SamplingOptions {
        temperature: Some(0.0),
        max_tokens: Some(1),
        logprobs: Some(top),
        logit_bias: BTreeMap::from([(token, CERTAIN)]),
        ..SamplingOptions::default()
    };
    let mut ask = TurnRequest::default().at(node.parent).sampling(sampling);
    if !before.is_empty() {
        ask = ask.beginning(ReplyBeginning::Tokens(before));
    }
    let system_prompt = node.reply.as_ref().and_then(|facts| facts.system_prompt.clone());
    match system_prompt {
        Some(text) => ask.system_prompt(text),
        None => ask,
    }
}

/// Checks that ids are those of a model.
fn must_be_of(node: &Node, model: &ModelLease) -> ApiResult<()> {
    if node.model().is_some_and(|name| model.opened().chat.names().contains(&name)) {
        return Ok(());
    }
    let message = format!(
        "the reply is one of the model {:?}, whose ids mean nothing to {:?}: name its model",
        node.model().unwrap_or_default(),
        model.name()
    );
    Err(ApiError::unsupported("model", message))
}

fn not_reported(model: &str) -> ApiError {
    let message = format!("the model {model:?} does not report how likely this token was");
    ApiError::unsupported("node", message)
}

/// `POST /v1/alloquy/conversations/{id}/alternatives`
pub(super) async fn alternatives(
    State(app): State<App>,
    caller: Caller,
    PathOf(id): PathOf<String>,
    JsonBody(new): JsonBody<NewAlternatives>,
) -> ApiResult<Json<AlternativesObject>> {
    let top = new.top()?;
    let conversation = opened(&app, &caller, &id).await?;
    let node = found(&conversation, &new.node, "node").await?;
    let node = app.store().load_node(&caller.owner, conversation.id(), node).await?;
    let (before, token) = new.of(&node)?;
    let admitted = app.admit(&caller).await?;
    let model = app.model(new.model.as_deref()).await?;
    must_be_of(&node, &model)?;
    must_have_tokens("node", &model)?;
    let temporary = app.temporary_manager(&model, &caller)?;
    let copy = copied(&app.conversations(&caller), &temporary, &conversation, node.parent).await?;
    let ask = app.turn(one_token(&node, before, token, top), &model, &caller)?;
    let reply = complete(copy.complete(ask).await?)?;
    drop(admitted);
    let scored: Vec<TokenLogprobs> = reply.reply.logprobs.iter().take(1).cloned().collect();
    let is_it = scored.first().is_some_and(|scored| scored.sampled.token == token);
    let found = sampled(&scored, model.opened()).pop().filter(|_| is_it);
    let Some(found) = found else { return Err(not_reported(model.name())) };
    Ok(Json(AlternativesObject {
        object: "alternatives",
        conversation: shown(conversation.id()),
        node: node.id.to_string(),
        model: model.name().to_owned(),
        place: new.place,
        token: found,
    }))
}
