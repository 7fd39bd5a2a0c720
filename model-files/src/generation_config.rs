//! Reads the sampling that a model's authors recommend, with the meaning that transformers gives it.
//!
//! Tokens are drawn only if `do_sample` is `true`; without it, fields such as `temperature` have no effect. Fields that
//! have no counterpart in [`SamplingOptions`] are returned by name, so that a host can show them.

use std::collections::BTreeMap;

use alloquy_core::tokenizer::TokenId;
use alloquy_core::{Result, SamplingOptions};
use serde_json::Value;

use crate::description::Description;
use crate::error::model;

/// The recommended sampling, and the fields that have no effect.
#[derive(Debug, Default)]
pub(crate) struct Recommendation {
    pub(crate) sampling: SamplingOptions,
    /// Values by file and pointer, such as `generation_config.json /num_beams`.
    pub(crate) ignored: BTreeMap<String, Value>,
}

/// Fields that are not about sampling: ids, bookkeeping, what a call returns, and when beams end.
const NOT_SAMPLING: [&str; 28] = [
    "_from_model_config",
    "assistant_confidence_threshold",
    "bos_token_id",
    "cache_config",
    "cache_implementation",
    "chunk_size",
    "decoder_start_token_id",
    "do_sample",
    "early_stopping",
    "eos_token_id",
    "forced_decoder_ids",
    "max_matching_ngram_size",
    "max_time",
    "num_assistant_tokens",
    "num_assistant_tokens_schedule",
    "output_attentions",
    "output_hidden_states",
    "output_logits",
    "output_scores",
    "pad_token_id",
    "past_present_share_buffer",
    "prompt_lookup_num_tokens",
    "return_dict_in_generate",
    "target_lookbehind",
    "token_healing",
    "transformers_version",
    "trust_remote_code",
    "use_cache",
];

/// The defaults of transformers: values of fields without a counterpart that change nothing.
const NEUTRAL: [(&str, f64); 18] = [
    ("diversity_penalty", 0.0),
    ("encoder_no_repeat_ngram_size", 0.0),
    ("encoder_repetition_penalty", 1.0),
    ("epsilon_cutoff", 0.0),
    ("eta_cutoff", 0.0),
    ("guidance_scale", 1.0),
    ("length_penalty", 1.0),
    ("max_length", 20.0),
    ("min_length", 0.0),
    ("min_new_tokens", 0.0),
    ("min_p", 0.0),
    ("num_beam_groups", 1.0),
    ("num_beams", 1.0),
    ("num_return_sequences", 1.0),
    ("temperature", 1.0),
    ("top_k", 50.0),
    ("top_p", 1.0),
    ("typical_p", 1.0),
];

/// Reads the recommendation of the model's authors.
pub(crate) fn recommendation(description: &Description) -> Result<Recommendation> {
    let (file, root) = if description.has("generation_config.json") {
        ("generation_config.json", "")
    } else {
        ("genai_config.json", "/search")
    };
    let Some(section) = description.at((file, root)).and_then(Value::as_object) else {
        return Ok(Recommendation::default());
    };
    let draws = section.get("do_sample").and_then(Value::as_bool);
    let mut sampling = SamplingOptions::default();
    match draws {
        None => {}
        Some(true) => sampling.temperature = Some(1.0),
        Some(false) => sampling.temperature = Some(0.0),
    }
    let mut ignored = BTreeMap::new();
    for (key, value) in section.iter().filter(|(key, value)| !says_nothing(file, key, value)) {
        let drawn = draws == Some(true) && take_drawn(&mut sampling, key, value).is_some();
        if !drawn && take(&mut sampling, key, value).is_none() && !is_neutral(key, value) {
            ignored.insert(format!("{file} {root}/{key}"), value.clone());
        }
    }
    sampling.validate().map_err(|error| model(format!("{file}: {error}")))?;
    Ok(Recommendation { sampling, ignored })
}

fn says_nothing(file: &str, key: &str, value: &Value) -> bool {
    let empty = match value {
        Value::Null | Value::Bool(false) => true,
        Value::Array(values) => values.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::Bool(true) | Value::Number(_) | Value::String(_) => false,
    };
    // In this file, `max_length` is the length of the context.
    let context = key == "max_length" && file == "genai_config.json";
    empty || context || NOT_SAMPLING.contains(&key)
}

fn is_neutral(key: &str, value: &Value) -> bool {
    value.as_f64().is_some_and(|value| NEUTRAL.contains(&(key, value)))
}

/// Reads a field that has an effect only where tokens are drawn; `None` if it is another field or has another type.
fn take_drawn(sampling: &mut SamplingOptions, key: &str, value: &Value) -> Option<()> {
    let field = match key {
        "temperature" => &mut sampling.temperature,
        "top_p" => &mut sampling.top_p,
        "min_p" => &mut sampling.min_p,
        "typical_p" => &mut sampling.typical_p,
        "top_k" => {
            sampling.top_k = Some(count(value)?);
            return Some(());
        }
        _ => return None,
    };
    *field = Some(number(value)?);
    Some(())
}

