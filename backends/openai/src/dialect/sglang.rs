//! `/generate` of SGLang.

use alloquy_core::Result;
use alloquy_core::grammar::Grammar;
use alloquy_core::sampling::{TokenLogprob, TokenLogprobs};
use alloquy_core::tokenizer::TokenId;
use serde_json::{Map, Value, json};

use super::completions::biases;
use super::grammars::choice_as_regex;
use super::ignored::{Counted, Effects};
use crate::wire::{Adapter, Ask, Chunk, ChunkToken, ServerEnd, ids, logprob, no_grammar, size, unreadable};

/// Seeds are sent, and have an effect only on servers that run with `--enable-deterministic-inference`.
pub(crate) const EFFECTS: Effects = Effects {
    further: &["suppress", "logit_bias", "top_k", "min_p", "repetition_penalty", "logprobs"],
    repetition: Counted::Reply,
    presence: Counted::Reply,
};

pub(crate) fn body(ask: &Ask<'_>) -> Result<Value> {
    let mut body = Map::new();
    body.insert("input_ids".to_owned(), json!(ask.prompt));
    body.insert("sampling_params".to_owned(), Value::Object(sampling_params(ask)?));
    body.insert("stream".to_owned(), json!(true));
    body.insert("return_logprob".to_owned(), json!(ask.sampling.logprobs.is_some()));
    if let Some(logprobs) = ask.sampling.logprobs {
        body.insert("top_logprobs_num".to_owned(), json!(logprobs));
        body.insert("return_text_in_logprobs".to_owned(), json!(false));
    }
    if let Some(Adapter::Named(name)) = ask.adapter {
        body.insert("lora_path".to_owned(), json!(name));
    }
    if let Some(salt) = ask.salt {
        body.insert("cache_salt".to_owned(), json!(salt));
    }
    if let Some(priority) = ask.priority {
        body.insert("priority".to_owned(), json!(priority));
    }
    Ok(Value::Object(body))
}

fn sampling_params(ask: &Ask<'_>) -> Result<Map<String, Value>> {
    let sampling = ask.sampling;
    // Its word for all tokens is -1.
    let top_k = sampling.top_k.filter(|top_k| *top_k > 0).map_or(json!(-1), |top_k| json!(top_k));
    let mut params = Map::new();
    let fields = [
        ("max_new_tokens", json!(ask.max_tokens)),
        ("min_new_tokens", json!(0)),
        ("temperature", json!(ask.temperature())),
        ("top_p", json!(sampling.top_p.unwrap_or(1.0))),
        ("top_k", top_k),
        ("min_p", json!(sampling.min_p.unwrap_or(0.0))),
        ("repetition_penalty", json!(sampling.repetition_penalty.unwrap_or(1.0))),
        ("presence_penalty", json!(sampling.presence_penalty.unwrap_or(0.0))),
        ("frequency_penalty", json!(sampling.frequency_penalty.unwrap_or(0.0))),
        ("stop", json!([])),
        ("stop_token_ids", json!(ask.stop)),
        ("ignore_eos", json!(false)),
        ("skip_special_tokens", json!(false)),
        ("n", json!(1)),
    ];
    for (name, value) in fields {
        params.insert(name.to_owned(), value);
    }
    if let Some(seed) = ask.seed_63_bits() {
        params.insert("sampling_seed".to_owned(), json!(seed));
    }
    let biases = biases(ask);
    if !biases.is_empty() {
        params.insert("logit_bias".to_owned(), Value::Object(biases));
    }
    match ask.grammar {
        None => {}
        // A schema is sent as a text.
        Some(Grammar::JsonSchema(schema)) => {
            params.insert("json_schema".to_owned(), json!(schema.to_string()));
        }
        Some(Grammar::Regex(regex)) => {
            params.insert("regex".to_owned(), json!(regex));
        }
        Some(Grammar::Choice(texts)) => {
            params.insert("regex".to_owned(), json!(choice_as_regex(texts)));
        }
        Some(_) => return Err(no_grammar("sglang", "JSON Schemas, regular expressions and choices")),
    }
    Ok(params)
}

/// Reads an event. Its ids are all ids so far, or with `--incremental-streaming-output` the new ones; the count of all ids says which.
pub(crate) fn chunk(event: &Value, seen: usize) -> Result<Chunk> {
    let Some(meta) = event.get("meta_info") else {
        return Err(unreadable("an event of `/generate`", event));
    };
    let cached = meta.get("cached_tokens").and_then(size);
    let mut chunk = Chunk { cached, ..Chunk::default() };
    if let Some(values) = event.get("output_ids").filter(|values| !values.is_null()) {
        let listed = ids(values)?;
        let counted = meta.get("completion_tokens").and_then(size);
        let all = counted.ok_or_else(|| unreadable("the count of the tokens so far", meta))?;
        let known = if listed.len() >= all { seen } else { 0 };
        for (index, id) in listed.into_iter().enumerate().skip(known) {
            chunk.tokens.push(ChunkToken { id, logprobs: token_logprobs(id, index, meta) });
        }
    }
    chunk.end = meta.get("finish_reason").filter(|reason| !reason.is_null()).map(end);
    Ok(chunk)
}

fn end(reason: &Value) -> ServerEnd {
    let kind = reason.get("type").and_then(Value::as_str).or(reason.as_str()).unwrap_or_default();
    match kind {
        "stop" => ServerEnd::Stop,
        "length" => ServerEnd::Length,
        other => ServerEnd::Other(other.to_owned()),
    }
}

/// Reads the log-probabilities of a token, each of which is a list `[logprob, id, text]`.
fn token_logprobs(id: TokenId, index: usize, meta: &Value) -> Option<TokenLogprobs> {
    let sampled = meta.pointer(&format!("/output_token_logprobs/{index}/0"))?;
    let mut top = Vec::new();
    let listed = meta.pointer(&format!("/output_top_logprobs/{index}")).and_then(Value::as_array);
    for entry in listed.into_iter().flatten() {
        let token = entry.get(1).and_then(Value::as_u64).and_then(|id| TokenId::try_from(id).ok())?;
        top.push(TokenLogprob::new(token, entry.get(0).map_or(f32::NEG_INFINITY, logprob)));
    }
    Some(TokenLogprobs::new(TokenLogprob::new(id, logprob(sampled)), top))
}
