//! Every export reproduces the tokens of the reference implementation, however the prompt is fed.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::print_stderr)]

mod common;

use alloquy_core::prompt::PromptUnit;
use alloquy_core::tokenizer::{TokenizerInput, decode};
use alloquy_core::{ErrorKind, Media};
use alloquy_engine::{CancelToken, Engine};
use alloquy_onnx::OnnxEngine;
use alloquy_testing::laws;

use common::{Golden, continued, feed, golden, greedy, load, models, units};

/// Exports of models with random weights, each with the file of its expected tokens.
const EXPORTS: [(&str, &str); 7] = [
    ("tiny/genai-qwen3-fp32", "tiny/golden-qwen3.json"),
    ("tiny/optimum-qwen3", "tiny/golden-qwen3.json"),
    ("tiny/genai-llama-fp32", "tiny/golden-llama.json"),
    ("tiny/optimum-llama", "tiny/golden-llama.json"),
    ("tiny/genai-gemma3-fp32", "tiny/golden-gemma3.json"),
    ("tiny/genai-gemma3-fp32-windowed", "tiny/golden-gemma3.json"),
    ("tiny/optimum-gemma3", "tiny/golden-gemma3.json"),
];

/// One real model in both layouts.
const STORIES: [&str; 2] = ["stories260k", "stories260k-past-present"];

#[test]
fn exports_reproduce_the_reference_fed_whole_one_by_one_and_in_chunks() {
    let Some(models) = models() else { return };
    for (name, file) in EXPORTS {
        let engine = load(&models, name);
        let golden = golden(&models, file);
        for (index, case) in golden.cases.iter().enumerate() {
            for chunk in [case.prompt_ids.len(), 1, 7] {
                let said = greedy(&engine, &case.prompt_ids, chunk, case.greedy_ids.len());
                assert_eq!(
                    said, case.greedy_ids,
                    "{name}, case {index}, chunks of {chunk}, gap {}",
                    case.min_top2_gap
                );
            }
        }
    }
}

#[test]
fn exports_give_the_logits_of_the_reference() {
    let Some(models) = models() else { return };
    for (name, file) in EXPORTS {
        let engine = load(&models, name);
        for (index, case) in golden(&models, file).cases.iter().enumerate() {
            let logits = feed(engine.open().unwrap().as_mut(), &case.prompt_ids, case.prompt_ids.len());
            let differences =
                logits.iter().zip(&case.first_logits_0_8).map(|(logit, other)| (logit - other).abs());
            let largest = differences.fold(0.0, f32::max);
            assert!(!case.first_logits_0_8.is_empty() && largest < 1e-4, "{name}, case {index}: {largest}");
        }
    }
}

#[test]
fn a_rewound_and_a_forked_session_continue_like_a_fresh_one() {
    let Some(models) = models() else { return };
    for (name, file) in EXPORTS {
        let engine = load(&models, name);
        let golden = golden(&models, file);
        let case = golden.cases.iter().max_by_key(|case| case.prompt_ids.len()).unwrap();
        for cut in [1, 30, case.prompt_ids.len() - 1] {
            let mut session = engine.open().unwrap();
            let logits = feed(session.as_mut(), &case.prompt_ids, 128);
            continued(session.as_mut(), logits, 40);
            assert_eq!(session.truncate(cut).unwrap(), cut);
            let mut fork = session.fork().unwrap();
            for session in [session.as_mut(), fork.as_mut()] {
                let logits = feed(session, &case.prompt_ids[cut..], 128);
                let said = continued(session, logits, case.greedy_ids.len());
                assert_eq!(said, case.greedy_ids, "{name}, after truncating to {cut}");
            }
        }
    }
}

#[test]
fn stories_are_the_published_ones() {
    let Some(models) = models() else { return };
    for name in STORIES {
        let engine = load(&models, name);
        let Golden { published_text, cases } = golden(&models, &format!("{name}/golden.json"));
        let bos = engine.model().bos.clone().unwrap().id;
        let generated = greedy(&engine, &[bos], 1, 300);
        let text = decode(engine.tokenizer(), &generated).unwrap();
        assert!(text.starts_with(&published_text), "{name} said {text:?}");
        for case in &cases {
            let prompt = case.prompt.as_deref().unwrap();
            let encoded = engine.tokenizer().encode(&[TokenizerInput::Text(prompt)]).unwrap();
            assert_eq!(encoded, case.prompt_ids[1..], "{name}, {prompt:?}");
            for chunk in [case.prompt_ids.len(), 1, 7] {
                let said = greedy(&engine, &case.prompt_ids, chunk, case.greedy_ids.len());
                assert_eq!(said, case.greedy_ids, "{name}, {prompt:?}, gap {}", case.min_top2_gap);
            }
            let whole = [&case.prompt_ids[1..], &case.greedy_ids].concat();
            assert_eq!(decode(engine.tokenizer(), &whole).unwrap(), case.text.clone().unwrap(), "{name}");
        }
    }
}