/// Reads a field that has an effect on every reply; `None` if it is another field or has another type.
fn take(sampling: &mut SamplingOptions, key: &str, value: &Value) -> Option<()> {
    match key {
        "repetition_penalty" => sampling.repetition_penalty = Some(number(value)?),
        "no_repeat_ngram_size" => sampling.no_repeat_ngram = Some(count(value)?),
        "max_new_tokens" => sampling.max_tokens = Some(count(value)?),
        "suppress_tokens" => {
            sampling.suppress = value.as_array()?.iter().map(token).collect::<Option<_>>()?;
        }
        "sequence_bias" => {
            sampling.logit_bias = value.as_array()?.iter().map(token_bias).collect::<Option<_>>()?;
        }
        "stop_strings" => sampling.stop = texts(value)?,
        _ => return None,
    }
    Some(())
}

fn number(value: &Value) -> Option<f32> {
    value.as_f64().map(|number| number as f32)
}

fn count(value: &Value) -> Option<usize> {
    usize::try_from(value.as_u64()?).ok()
}

fn token(value: &Value) -> Option<TokenId> {
    TokenId::try_from(value.as_u64()?).ok()
}

/// Reads `[[id], bias]`. A sequence of several tokens has no counterpart.
fn token_bias(value: &Value) -> Option<(TokenId, f32)> {
    let [sequence, bias] = value.as_array()?.as_slice() else { return None };
    let [id] = sequence.as_array()?.as_slice() else { return None };
    Some((token(id)?, number(bias)?))
}

/// Reads one text, or a list of texts.
fn texts(value: &Value) -> Option<Vec<String>> {
    match value {
        Value::Array(values) => values.iter().map(text).collect(),
        one => Some(vec![text(one)?]),
    }
}

fn text(value: &Value) -> Option<String> {
    value.as_str().filter(|text| !text.is_empty()).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(file: &str, json: &Value) -> Recommendation {
        let files = BTreeMap::from([(file.to_owned(), json.to_string())]);
        recommendation(&Description::read(&files).unwrap()).unwrap()
    }

    #[test]
    fn every_known_field_is_read_and_every_other_one_is_named() {
        let read = read(
            "generation_config.json",
            &json!({
                "bos_token_id": 1, "transformers_version": "5.23.0", "do_sample": true,
                "temperature": 0.6, "top_k": 20, "top_p": 0.95, "min_p": 0.05, "typical_p": 0.9,
                "repetition_penalty": 1.05, "no_repeat_ngram_size": 3, "max_new_tokens": 2048,
                "suppress_tokens": [5, 6], "sequence_bias": [[[7], -2.5]], "stop_strings": "END",
                "num_beams": 4, "num_return_sequences": 1, "penalty_alpha": 0.6, "bad_words_ids": [[1, 2]],
                "early_stopping": false, "watermarking_config": null,
            }),
        );
        let expected = SamplingOptions {
            temperature: Some(0.6),
            top_k: Some(20),
            top_p: Some(0.95),
            min_p: Some(0.05),
            typical_p: Some(0.9),
            repetition_penalty: Some(1.05),
            no_repeat_ngram: Some(3),
            max_tokens: Some(2048),
            suppress: vec![5, 6],
            logit_bias: BTreeMap::from([(7, -2.5)]),
            stop: vec!["END".to_owned()],
            ..SamplingOptions::default()
        };
        assert_eq!(read.sampling, expected);
        let places: Vec<_> = read.ignored.keys().map(String::as_str).collect();
        let named = ["bad_words_ids", "num_beams", "penalty_alpha"];
        assert_eq!(places, named.map(|key| format!("generation_config.json /{key}")));
    }

    #[test]
    fn without_sampling_the_fields_of_the_draw_have_no_effect() {
        for (on, temperature) in [(json!(null), None), (json!(false), Some(0.0))] {
            let read = read(
                "genai_config.json",
                &json!({"search": {
                    "do_sample": on, "temperature": 0.6, "repetition_penalty": 1.1, "max_length": 4096, "top_k": "many", "top_p": 1.0, "early_stopping": true,
                }}),
            );
            assert_eq!(read.sampling.temperature, temperature);
            assert_eq!(read.sampling.repetition_penalty, Some(1.1));
            let places: Vec<_> = read.ignored.into_iter().collect();
            let expected = [("temperature", json!(0.6)), ("top_k", json!("many"))];
            assert_eq!(
                places,
                expected.map(|(key, value)| (format!("genai_config.json /search/{key}"), value))
            );
        }
    }
}
