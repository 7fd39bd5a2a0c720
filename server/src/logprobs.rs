//! The log-probabilities of a reply, with the texts of their tokens.

use alloquy_core::sampling::{TokenLogprob, TokenLogprobs};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

use crate::error::{ApiError, ApiResult};
use crate::models::{ModelLease, OpenedModel};

/// A token with its log-probability.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct ScoredToken {
    pub(crate) id: u32,
    /// What the token adds to a text; `null` where the model has no texts of tokens.
    pub(crate) text: Option<String>,
    /// The bytes, where they are not whole characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) bytes: Option<Vec<u8>>,
    /// The natural logarithm of its probability.
    pub(crate) logprob: f32,
}

/// A sampled token with the most probable ones at its place.
#[derive(Debug, JsonSchema, Serialize)]
pub(crate) struct SampledToken {
    #[serde(flatten)]
    sampled: ScoredToken,
    /// The most probable ones, the best first.
    top_logprobs: Vec<ScoredToken>,
}

impl ScoredToken {
    pub(crate) fn of(token: &TokenLogprob, model: &OpenedModel) -> Self {
        let (text, bytes) = text_and_bytes(model, token.token);
        Self { id: token.token, text, bytes, logprob: token.logprob }
    }
}

/// Returns what a token adds to a text, and its bytes where those are not whole characters.
pub(crate) fn text_and_bytes(model: &OpenedModel, token: u32) -> (Option<String>, Option<Vec<u8>>) {
    if !model.has_tokens() {
        return (None, None);
    }
    let bytes = model.token_bytes(token);
    match String::from_utf8(bytes) {
        Ok(text) => (Some(text), None),
        Err(broken) => {
            let text = String::from_utf8_lossy(broken.as_bytes()).into_owned();
            (Some(text), Some(broken.into_bytes()))
        }
    }
}

/// Returns the sampled tokens with their ids, each with the most probable ones.
pub(crate) fn sampled(logprobs: &[TokenLogprobs], model: &OpenedModel) -> Vec<SampledToken> {
    let mut tokens = Vec::with_capacity(logprobs.len());
    for token in logprobs {
        tokens.push(SampledToken {
            sampled: ScoredToken::of(&token.sampled, model),
            top_logprobs: token.top.iter().map(|token| ScoredToken::of(token, model)).collect(),
        });
    }
    tokens
}

/// How many tokens are reported beside each sampled one at most.
const TOP: usize = 20;

/// Returns the sampled tokens, each with the most probable ones.
pub(crate) fn tokens(logprobs: &[TokenLogprobs], model: &OpenedModel) -> Vec<Value> {
    let mut tokens = Vec::with_capacity(logprobs.len());
    for token in logprobs {
        let mut sampled = one(&token.sampled, model);
        let top: Vec<Value> = token.top.iter().map(|token| one(token, model)).collect();
        if let Value::Object(fields) = &mut sampled {
            fields.insert("top_logprobs".to_owned(), top.into());
        }
        tokens.push(sampled);
    }
    tokens
}

fn one(token: &TokenLogprob, model: &OpenedModel) -> Value {
    let bytes = model.token_bytes(token.token);
    json!({"token": String::from_utf8_lossy(&bytes), "logprob": token.logprob, "bytes": bytes})
}

/// Checks how many tokens are wanted beside each sampled one.
pub(crate) fn check_top(top: Option<usize>) -> ApiResult<()> {
    match top.filter(|top| *top > TOP) {
        Some(top) => {
            let message = format!("top_logprobs is {top}, expected 0 to {TOP}");
            Err(ApiError::invalid("top_logprobs", message))
        }
        None => Ok(()),
    }
}

/// Checks that the texts of a model's tokens are known.
pub(crate) fn must_have_tokens(param: &'static str, model: &ModelLease) -> ApiResult<()> {
    if model.opened().has_tokens() {
        return Ok(());
    }
    let message = format!("{param}: the model {:?} has no texts of tokens", model.name());
    Err(ApiError::unsupported(param, message))
}
