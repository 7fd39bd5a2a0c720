//! Models with heads that predict several tokens at once: the same replies as without, and a warning.

#![allow(clippy::unwrap_used)] // a test may panic

mod common;

use std::fs;

use alloquy_core::report::Warning;
use alloquy_engine::Engine;
use alloquy_model_files::ModelFiles;
use alloquy_onnx::OnnxEngine;
use common::graphs::{Cache, Lora, graph_with_outputs, model};
use common::greedy;

fn files(outputs: &[&str]) -> ModelFiles {
    // As DeepSeek-V3's: most exports of such models have no heads.
    let config = r#"{"max_position_embeddings": 64, "eos_token_id": 2, "vocab_size": 64, "num_nextn_predict_layers": 1}"#;
    model(Cache::Concat, &Lora::Required)
        .file("model.onnx", graph_with_outputs(outputs))
        .file("config.json", config.as_bytes())
}

fn load(files: ModelFiles) -> OnnxEngine {
    OnnxEngine::of_files(files).threads(1).load().unwrap()
}

fn heads(engine: &OnnxEngine) -> Vec<String> {
    let mut found = Vec::new();
    for warning in &engine.model().warnings {
        if let Warning::DraftHeadsIgnored { heads } = warning {
            found.extend_from_slice(heads);
        }
    }
    found
}

#[test]
fn heads_are_ignored_with_a_warning() {
    let plain = load(files(&[]));
    assert!(heads(&plain).is_empty(), "a number in config.json is no head");
    let prompt = [3, 9, 5, 4];
    let wanted = greedy(&plain, &prompt, 1, 20);
    let with_outputs = load(files(&["mtp_logits", "mtp_logits_1", "hidden_states"]));
    assert_eq!(heads(&with_outputs), ["mtp_logits", "mtp_logits_1"]);
    assert_eq!(greedy(&with_outputs, &prompt, 1, 20), wanted);
    let graph = graph_with_outputs(&[]);
    let with_graph = load(files(&[]).file("onnx/mtp.onnx", graph).file("mtp.json", b"{}".as_slice()));
    assert_eq!(heads(&with_graph), ["onnx/mtp.onnx"]);
    assert_eq!(greedy(&with_graph, &prompt, 1, 20), wanted);
}

#[test]
fn a_head_is_not_taken_for_the_model() {
    let folder = tempfile::tempdir().unwrap();
    let files = files(&[]);
    for name in ["config.json", "tokenizer.json"] {
        fs::write(folder.path().join(name), files.read(name).unwrap()).unwrap();
    }
    fs::write(folder.path().join("model_mtp.onnx"), "no graph").unwrap();
    fs::write(folder.path().join("model_q4.onnx"), graph_with_outputs(&[])).unwrap();
    let engine = OnnxEngine::builder(folder.path()).threads(1).load().unwrap();
    assert_eq!(heads(&engine), ["model_mtp.onnx"]);
    assert_eq!(greedy(&engine, &[3, 9], 1, 8), greedy(&load(files), &[3, 9], 1, 8));
}
