//! `/v1/completions` of Dynamo, which refuses fields that it does not know. Its extensions are in `nvext`.

use alloquy_core::Result;
use alloquy_core::grammar::Grammar;
use serde_json::{Map, Value, json};

use super::completions::{chunk_with, common};
use super::ignored::{Counted, Effects};
use crate::wire::{Ask, Chunk, no_grammar};

/// Biases are accepted and dropped. Suppressed tokens have an effect where the engine is vLLM, so they are sent and named.
/// Log-probabilities are by the texts of tokens, so they are not requested.
pub(crate) const EFFECTS: Effects = Effects {
    further: &["top_k", "min_p", "repetition_penalty", "seed"],
    repetition: Counted::PromptAndReply,
    presence: Counted::Reply,
};

/// How many stop tokens a request may have. Others are found here.
const STOP_TOKENS: usize = 32;

pub(crate) fn body(ask: &Ask<'_>) -> Result<Value> {
    let mut body = common(ask);
    // An empty list of stop texts is refused, too.
    for unknown in ["add_special_tokens", "stop", "logit_bias"] {
        body.remove(unknown);
    }
    let stop: Vec<_> = ask.stop.iter().take(STOP_TOKENS).collect();
    body.insert("stop_token_ids".to_owned(), json!(stop));
    if !ask.banned.is_empty() {
        let words: Vec<_> = ask.banned.iter().map(|token| [token]).collect();
        body.insert("bad_words_token_ids".to_owned(), json!(words));
    }
    if let Some(grammar) = ask.grammar {
        let (name, value) = guided(grammar)?;
        body.insert(name.to_owned(), value);
    }
    body.insert("nvext".to_owned(), Value::Object(extensions(ask)));
    Ok(Value::Object(body))
}

fn extensions(ask: &Ask<'_>) -> Map<String, Value> {
    let mut extensions = Map::new();
    extensions.insert("extra_fields".to_owned(), json!(["completion_token_ids"]));
    if let Some(salt) = ask.salt {
        extensions.insert("cache_salt".to_owned(), json!(salt));
    }
    if let Some(priority) = ask.priority {
        extensions.insert("agent_hints".to_owned(), json!({"priority": priority}));
    }
    extensions
}

fn guided(grammar: &Grammar) -> Result<(&'static str, Value)> {
    match grammar {
        Grammar::JsonSchema(schema) => Ok(("guided_json", schema.clone())),
        Grammar::Regex(regex) => Ok(("guided_regex", json!(regex))),
        Grammar::Choice(texts) => Ok(("guided_choice", json!(texts))),
        _ => Err(no_grammar("dynamo", "JSON Schemas, regular expressions and choices")),
    }
}

/// Reads an event, which has the new ids in `nvext`.
pub(crate) fn chunk(event: &Value) -> Result<Chunk> {
    chunk_with(event, event.pointer("/nvext/completion_token_ids"), false)
}
