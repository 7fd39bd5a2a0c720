//! `/v1/completions` of vLLM.

use alloquy_core::Result;
use alloquy_core::grammar::Grammar;
use serde_json::{Value, json};

use super::completions::common;
use super::ignored::{Counted, Effects};
use crate::wire::{Ask, no_grammar};

pub(crate) const EFFECTS: Effects = Effects {
    honoured: &[
        "temperature",
        "top_k",
        "top_p",
        "min_p",
        "repetition_penalty",
        "presence_penalty",
        "frequency_penalty",
        "suppress",
        "logit_bias",
        "seed",
        "logprobs",
    ],
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

fn structured_outputs(grammar: &Grammar) -> Result<Value> {
    match grammar {
        Grammar::JsonSchema(schema) => Ok(json!({"json": schema})),
        Grammar::Regex(regex) => Ok(json!({"regex": regex})),
        Grammar::Choice(texts) => Ok(json!({"choice": texts})),
        Grammar::Lark(lark) => Ok(json!({"grammar": lark})),
        _ => Err(no_grammar("vllm", "JSON Schemas, regular expressions, choices and Lark grammars")),
    }
}
