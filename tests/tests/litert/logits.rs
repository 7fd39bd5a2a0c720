//! What penalties, n-grams and suppressed tokens make of logits. A sampler changes those it draws from, so they can be
//! looked at behind it.

use alloquy_core::SamplingOptions;
use alloquy_core::tokenizer::TokenId;
use alloquy_inference::Sampler;
use serde_json::{Value, json};

use crate::outcome::Outcome;
use crate::row::Row;
use crate::symbols::{arguments, find, name, number, numbers};

const CONFIGS: [&str; 3] = ["RepetitionPenaltyConfig", "NoRepeatNgramConfig", "SuppressTokensConfig"];

/// A processor that gets tokens and logits.
pub(crate) fn processor(row: &Row) -> Outcome {
    match played(row) {
        Ok((expected, _)) if expected.is_empty() => Outcome::skipped("leaves nothing to compare"),
        Ok((expected, found)) => Outcome::compared(expected, found),
        Err(reason) => Outcome::skipped(reason),
    }
}

type Compared = (Vec<Value>, Vec<Value>);

fn played(row: &Row) -> Result<Compared, &'static str> {
    let construct = &row.input["construct"];
    let [batch, _, ..] = arguments(construct) else {
        return Err("is made in a loop of the test, whose values the row does not hold");
    };
    let options = options(construct).ok_or("is made from values that the row does not hold")?;
    let batch = batch.as_u64().unwrap_or(1) as usize;
    let mut samplers =
        vec![Sampler::new(&options).map_err(|_| "asks for options that are refused here")?; batch];
    let mut expected = Vec::new();
    let mut found = Vec::new();
    let mut logits = Vec::new();
    for step in row.expected["ops"].as_array().into_iter().flatten() {
        if step["check"] == "EXPECT_THAT" {
            return Err(
                "asserts what is wrong with the shape of a batch; here logits are one slice for one reply",
            );
        }
        if let Some(ids) = step.get("UpdateState") {
            reported(&mut samplers, &ids[0])?;
        } else if let Some(given) = step.get("ProcessLogits") {
            logits = processed(&mut samplers, &given[0])?;
        } else if let (Some(index), Some(value)) = (step["expect_logit"].as_u64(), number(&step["value"][0]))
        {
            expected.push(shown(value));
            found.push(near(value, logits[index as usize]));
        }
    }
    Ok((expected, found))
}

fn reported(samplers: &mut [Sampler], ids: &Value) -> Result<(), &'static str> {
    let ids = numbers(ids).or_else(|| Some(vec![number(ids)?]));
    for (sampler, id) in samplers.iter_mut().zip(ids.ok_or("is told tokens that the row does not hold")?) {
        sampler.accept(id as TokenId);
    }
    Ok(())
}

fn processed(samplers: &mut [Sampler], logits: &Value) -> Result<Vec<f32>, &'static str> {
    let mut logits: Vec<f32> = numbers(logits)
        .ok_or("is given logits that the row does not hold")?
        .into_iter()
        .map(|logit| logit as f32)
        .collect();
    let size = logits.len() / samplers.len();
    for (sampler, logits) in samplers.iter_mut().zip(logits.chunks_mut(size)) {
        // That no token is left is no error of what is looked at here.
        let _ = sampler.sample(logits);
    }
    Ok(logits)
}

/// JSON has no infinite numbers.
fn shown(value: f64) -> Value {
    if value.is_finite() { json!(value) } else { json!(value.to_string()) }
}

/// A logit, as the value itself where it is within four steps of 32 bits, as in GoogleTest.
fn near(expected: f64, found: f32) -> Value {
    let wanted = expected as f32;
    let close = wanted == found || (wanted - found).abs() <= 4.0 * f32::EPSILON * wanted.abs();
    shown(if close { expected } else { f64::from(found) })
}

