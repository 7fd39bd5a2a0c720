//! How often each token is drawn: the candidates and the probabilities that a sampler has inside.

use alloquy_core::SamplingOptions;
use alloquy_core::tokenizer::TokenId;
use alloquy_inference::Sampler;
use serde_json::{Value, json};

use crate::symbols::{arguments, number, numbers};

/// So many draws tell a probability to within [`CLOSE`], five times the greatest standard error.
const DRAWS: usize = 40_000;
const CLOSE: f64 = 0.0125;

/// As good as the same likelihood for all.
const FLAT: f32 = 1e9;

/// Draws so often that each of a few tokens that are equally likely comes.
const DRAWS_EACH: usize = 64;

/// The tokens that can be drawn of the `k` likeliest, likeliest first.
pub(crate) fn likeliest(call: &Value) -> Option<Value> {
    let [logits, k, batch, length, ..] = arguments(call) else { return None };
    let batch = batch.as_u64()? as usize;
    let length = length.as_u64()? as usize;
    let options = SamplingOptions {
        top_k: Some(k.as_u64()? as usize),
        temperature: Some(FLAT),
        seed: Some(1),
        ..SamplingOptions::default()
    };
    let logits = numbers(logits)?;
    let size = logits.len() / (batch * length);
    let places = logits.chunks(size).map(|logits| {
        let drawn = counted(&options, logits, DRAWS_EACH * options.top_k.unwrap_or(1));
        let mut tokens: Vec<usize> = (0..size).filter(|token| drawn[*token] > 0).collect();
        tokens.sort_by(|left, right| logits[*right].total_cmp(&logits[*left]));
        tokens
    });
    let places: Vec<Vec<usize>> = places.collect();
    Some(json!(places.chunks(length).map(<[_]>::concat).collect::<Vec<_>>()))
}

/// The share of each candidate among many draws.
pub(crate) fn of(call: &Value) -> Option<Value> {
    let [logits, ids, temperature, batch, length, ..] = arguments(call) else { return None };
    let batch = batch.as_u64()? as usize;
    let length = length.as_u64()? as usize;
    let logits = numbers(logits)?;
    let ids = numbers(ids)?;
    let size = logits.len() / (batch * length);
    let candidates = ids.len() / (batch * length);
    let temperature = number(temperature)? as f32;
    let places = logits.chunks(size).zip(ids.chunks(candidates)).map(|(logits, ids)| {
        let ids: Vec<TokenId> = ids.iter().map(|id| *id as TokenId).collect();
        let options = SamplingOptions {
            temperature: Some(temperature),
            suppress: (0..size as TokenId).filter(|token| !ids.contains(token)).collect(),
            seed: Some(1),
            ..SamplingOptions::default()
        };
        let drawn = counted(&options, logits, DRAWS);
        ids.iter().map(|id| drawn[*id as usize] as f64 / DRAWS as f64).collect::<Vec<f64>>()
    });
    let places: Vec<Vec<f64>> = places.collect();
    Some(json!(places.chunks(length).map(<[_]>::concat).collect::<Vec<_>>()))
}

/// How often each token is drawn.
fn counted(options: &SamplingOptions, logits: &[f64], draws: usize) -> Vec<usize> {
    let mut sampler = Sampler::new(options).unwrap();
    let mut counts = vec![0; logits.len()];
    for _ in 0..draws {
        let mut logits: Vec<f32> = logits.iter().map(|logit| *logit as f32).collect();
        counts[sampler.sample(&mut logits).unwrap() as usize] += 1;
    }
    counts
}

/// Shares as a row's own figures, where they are close to them.
pub(crate) fn rounded(expected: &Value, found: Value) -> Value {
    match (expected.as_array(), &found) {
        (Some(expected), Value::Array(items)) if expected.len() == items.len() => {
            expected.iter().zip(items).map(|(expected, found)| rounded(expected, found.clone())).collect()
        }
        _ => {
            let is_share = found.is_f64();
            let close = |expected: f64, found: f64| (expected - found).abs() <= CLOSE;
            let both = expected.as_f64().zip(found.as_f64()).filter(|_| is_share);
            if both.is_some_and(|(expected, found)| close(expected, found)) {
                expected.clone()
            } else {
                found
            }
        }
    }
}
