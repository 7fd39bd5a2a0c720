//! The log-probabilities of a reply, with the texts of their tokens.

use alloquy_core::sampling::{TokenLogprob, TokenLogprobs};
use serde_json::{Value, json};

use crate::error::{ApiError, ApiResult};
use crate::models::{ModelLease, OpenedModel};

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