/// The options that a constructor's configuration stands for.
fn options(construct: &Value) -> Option<SamplingOptions> {
    if let Some(config) = CONFIGS.iter().find_map(|config| find(construct, config)) {
        return options_of(config);
    }
    // A configuration by default asks for nothing.
    let default = CONFIGS.iter().any(|config| find(construct, &format!("{config}::Default")).is_some());
    default.then(SamplingOptions::default)
}

fn options_of(config: &Value) -> Option<SamplingOptions> {
    let given = arguments(config);
    let default = SamplingOptions::default();
    let size = |value: &Value| Some(number(value)? as usize);
    Some(match (name(config)?, given) {
        ("RepetitionPenaltyConfig", [repetition, presence, frequency, window]) => SamplingOptions {
            repetition_penalty: Some(number(repetition)? as f32),
            presence_penalty: Some(number(presence)? as f32),
            frequency_penalty: Some(number(frequency)? as f32),
            penalty_window: Some(size(window)?),
            ..default
        },
        ("NoRepeatNgramConfig", [length, window]) => SamplingOptions {
            no_repeat_ngram: Some(size(length)?),
            penalty_window: Some(size(window)?),
            ..default
        },
        ("SuppressTokensConfig", [tokens]) => {
            // No token has a number below zero.
            let tokens = numbers(tokens)?.into_iter().filter(|token| *token >= 0.0);
            SamplingOptions { suppress: tokens.map(|token| token as TokenId).collect(), ..default }
        }
        _ => return None,
    })
}

/// A configuration, read back. What LiteRT-LM moves into its range is refused here.
pub(crate) fn config(row: &Row) -> Outcome {
    let mut expected = Vec::new();
    let mut found = Vec::new();
    for check in row.expected["other"].as_array().into_iter().flatten() {
        let actual = &check["actual"];
        let Some(options) = options(actual) else {
            return Outcome::skipped("is made from values that the row does not hold");
        };
        let Some(read) = read_back(actual, &options) else {
            return Outcome::skipped("reads what options do not have");
        };
        expected.push(match check["check"].as_str() {
            Some("EXPECT_TRUE") => json!(true),
            Some("EXPECT_FALSE") => json!(false),
            _ => check["expected"][0].clone(),
        });
        found.push(read);
    }
    if expected.is_empty() {
        Outcome::skipped("leaves nothing to compare")
    } else {
        Outcome::compared(expected, found)
    }
}

fn read_back(actual: &Value, options: &SamplingOptions) -> Option<Value> {
    if let Err(error) = options.validate() {
        return Some(crate::outcome::error(&error));
    }
    let short = |value: Option<f32>, neutral: f32| value.unwrap_or(neutral).to_string().parse::<f64>().ok();
    let of_tokens = actual.pointer("/on/$call").is_some_and(|call| call == "suppress_tokens");
    Some(match name(actual)? {
        "repetition_penalty" => json!(short(options.repetition_penalty, 1.0)),
        "presence_penalty" => json!(short(options.presence_penalty, 0.0)),
        "frequency_penalty" => json!(short(options.frequency_penalty, 0.0)),
        "window_size" => json!(options.penalty_window.unwrap_or(0)),
        "no_repeat_ngram_size" => json!(options.no_repeat_ngram.unwrap_or(0)),
        "size" if of_tokens => json!(options.suppress.len()),
        "empty" if of_tokens => json!(options.suppress.is_empty()),
        "contains" if of_tokens => {
            json!(options.suppress.contains(&(number(&arguments(actual)[0])? as TokenId)))
        }
        "enabled" => json!(changes_logits(options)),
        _ => return None,
    })
}

/// Returns whether options change any logits: a sampler gets a token and samples.
fn changes_logits(options: &SamplingOptions) -> bool {
    let logits: Vec<f32> = vec![1.0; 64];
    let mut sampler = Sampler::new(options).unwrap();
    (0..16).for_each(|_| sampler.accept(1));
    let mut changed = logits.clone();
    let _ = sampler.sample(&mut changed);
    changed != logits
}
