//! `/v1/completions` of TensorRT-LLM, which refuses fields that it does not know.

use alloquy_core::Result;
use alloquy_core::grammar::Grammar;
use alloquy_core::sampling::PenaltyScope;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::completions::common;
use super::grammars::choice_as_regex;
use super::ignored::{Counted, Effects};
use crate::wire::{Adapter, Ask, no_grammar};

/// Log-probabilities are by the texts of tokens, so they are not requested.
pub(crate) const EFFECTS: Effects = Effects {
    further: &["suppress", "logit_bias", "top_k", "min_p", "repetition_penalty", "seed"],
    repetition: Counted::PromptAndReply,
    presence: Counted::Chosen,
};

pub(crate) fn body(ask: &Ask<'_>) -> Result<Value> {
    let mut body = common(ask);
    // Without texts it sends ids.
    body.insert("detokenize".to_owned(), json!(false));
    // Only these counts have the cached tokens with the first token.
    let counts = json!({"include_usage": true, "continuous_usage_stats": true});
    body.insert("stream_options".to_owned(), counts);
    let is_prompt_counted = ask.sampling.penalty_scope == Some(PenaltyScope::PromptAndReply);
    let before = ask.prompt.len().saturating_sub(ask.replied);
    let ignored = if is_prompt_counted { 0 } else { before };
    body.insert("prompt_ignore_length".to_owned(), json!(ignored));
    if let Some(Adapter::Named(path)) = ask.adapter {
        let adapter = json!({"lora_name": path, "lora_int_id": number(path), "lora_path": path});
        body.insert("lora_request".to_owned(), adapter);
    }
    if let Some(grammar) = ask.grammar {
        body.insert("response_format".to_owned(), response_format(grammar)?);
    }
    Ok(Value::Object(body))
}

/// Returns the number by which the server keeps an adapter: equal for equal paths, and positive.
fn number(path: &str) -> u32 {
    let digest = Sha256::digest(path.as_bytes());
    let number = digest.iter().take(4).fold(0, |number: u32, byte| number << 8 | u32::from(*byte));
    (number >> 1).max(1)
}

fn response_format(grammar: &Grammar) -> Result<Value> {
    match grammar {
        Grammar::JsonSchema(schema) => Ok(json!({"type": "json_schema", "json_schema": {"schema": schema}})),
        Grammar::Regex(regex) => Ok(json!({"type": "regex", "regex": regex})),
        Grammar::Choice(texts) => Ok(json!({"type": "regex", "regex": choice_as_regex(texts)})),
        _ => Err(no_grammar("trtllm", "JSON Schemas, regular expressions and choices")),
    }
}
