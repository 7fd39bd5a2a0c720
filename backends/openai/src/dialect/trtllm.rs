//! `/v1/completions` of TensorRT-LLM, which refuses fields that it does not know.

use alloquy_core::Result;
use alloquy_core::grammar::Grammar;
use alloquy_core::sampling::PenaltyScope;
use serde_json::{Value, json};

use super::completions::common;
use super::grammars::choice_as_regex;
use super::ignored::{Counted, Effects};
use crate::wire::{Ask, no_grammar};

/// Log-probabilities are by the texts of tokens, so they are not requested.
pub(crate) const EFFECTS: Effects = Effects {
    further: &["top_k", "min_p", "repetition_penalty", "seed"],
    repetition: Counted::PromptAndReply,
    presence: Counted::Chosen,
};

pub(crate) fn body(ask: &Ask<'_>) -> Result<Value> {
    let mut body = common(ask);
    // Without texts it sends ids.
    body.insert("detokenize".to_owned(), json!(false));
    let is_prompt_counted = ask.sampling.penalty_scope == Some(PenaltyScope::PromptAndReply);
    let ignored = if is_prompt_counted { 0 } else { ask.prompt.len() };
    body.insert("prompt_ignore_length".to_owned(), json!(ignored));
    if let Some(grammar) = ask.grammar {
        body.insert("response_format".to_owned(), response_format(grammar)?);
    }
    Ok(Value::Object(body))
}

fn response_format(grammar: &Grammar) -> Result<Value> {
    match grammar {
        Grammar::JsonSchema(schema) => Ok(json!({"type": "json_schema", "json_schema": {"schema": schema}})),
        Grammar::Regex(regex) => Ok(json!({"type": "regex", "regex": regex})),
        Grammar::Choice(texts) => Ok(json!({"type": "regex", "regex": choice_as_regex(texts)})),
        _ => Err(no_grammar("trtllm", "JSON Schemas, regular expressions and choices")),
    }
}
