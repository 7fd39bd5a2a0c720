//! The pocket model on dialogues that it has never seen, through the whole stack. `cargo xtask pocket eval` runs it.
//!
//! `ALLOQUY_POCKET` names the folder with the exported model and its `evaluation.jsonl`; without it the test skips.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

#[path = "pocket/dialogue.rs"]
mod dialogue;
#[path = "pocket/score.rs"]
mod score;
#[path = "pocket/verdict.rs"]
mod verdict;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use alloquy_core::{ChatModel, Engine, Reply, Round, SamplingOptions};
use alloquy_onnx::OnnxEngine;
use alloquy_templates::JinjaTemplate;
use dialogue::Dialogue;
use pollster::block_on;
use score::Scores;

/// Longer than any right reply, thoughts included.
const LIMIT: usize = 256;

fn folder() -> Option<PathBuf> {
    let folder = std::env::var_os("ALLOQUY_POCKET").map(PathBuf::from);
    if folder.is_none() {
        eprintln!("Skipping: set ALLOQUY_POCKET to an exported model with evaluation.jsonl beside it");
    }
    folder
}

fn round(folder: PathBuf) -> Round {
    let engine = OnnxEngine::builder(folder).threads(1).load().unwrap();
    let template = JinjaTemplate::of(engine.model()).unwrap();
    let found = alloquy_processors::detect(engine.model());
    let named = alloquy_processors::named("qwen3", engine.model()).unwrap();
    assert_eq!(found.processor.name(), named.name(), "the model is served as another family");
    Round::builder(Arc::new(engine)).template(template).processor(found.processor).build().unwrap()
}

/// What the model says, and how long it took.
fn answer(round: &Round, dialogue: &Dialogue) -> (Reply, f64) {
    let short = SamplingOptions { max_tokens: Some(LIMIT), ..SamplingOptions::default() };
    let started = Instant::now();
    let reply = block_on(async {
        let request = dialogue.request().sampling(short);
        round.reply(request).await.unwrap().finish().await.unwrap()
    });
    (reply, started.elapsed().as_secs_f64())
}

#[test]
fn dialogues_never_seen() {
    let Some(folder) = folder() else { return };
    let dialogues = Dialogue::all(&folder.join("evaluation.jsonl"));
    let round = round(folder);
    for dialogue in &dialogues {
        assert_eq!(round.prepare(&dialogue.request()).unwrap().rendered, dialogue.prompt, "{}", dialogue.id);
    }
    let mut scores = Scores::default();
    for dialogue in &dialogues {
        let (reply, seconds) = answer(&round, dialogue);
        scores.add(dialogue, &reply, seconds);
    }
    println!("{scores}");
}
