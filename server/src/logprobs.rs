//! The log-probabilities of a reply, with the texts of their tokens.

use alloquy_core::sampling::{TokenLogprob, TokenLogprobs};
use serde_json::{Value, json};

use crate::models::OpenedModel;

/// Returns the field `logprobs` of a choice.
pub(super) fn shown(logprobs: &[TokenLogprobs], model: &OpenedModel) -> Value {
    let mut content = Vec::with_capacity(logprobs.len());
    for token in logprobs {
        let mut sampled = one(&token.sampled, model);
        let top: Vec<Value> = token.top.iter().map(|token| one(token, model)).collect();
        if let Value::Object(fields) = &mut sampled {
            fields.insert("top_logprobs".to_owned(), top.into());
        }
        content.push(sampled);
    }
    json!({"content": content, "refusal": null})
}

fn one(token: &TokenLogprob, model: &OpenedModel) -> Value {
    let bytes = model.token_bytes(token.token);
    json!({"token": String::from_utf8_lossy(&bytes), "logprob": token.logprob, "bytes": bytes})
}
