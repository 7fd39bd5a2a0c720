//! Draws of a sampler: which token comes next, and how often.

use alloquy_core::tokenizer::TokenId;
use alloquy_core::{Result, SamplingOptions};
use alloquy_inference::Sampler;
use serde_json::{Value, json};

use crate::outcome::{Outcome, error};
use crate::row::Row;
use crate::shares;
use crate::symbols::{arguments, find, name, number, numbers};

/// Why a row is left out of which nothing is a draw.
const INNER: &str = "holds no draw, only times that its test prints";

/// A row's checks, as far as they concern draws and the row holds their values.
pub(crate) fn run(row: &Row) -> Outcome {
    let mut expected = Vec::new();
    let mut found = Vec::new();
    let mut drawn = None;
    let mut set = Vec::new();
    let mut updated = Vec::new();
    for check in row.expected.as_array().into_iter().flatten() {
        let actual = &check["actual"];
        set.extend(setting(&check["call"]));
        if find(check, "UpdateConfig").is_some() {
            updated.clone_from(&set);
        }
        if let Some(call) = find(actual, "SampleToIdAndScoreBuffer") {
            drawn = sampled_into_buffer(call, &updated);
        }
        let Some(read) = evaluate(actual, drawn.as_ref()) else { continue };
        let asked = match check["check"].as_str() {
            Some("EXPECT_TRUE" | "ASSERT_TRUE") => json!(true),
            Some("EXPECT_FALSE") => json!(false),
            Some("EXPECT_NE") => json!({"not": check["expected"][0]}),
            _ => check["expected"][0].clone(),
        };
        found.push(shares::rounded(&asked, read));
        expected.push(asked);
    }
    if expected.is_empty() { Outcome::skipped(INNER) } else { Outcome::compared(expected, found) }
}

/// An option that is set in a configuration, and its value.
fn setting(call: &Value) -> Option<(&str, &Value)> {
    Some((name(call)?.strip_prefix("set_")?, arguments(call).first()?))
}

/// What a check looks at; `None` for what is not a draw, or was lost.
fn evaluate(actual: &Value, drawn: Option<&Value>) -> Option<Value> {
    if let Some(index) = actual["$index"].as_u64() {
        return evaluate(&actual["on"], drawn)?.get(index as usize).cloned();
    }
    let on = || evaluate(&actual["on"], drawn);
    match name(actual)? {
        "ok" => Some(json!(on()?.get("error").is_none())),
        "size" => Some(json!(on()?.as_array()?.len())),
        "TopKTopPSampling" => sampled(actual),
        "TopKTokenIds" => shares::likeliest(actual),
        "Softmax" => shares::of(actual),
        "TopPSampler::Create" => created(actual),
        "SampleToIdAndScoreBuffer" => drawn.cloned(),
        "Value" => on(),
        "CopyFromTensorBuffer<int>" => drawn.cloned(),
        _ => None,
    }
}

fn options(k: &Value, p: &Value, temperature: &Value) -> Option<SamplingOptions> {
    Some(SamplingOptions {
        top_k: usize::try_from(k.as_i64()?).ok(),
        top_p: Some(number(p)? as f32),
        temperature: Some(number(temperature)? as f32),
        seed: Some(0),
        ..SamplingOptions::default()
    })
}

/// Draws for each reply of a batch, at each place of a sequence.
fn sampled(call: &Value) -> Option<Value> {
    let [logits, k, p, temperature, _, batch, length, ..] = arguments(call) else { return None };
    if k.as_i64()? < 0 {
        return Some(json!({"error": "a number of tokens is a natural number"}));
    }
    let drawn = draw(&options(k, p, temperature)?, &numbers(logits)?, batch.as_u64()? * length.as_u64()?);
    let length = length.as_u64()? as usize;
    Some(match drawn {
        Ok(tokens) => json!(tokens.chunks(length).collect::<Vec<_>>()),
        Err(refused) => error(&refused),
    })
}

fn created(call: &Value) -> Option<Value> {
    let [k, p, temperature, ..] = arguments(call) else { return None };
    Some(match Sampler::new(&options(k, p, temperature)?) {
        Ok(_) => json!({"ok": true}),
        Err(refused) => error(&refused),
    })
}

/// The tokens that a call writes into its buffer; options that were updated stand for those that the sampler was made of.
fn sampled_into_buffer(call: &Value, updated: &[(&str, &Value)]) -> Option<Value> {
    let [k, p, temperature, batch, length, seed, ..] = arguments(&call["on"]) else { return None };
    let option = |wanted, made| {
        updated.iter().rev().find(|(name, _)| *name == wanted).map_or(made, |(_, value)| *value)
    };
    let options = options(option("k", k), option("p", p), option("temperature", temperature))?;
    let options = SamplingOptions { seed: seed.as_u64(), ..options };
    let logits = numbers(arguments(call).first()?)?;
    Some(match draw(&options, &logits, batch.as_u64()? * length.as_u64()?) {
        Ok(tokens) => json!(tokens),
        Err(refused) => error(&refused),
    })
}

fn draw(options: &SamplingOptions, logits: &[f64], rows: u64) -> Result<Vec<TokenId>> {
    let mut logits: Vec<f32> = logits.iter().map(|logit| *logit as f32).collect();
    let size = logits.len() / rows as usize;
    logits.chunks_mut(size).map(|logits| Sampler::new(options)?.sample(logits)).collect()
}
