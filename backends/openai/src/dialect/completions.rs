//! `/v1/completions` with token ids, as far as servers have it in common.

use alloquy_core::grammar::Grammar;
use alloquy_core::sampling::{TokenLogprob, TokenLogprobs};
use alloquy_core::tokenizer::TokenId;
use alloquy_core::{Error, ErrorKind, Result};
use serde_json::{Map, Value, json};

use crate::wire::{Ask, Chunk, ChunkToken, ServerEnd, ids, logprob, no_grammar, size, unreadable};

/// The bias of tokens that must not be sampled: the lowest one that servers take.
const BAN: f32 = -100.0;

/// How servers name a token by its id among log-probabilities, where they are asked to.
const TOKEN_ID: &str = "token_id:";

pub(crate) fn body(ask: &Ask<'_>) -> Result<Value> {
    let mut body = common(ask);
    body.insert("return_token_ids".to_owned(), json!(true));
    match ask.grammar {
        None => {}
        Some(Grammar::JsonSchema(schema)) => {
            let named = json!({"name": "reply", "strict": true, "schema": schema});
            body.insert("response_format".to_owned(), json!({"type": "json_schema", "json_schema": named}));
        }
        Some(_) => return Err(no_grammar("completions", "JSON Schemas")),
    }
    Ok(Value::Object(body))
}

/// Returns the fields that all servers with this path have. Each is written, because their defaults are not ours.
pub(crate) fn common(ask: &Ask<'_>) -> Map<String, Value> {
    let sampling = ask.sampling;
    let mut body = Map::new();
    let fields = [
        ("model", json!(ask.model)),
        ("prompt", json!(ask.prompt)),
        ("max_tokens", json!(ask.max_tokens)),
        ("temperature", json!(ask.temperature())),
        ("top_p", json!(sampling.top_p.unwrap_or(1.0))),
        ("top_k", json!(sampling.top_k.unwrap_or(0))),
        ("min_p", json!(sampling.min_p.unwrap_or(0.0))),
        ("repetition_penalty", json!(sampling.repetition_penalty.unwrap_or(1.0))),
        ("presence_penalty", json!(sampling.presence_penalty.unwrap_or(0.0))),
        ("frequency_penalty", json!(sampling.frequency_penalty.unwrap_or(0.0))),
        ("n", json!(1)),
        ("echo", json!(false)),
        ("stop", json!([])),
        ("stop_token_ids", json!(ask.stop)),
        ("ignore_eos", json!(false)),
        ("min_tokens", json!(0)),
        ("add_special_tokens", json!(false)),
        ("skip_special_tokens", json!(false)),
        ("stream", json!(true)),
        ("stream_options", json!({"include_usage": true})),
    ];
    for (name, value) in fields {
        body.insert(name.to_owned(), value);
    }
    if let Some(seed) = ask.seed_63_bits() {
        body.insert("seed".to_owned(), json!(seed));
    }
    let biases = biases(ask);
    if !biases.is_empty() {
        body.insert("logit_bias".to_owned(), Value::Object(biases));
    }
    body
}

/// Returns the biases by the ids of tokens as texts. Those of banned tokens are the lowest ones.
pub(crate) fn biases(ask: &Ask<'_>) -> Map<String, Value> {
    let mut biases = Map::new();
    for (token, bias) in ask.biases {
        biases.insert(token.to_string(), json!(bias.clamp(BAN, -BAN)));
    }
    for token in ask.banned {
        biases.insert(token.to_string(), json!(BAN));
    }
    biases
}

/// Reads an event, whose ids are in its choice. `are_logprobs_by_id` is whether the request requested them so.
pub(crate) fn chunk(event: &Value, are_logprobs_by_id: bool) -> Result<Chunk> {
    chunk_with(event, event.pointer("/choices/0/token_ids"), are_logprobs_by_id)
}

/// Reads an event with these ids.
pub(crate) fn chunk_with(
    event: &Value,
    token_ids: Option<&Value>,
    are_logprobs_by_id: bool,
) -> Result<Chunk> {
    let cached = event.pointer("/usage/prompt_tokens_details/cached_tokens").and_then(size);
    let mut chunk = Chunk { cached, ..Chunk::default() };
    // The last event has the usage and no choice.
    let Some(choice) = event.pointer("/choices/0") else {
        if event.get("choices").is_none() && event.get("usage").is_none() {
            return Err(unreadable("an event of completions", event));
        }
        return Ok(chunk);
    };
    let token_ids = token_ids.filter(|ids| !ids.is_null());
    let has_text = choice.get("text").and_then(Value::as_str).is_some_and(|text| !text.is_empty());
    match token_ids {
        Some(values) => {
            let logprobs = choice.get("logprobs").filter(|_| are_logprobs_by_id);
            chunk.tokens = tokens(ids(values)?, logprobs)?;
        }
        None if has_text => return Err(no_ids()),
        None => {}
    }
    chunk.end = choice.get("finish_reason").and_then(Value::as_str).map(|reason| match reason {
        "stop" => ServerEnd::Stop,
        "length" => ServerEnd::Length,
        other => ServerEnd::Other(other.to_owned()),
    });
    Ok(chunk)
}

fn no_ids() -> Error {
    let message = "the server sends texts without token ids: it takes no `return_token_ids`, so choose its own dialect, \
                   or a server that returns ids";
    Error::new(ErrorKind::Unsupported, message)
}

fn tokens(ids: Vec<TokenId>, logprobs: Option<&Value>) -> Result<Vec<ChunkToken>> {
    let mut tokens = Vec::with_capacity(ids.len());
    for (index, id) in ids.into_iter().enumerate() {
        let logprobs = logprobs.filter(|logprobs| !logprobs.is_null());
        let logprobs = logprobs.map(|logprobs| token_logprobs(id, index, logprobs)).transpose()?;
        tokens.push(ChunkToken { id, logprobs });
    }
    Ok(tokens)
}

/// Reads the log-probabilities of a token: `token_logprobs` has a number for each token of the event, and `top_logprobs` a map
/// from `token_id:17` to a number.
fn token_logprobs(id: TokenId, index: usize, logprobs: &Value) -> Result<TokenLogprobs> {
    let sampled = logprobs.pointer(&format!("/token_logprobs/{index}")).map_or(f32::NEG_INFINITY, logprob);
    let mut top = Vec::new();
    let map = logprobs.pointer(&format!("/top_logprobs/{index}")).and_then(Value::as_object);
    for (name, value) in map.into_iter().flatten() {
        let id = name.strip_prefix(TOKEN_ID).and_then(|id| id.parse().ok());
        let id = id.ok_or_else(|| unreadable("a token by its id, such as \"token_id:17\"", &json!(name)))?;
        top.push(TokenLogprob::new(id, logprob(value)));
    }
    top.sort_by(|left, right| right.logprob.total_cmp(&left.logprob));
    Ok(TokenLogprobs::new(TokenLogprob::new(id, sampled), top))
}
