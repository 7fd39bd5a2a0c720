//! `/completion` of llama.cpp's server.

use alloquy_core::Result;
use alloquy_core::grammar::Grammar;
use alloquy_core::sampling::{TokenLogprob, TokenLogprobs};
use alloquy_core::tokenizer::TokenId;
use serde_json::{Map, Value, json};

use super::grammars::choice_as_gbnf;
use super::ignored::{Counted, Effects};
use crate::wire::{Adapter, Ask, Chunk, ChunkToken, ServerEnd, ids, logprob, no_grammar, size, unreadable};

/// Its penalties count the prompt, all three of them.
pub(crate) const EFFECTS: Effects = Effects {
    further: &[
        "suppress",
        "logit_bias",
        "top_k",
        "min_p",
        "typical_p",
        "repetition_penalty",
        "penalty_window",
        "seed",
        "logprobs",
    ],
    repetition: Counted::PromptAndReply,
    presence: Counted::PromptAndReply,
};

/// Its seeds have 32 bits, and the last one of them means a random one.
const SEEDS: u64 = 0xFFFF_FFFF;

pub(crate) fn body(ask: &Ask<'_>) -> Result<Value> {
    let sampling = ask.sampling;
    // 0 is no window at all, and some versions refuse -1, their word for all tokens.
    let all = ask.prompt.len().saturating_add(ask.max_tokens);
    let window = sampling.penalty_window.filter(|window| *window > 0).map_or(all, |window| window.min(all));
    let mut body = Map::new();
    let fields = [
        ("model", json!(ask.model)),
        ("prompt", json!(ask.prompt)),
        ("n_predict", json!(ask.max_tokens)),
        ("temperature", json!(ask.temperature())),
        ("top_k", json!(sampling.top_k.unwrap_or(0))),
        ("top_p", json!(sampling.top_p.unwrap_or(1.0))),
        ("min_p", json!(sampling.min_p.unwrap_or(0.0))),
        ("typical_p", json!(sampling.typical_p.unwrap_or(1.0))),
        ("repeat_penalty", json!(sampling.repetition_penalty.unwrap_or(1.0))),
        ("presence_penalty", json!(sampling.presence_penalty.unwrap_or(0.0))),
        ("frequency_penalty", json!(sampling.frequency_penalty.unwrap_or(0.0))),
        ("repeat_last_n", json!(window)),
        // Our order: the temperature comes before the filters. Samplers that are not listed are off.
        ("samplers", json!(["penalties", "temperature", "top_k", "top_p", "min_p", "typ_p"])),
        ("mirostat", json!(0)),
        ("dynatemp_range", json!(0.0)),
        ("seed", json!(ask.seed.unwrap_or(0) % SEEDS)),
        ("logit_bias", biases(ask)),
        ("n_probs", json!(sampling.logprobs.map_or(0, |top| top.max(1)))),
        ("post_sampling_probs", json!(false)),
        ("stop", json!([])),
        ("ignore_eos", json!(false)),
        ("n_keep", json!(0)),
        ("cache_prompt", json!(true)),
        ("return_tokens", json!(true)),
        // Each event says how much of the prompt was cached, not the last one alone.
        ("timings_per_token", json!(true)),
        ("stream", json!(true)),
    ];
    for (name, value) in fields {
        body.insert(name.to_owned(), value);
    }
    if let Some(Adapter::Number(number)) = ask.adapter {
        body.insert("lora".to_owned(), json!([{"id": number, "scale": 1.0}]));
    }
    match ask.grammar {
        None => {}
        Some(Grammar::JsonSchema(schema)) => {
            body.insert("json_schema".to_owned(), schema.clone());
        }
        Some(Grammar::Choice(texts)) => {
            body.insert("grammar".to_owned(), json!(choice_as_gbnf(texts)));
        }
        Some(_) => return Err(no_grammar("llamacpp", "JSON Schemas and choices")),
    }
    Ok(Value::Object(body))
}

/// Sends a request to a slot. Its body has a hundred thousand tokens, and is not parsed again.
pub(crate) fn in_slot(body: &str, slot: usize) -> String {
    let fields = body.strip_suffix('}').unwrap_or(body);
    format!("{fields},\"id_slot\":{slot}}}")
}

/// Returns pairs of a token and its bias; `false` bans the token.
fn biases(ask: &Ask<'_>) -> Value {
    let mut biases = Vec::new();
    for (token, bias) in ask.biases.iter().filter(|(token, _)| !ask.banned.contains(token)) {
        biases.push(json!([token, bias]));
    }
    for token in ask.banned {
        biases.push(json!([token, false]));
    }
    Value::Array(biases)
}

pub(crate) fn chunk(event: &Value) -> Result<Chunk> {
    let Some(values) = event.get("tokens") else {
        return Err(unreadable("an event of `/completion`", event));
    };
    let mut chunk = Chunk::default();
    for (index, id) in ids(values)?.into_iter().enumerate() {
        let logprobs = event.pointer(&format!("/completion_probabilities/{index}"));
        chunk.tokens.push(ChunkToken { id, logprobs: logprobs.and_then(|entry| token_logprobs(id, entry)) });
    }
    // The events before the last one say -1.
    chunk.slot = event.get("id_slot").and_then(size);
    chunk.cached = event.pointer("/timings/cache_n").and_then(size);
    if event.get("stop").and_then(Value::as_bool) == Some(true) {
        chunk.end = Some(match event.get("stop_type").and_then(Value::as_str).unwrap_or_default() {
            "eos" | "word" => ServerEnd::Stop,
            "limit" => ServerEnd::Length,
            other => ServerEnd::Other(other.to_owned()),
        });
    }
    Ok(chunk)
}

fn token_logprobs(id: TokenId, entry: &Value) -> Option<TokenLogprobs> {
    let sampled = entry.get("logprob").map(logprob)?;
    let mut top = Vec::new();
    for likely in entry.get("top_logprobs").and_then(Value::as_array).into_iter().flatten() {
        let token = likely.get("id").and_then(Value::as_u64).and_then(|id| TokenId::try_from(id).ok())?;
        top.push(TokenLogprob::new(token, likely.get("logprob").map_or(f32::NEG_INFINITY, logprob)));
    }
    Some(TokenLogprobs::new(TokenLogprob::new(id, sampled), top))
}