#[test]
fn every_engine_obeys_the_laws_of_sessions() {
    let Some(models) = models() else { return };
    let prompt: Vec<_> = (20..60).collect();
    for (name, _) in EXPORTS {
        eprintln!("{name}");
        laws::session::all(&load(&models, name), &prompt, 1e-4);
    }
    for name in STORIES {
        eprintln!("{name}");
        let engine = load(&models, name);
        let prompt =
            engine.tokenizer().encode(&[TokenizerInput::Text("Tom and Mia went to the zoo.")]).unwrap();
        laws::session::all(&engine, &prompt, 1e-4);
    }
}

#[test]
fn quantized_exports_run_and_obey_the_laws() {
    let Some(models) = models() else { return };
    let prompt: Vec<_> = (20..60).collect();
    for name in ["tiny/genai-qwen3-int4", "tiny/genai-llama-int4", "tiny/genai-gemma3-int4"] {
        eprintln!("{name}");
        // int4 kernels round activations block by block, and a block depends on how many tokens are fed at once.
        laws::session::all(&load(&models, name), &prompt, 0.1);
    }
}

/// 600 tokens without a pattern: a linear congruential sequence (Park and Miller's multiplier).
fn long_prompt() -> Vec<u32> {
    let numbers = std::iter::successors(Some(1_u64), |seed| Some(seed * 48_271 % 2_147_483_647));
    numbers.skip(5).take(600).map(|number| 20 + (number % 490) as u32).collect()
}

fn largest_difference(left: &[f32], right: &[f32]) -> f32 {
    assert_eq!(left.len(), right.len());
    left.iter().zip(right).map(|(left, right)| (left - right).abs()).fold(0.0, f32::max)
}

#[test]
fn a_cache_that_grows_and_one_that_was_large_at_once_agree_across_layouts() {
    let Some(models) = models() else { return };
    let prompt = long_prompt();
    for names in [
        ["tiny/genai-qwen3-fp32", "tiny/optimum-qwen3"],
        ["tiny/genai-gemma3-fp32-windowed", "tiny/optimum-gemma3"],
    ] {
        let engines = names.map(|name| load(&models, name));
        let wanted = feed(engines[1].open().unwrap().as_mut(), &prompt, prompt.len());
        for engine in &engines {
            let mut session = engine.open().unwrap();
            for chunk in [100, 1, prompt.len()] {
                session.truncate(0).unwrap();
                let mut fresh = engine.open().unwrap();
                for session in [session.as_mut(), fresh.as_mut()] {
                    let difference = largest_difference(&feed(session, &prompt, chunk), &wanted);
                    assert!(difference < 1e-4, "{names:?} in chunks of {chunk}: {difference}");
                }
            }
            let mut fork = session.fork().unwrap();
            fork.truncate(300).unwrap();
            let difference = largest_difference(&feed(fork.as_mut(), &prompt[300..], 128), &wanted);
            assert!(difference < 1e-4, "{names:?}, forked: {difference}");
        }
    }
}

#[test]
fn a_prompt_cancelled_half_way_can_be_continued() {
    let Some(models) = models() else { return };
    let prompt = units(&long_prompt().repeat(3));
    for name in ["tiny/genai-gemma3-fp32", "tiny/optimum-gemma3"] {
        let engine = OnnxEngine::builder(models.join(name)).threads(1).prefill_chunk(1).load().unwrap();
        let mut session = engine.open().unwrap();
        let cancel = CancelToken::default();
        let canceller = std::thread::spawn({
            let cancel = cancel.clone();
            move || {
                std::thread::sleep(std::time::Duration::from_millis(30));
                cancel.cancel();
            }
        });
        let error = session.forward(&prompt, &cancel).unwrap_err();
        canceller.join().unwrap();
        assert!(error.is_cancelled(), "{name}: {error:#}");
        let held = session.length();
        assert!(held < prompt.len(), "{name}: {held}");
        let end = (held + 20).min(prompt.len());
        let logits = session.forward(&prompt[held..end], &CancelToken::default()).unwrap().to_vec();
        let mut fresh = engine.open().unwrap();
        let wanted = fresh.forward(&prompt[..end], &CancelToken::default()).unwrap();
        assert!(largest_difference(&logits, wanted) < 1e-4, "{name}");
    }
}

#[test]
fn media_and_unknown_tokens_are_refused_and_change_nothing() {
    let Some(models) = models() else { return };
    let engine = load(&models, STORIES[0]);
    let mut session = engine.open().unwrap();
    feed(session.as_mut(), &[1, 403], 2);
    let image = PromptUnit::Media(Media::new("image/png", b"x".to_vec()));
    let refused = [(image, ErrorKind::Unsupported), (PromptUnit::Token(512), ErrorKind::Invalid)];
    for (unit, kind) in refused {
        let error = session.forward(&[PromptUnit::Token(407), unit], &CancelToken::default()).unwrap_err();
        assert_eq!((error.kind(), session.length()), (kind, 2), "{error}");
    }
}
