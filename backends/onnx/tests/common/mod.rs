//! The folder of the test models, and greedy decoding.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::print_stderr, dead_code, unreachable_pub)]

pub mod adapters;
pub mod graphs;
pub mod minilm;
pub mod protobuf;

use std::path::PathBuf;

use alloquy_core::prompt::PromptUnit;
use alloquy_core::tokenizer::TokenId;
use alloquy_engine::{CancelToken, Engine, Session};
use alloquy_onnx::{OnnxEngine, OnnxEngineBuilder};
use serde::Deserialize;

/// Returns the folder of models, or prints that the test is skipped.
pub fn models() -> Option<PathBuf> {
    let default = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    let shared = std::env::var_os("ALLOQUY_SHARED").map_or(default, PathBuf::from);
    let models = shared.join("models");
    if !models.is_dir() {
        eprintln!("skipping: {models:?} does not exist, set ALLOQUY_SHARED");
        return None;
    }
    Some(models)
}

pub fn load(models: &std::path::Path, name: &str) -> OnnxEngine {
    builder(&models.join(name)).load().unwrap_or_else(|error| panic!("{name}: {error:#}"))
}

/// Returns a builder with one thread. The variables choose a device for tests that are run on one: `ALLOQUY_TEST_PROVIDER` names its
/// provider, and `ALLOQUY_TEST_PROVIDER_LIBRARY` the provider's library.
pub fn builder(folder: &std::path::Path) -> OnnxEngineBuilder {
    let mut builder = OnnxEngine::builder(folder).threads(1);
    if let Ok(provider) = std::env::var("ALLOQUY_TEST_PROVIDER") {
        builder = builder.providers([provider]);
    }
    if let Some(library) = std::env::var_os("ALLOQUY_TEST_PROVIDER_LIBRARY") {
        builder = builder.provider_library(library);
    }
    builder
}

/// The tokens of a reference implementation.
#[derive(Debug, Deserialize)]
pub struct Golden {
    #[serde(default)]
    pub published_text: String,
    pub cases: Vec<Case>,
}

#[derive(Debug, Deserialize)]
pub struct Case {
    pub prompt: Option<String>,
    pub prompt_ids: Vec<TokenId>,
    pub greedy_ids: Vec<TokenId>,
    pub text: Option<String>,
    pub min_top2_gap: f32,
    #[serde(default)]
    pub first_logits_0_8: Vec<f32>,
}

pub fn golden(models: &std::path::Path, file: &str) -> Golden {
    serde_json::from_str(&std::fs::read_to_string(models.join(file)).unwrap()).unwrap()
}

pub fn units(tokens: &[TokenId]) -> Vec<PromptUnit> {
    tokens.iter().copied().map(PromptUnit::Token).collect()
}

/// Feeds `tokens` in chunks and returns the last logits.
pub fn feed(session: &mut dyn Session, tokens: &[TokenId], chunk: usize) -> Vec<f32> {
    let mut logits = Vec::new();
    for chunk in units(tokens).chunks(chunk) {
        logits = session.forward(chunk, &CancelToken::default()).unwrap().to_vec();
    }
    logits
}

/// Continues greedily with `count` tokens, from the given logits on.
pub fn continued(session: &mut dyn Session, mut logits: Vec<f32>, count: usize) -> Vec<TokenId> {
    let mut tokens = vec![likeliest(&logits)];
    while tokens.len() < count {
        logits = feed(session, &tokens[tokens.len() - 1..], 1);
        tokens.push(likeliest(&logits));
    }
    tokens
}

pub fn greedy(engine: &dyn Engine, prompt: &[TokenId], chunk: usize, count: usize) -> Vec<TokenId> {
    let mut session = engine.open().unwrap();
    let logits = feed(session.as_mut(), prompt, chunk);
    continued(session.as_mut(), logits, count)
}

pub fn likeliest(logits: &[f32]) -> TokenId {
    let better = |best: usize, next: usize| if logits[next] > logits[best] { next } else { best };
    (0..logits.len()).reduce(better).unwrap() as TokenId
}

/// Compares a reply with that of a reference. Up to a first difference they must be equal, and there the tokens of both must be likeliest up
/// to `margin`: kernels for weights of 4 bits round otherwise on other processors. What follows another token is not compared. With a
/// margin of 0, all tokens must be equal.
pub fn agrees(
    engine: &dyn Engine,
    prompt: &[TokenId],
    (reply, expected): (&[TokenId], &[TokenId]),
    margin: f32,
) -> Result<(), String> {
    if reply == expected {
        return Ok(());
    }
    let place = reply.iter().zip(expected).take_while(|(left, right)| left == right).count();
    let (Some(&left), Some(&right)) = (reply.get(place), expected.get(place)) else {
        return Err(format!("{} tokens, not {}", reply.len(), expected.len()));
    };
    let before = [prompt, &expected[..place]].concat();
    let logits = feed(engine.open().unwrap().as_mut(), &before, before.len());
    let largest = logits[likeliest(&logits) as usize];
    let missing = [left, right].map(|token| largest - logits[token as usize]);
    if missing[0] < margin && missing[1] < margin {
        return Ok(());
    }
    Err(format!("token {place} is {left}, not {right}, whose logits are {missing:?} below the largest one"))
}
