//! `/v1/completions` of vLLM.

use alloquy_core::Result;
use alloquy_core::grammar::Grammar;
use alloquy_core::sampling::TokenLogprob;
use alloquy_core::tokenizer::TokenId;
use serde_json::{Value, json};

use super::completions::common;
use super::ignored::{Counted, Effects};
use crate::wire::{Ask, logprob, no_grammar, unreadable};

pub(crate) const EFFECTS: Effects = Effects {
    further: &["suppress", "logit_bias", "top_k", "min_p", "repetition_penalty", "seed", "logprobs"],
    repetition: Counted::PromptAndReply,
    presence: Counted::Reply,
};

pub(crate) fn body(ask: &Ask<'_>) -> Result<Value> {
    let mut body = common(ask);
    body.insert("return_token_ids".to_owned(), json!(true));
    if let Some(logprobs) = ask.sampling.logprobs {
        body.insert("logprobs".to_owned(), json!(logprobs));
        // Otherwise they are by text, which two tokens may share.
        body.insert("return_tokens_as_token_ids".to_owned(), json!(true));
    }
    if let Some(salt) = ask.salt {
        body.insert("cache_salt".to_owned(), json!(salt));
    }
    if let Some(priority) = ask.priority {
        body.insert("priority".to_owned(), json!(priority));
    }
    if let Some(grammar) = ask.grammar {
        body.insert("structured_outputs".to_owned(), structured_outputs(grammar)?);
    }
    Ok(Value::Object(body))
}

/// Writes a request for the log-probability of each token of `ids`.
pub(crate) fn score_body(model: &str, ids: &[TokenId], salt: Option<&str>) -> Value {
    let mut body = json!({
        "model": model,
        "prompt": ids,
        // No server computes a prompt without generating.
        "max_tokens": 1,
        "temperature": 0.0,
        "prompt_logprobs": 0,
        "add_special_tokens": false,
        "stream": false,
    });
    if let (Some(salt), Some(fields)) = (salt, body.as_object_mut()) {
        fields.insert("cache_salt".to_owned(), json!(salt));
    }
    body
}

/// Reads the log-probabilities of `ids` after the first `known` ones: for each place, a map from the id as a text.
pub(crate) fn scores(answer: &Value, ids: &[TokenId], known: usize) -> Result<Vec<TokenLogprob>> {
    let mut scores = Vec::new();
    for (place, id) in ids.iter().enumerate().skip(known) {
        let found = answer.pointer(&format!("/choices/0/prompt_logprobs/{place}/{id}/logprob"));
        let Some(found) = found.filter(|found| found.is_number()) else {
            let place = json!(format!("nothing for token {id} at {place}"));
            return Err(unreadable("the log-probabilities of a prompt", &place));
        };
        scores.push(TokenLogprob::new(*id, logprob(found)));
    }
    Ok(scores)
}

fn structured_outputs(grammar: &Grammar) -> Result<Value> {
    match grammar {
        Grammar::JsonSchema(schema) => Ok(json!({"json": schema})),
        Grammar::Regex(regex) => Ok(json!({"regex": regex})),
        Grammar::Choice(texts) => Ok(json!({"choice": texts})),
        Grammar::Lark(lark) => Ok(json!({"grammar": lark})),
        _ => Err(no_grammar("vllm", "JSON Schemas, regular expressions, choices and Lark grammars")),
    }
}
