//! A real server of llama.cpp. It says when it skips.

use alloquy_core::ErrorKind;
use alloquy_openai::{RemoteEmbedder, RemoteReranker};
use alloquy_retrieval::{Embedder, TextKind, laws};
use pollster::block_on;

use crate::llama::Llama;

fn dot(left: &[f32], right: &[f32]) -> f32 {
    left.iter().zip(right).map(|(left, right)| left * right).sum()
}

#[test]
fn equal_texts_have_equal_vectors() {
    let Some(server) = Llama::pooling("MEAN", "2", "unified") else { return };
    let embedder = block_on(RemoteEmbedder::connect(&server.url)).unwrap();
    assert_eq!(embedder.dimensions(), 64);
    let texts = ["Once upon a time", "The sun was hot", "Once upon a time"];
    let found = block_on(embedder.embed(&texts, TextKind::Passage)).unwrap();
    let [first, other, again] = found.vectors.as_slice() else { panic!("three vectors") };
    assert!((dot(first, first) - 1.0).abs() < 1e-5);
    assert!((dot(first, again) - 1.0).abs() < 1e-5);
    assert!(dot(first, other) < 0.999);
}

#[test]
fn the_laws_of_embedders_hold() {
    for slots in ["1", "2"] {
        let Some(server) = Llama::pooling("MEAN", slots, "unified") else { return };
        let embedder = block_on(RemoteEmbedder::builder(&server.url).max_characters(150).connect()).unwrap();
        block_on(laws::embedder::all(&embedder)).unwrap();
    }
}

#[test]
fn slots_that_mix_up_their_texts_are_found() {
    let Some(server) = Llama::pooling("MEAN", "2", "separate") else { return };
    let error = block_on(RemoteEmbedder::connect(&server.url)).err().unwrap();
    assert!(error.to_string().contains("--kv-unified"), "{error}");
    let builder = RemoteEmbedder::builder(&server.url).max_characters(150).batch_size(1);
    let embedder = block_on(builder.connect()).unwrap();
    block_on(laws::embedder::all(&embedder)).unwrap();
}

#[test]
fn a_text_that_is_too_long_is_refused() {
    let Some(server) = Llama::pooling("MEAN", "1", "unified") else { return };
    let embedder = block_on(RemoteEmbedder::connect(&server.url)).unwrap();
    let long = "tea ".repeat(3_000);
    let error = block_on(embedder.embed(&[&long], TextKind::Passage)).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::ContextOverflow, "{error}");
    assert!(block_on(embedder.embed(&["tea"], TextKind::Query)).is_ok());

    let error = block_on(RemoteReranker::connect(&server.url)).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Unsupported, "a server of vectors has no scores: {error}");
}

#[test]
fn the_laws_of_rerankers_hold() {
    let Some(server) = Llama::pooling("RANK", "1", "unified") else { return };
    let reranker = block_on(RemoteReranker::connect(&server.url)).unwrap();
    block_on(laws::reranker::all(&reranker)).unwrap();
}
