//! Penalties, n-grams and stop sequences against the cases beside the workspace, taken from LiteRT-LM's tests.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

use std::path::{Path, PathBuf};
use std::{env, fs};

use alloquy_core::SamplingOptions;
use alloquy_core::tokenizer::TokenId;
use alloquy_inference::{Sampler, StopTokens};
use serde_json::Value;

/// Four equal tokens in a window of four: there they may repeat; here what fills the window has occurred in it.
const DIFFERENT: &str = "NoRepeatNgramProcessorTest.HandlesHashCollisionWithPrefixesMatchWithWindowSize";

/// Returns the cases in a file, or says that it skips.
fn cases(file: &str) -> Vec<Value> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared");
    let shared = env::var_os("ALLOQUY_SHARED").map_or(beside, PathBuf::from);
    let file = shared.join("cases/litert").join(file);
    let Ok(text) = fs::read_to_string(&file) else {
        eprintln!("Skipping: {} is absent, set ALLOQUY_SHARED", file.display());
        return Vec::new();
    };
    serde_json::from_str(&text).unwrap()
}

fn number(value: &Value) -> Option<f32> {
    value.as_f64().map(|number| number as f32)
}

/// The options of a processor for one sequence.
fn options(case: &Value) -> Option<SamplingOptions> {
    let construct = case["input"]["construct"]["args"].as_array()?;
    let config = construct.get(2)?["args"].as_array()?;
    let window = |value: &Value| Some(value.as_u64()? as usize);
    let options = match case["kind"].as_str()? {
        "repetition_penalty_processor" => SamplingOptions {
            repetition_penalty: Some(number(&config[0])?),
            presence_penalty: Some(number(&config[1])?),
            frequency_penalty: Some(number(&config[2])?),
            penalty_window: Some(window(&config[3])?),
            ..SamplingOptions::default()
        },
        "no_repeat_ngram_processor" => SamplingOptions {
            no_repeat_ngram: Some(window(&config[0])?),
            penalty_window: Some(window(&config[1])?),
            ..SamplingOptions::default()
        },
        "suppress_tokens_processor" => SamplingOptions {
            suppress: config
                .first()?
                .as_array()?
                .iter()
                .filter_map(|id| id.as_u64()?.try_into().ok())
                .collect(),
            ..SamplingOptions::default()
        },
        _ => return None,
    };
    (construct[0] == 1).then_some(options)
}

/// A list of logits, or a constructor of so many equal ones.
fn logits(value: &Value) -> Option<Vec<f32>> {
    match value["args"].as_array() {
        Some(args) => Some(vec![number(args.get(1)?)?; args[0].as_u64()? as usize]),
        None => value.as_array()?.iter().map(number).collect(),
    }
}

/// Takes the steps of a case; returns how many logits were compared.
fn compared(case: &Value, options: &SamplingOptions) -> Option<usize> {
    let mut sampler = Sampler::new(options).unwrap();
    let mut edited = Vec::new();
    let mut compared = 0;
    for step in case["expected"]["ops"].as_array()? {
        if let Some(token) = step.get("UpdateState") {
            let token = token[0].as_u64().or_else(|| token[0][0].as_u64())?;
            sampler.accept(TokenId::try_from(token).unwrap());
        } else if let Some(given) = step.get("ProcessLogits") {
            if step["check"] != "EXPECT_OK" {
                return None;
            }
            edited = logits(&given[0])?;
            // All of them may be ruled out, which is an error of the draw and not of the step.
            let _ = sampler.sample(&mut edited);
        } else if let Some(index) = step.get("expect_logit") {
            let expected = number(&step["value"][0]).unwrap_or(f32::NEG_INFINITY);
            let logit = edited[index.as_u64()? as usize];
            let near = logit == expected || (logit - expected).abs() <= 1e-5;
            assert!(near, "{}: logit {index} is {logit}, not {expected}", case["test"]);
            compared += 1;
        }
    }
    Some(compared)
}

#[test]
fn logits_are_edited_as_litert_does() {
    let cases = cases("logits_processors.json");
    let same = cases.iter().filter(|case| case["test"] != DIFFERENT);
    let compare = |case: &Value| compared(case, &options(case)?).filter(|&logits| logits > 0);
    let counts: Vec<_> = same.filter_map(compare).collect();
    eprintln!("{} cases of {}, {} logits", counts.len(), cases.len(), counts.iter().sum::<usize>());
    assert!(cases.is_empty() || counts.len() >= 11, "only {counts:?} could be read");
}

#[test]
fn stop_sequences_end_where_litert_ends_them() {
    let list = |value: &Value| -> Vec<TokenId> {
        value.as_array().unwrap().iter().map(|token| token.as_u64().unwrap().try_into().unwrap()).collect()
    };
    for case in cases("stop_tokens.json").iter().filter(|case| case["kind"] == "stop_stream") {
        let stops = case["input"]["stops"].as_array().unwrap();
        let mut ends = Vec::new();
        for sequence in case["input"]["batch"].as_array().unwrap() {
            let mut watch = StopTokens::new(stops.iter().map(list));
            let end = list(sequence).into_iter().position(|token| watch.push(token).1);
            ends.push(end.expect("every sequence of these cases ends"));
        }
        let last = ends.iter().max().copied();
        assert_eq!(
            last,
            case["expected"]["all_done_at_step_index"].as_u64().map(|step| step as usize),
            "{case}"
        );
    }
}
