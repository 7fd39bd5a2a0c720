//! Low-rank adapters: a graph with one computes the same as with the adapted weights in it, with every kind of cache. A
//! wrong adapter is an error when the model is loaded.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

mod common;

use std::fs;

use alloquy_core::ErrorKind;
use alloquy_core::tokenizer::TokenId;
use alloquy_engine::{CancelToken, Engine};
use alloquy_model_files::ModelFiles;
use alloquy_onnx::{GraphCacheStatus, OnnxEngine, OnnxEngineBuilder};
use alloquy_testing::laws;
use proptest::prelude::*;

use common::adapters::{Parameter, adapter};
use common::graphs::{Cache, Lora, RANK, VOCABULARY, WIDTH, graph, model, noise};
use common::{feed, units};

const CACHES: [Cache; 2] = [Cache::Concat, Cache::Shared];
const NAME: &str = "french.onnx_adapter";

fn a() -> Vec<f32> {
    noise(5, WIDTH * RANK)
}

fn b() -> Vec<f32> {
    noise(6, RANK * VOCABULARY)
}

fn parameters() -> [Parameter; 2] {
    [
        Parameter::floats("lora_a", &[WIDTH, RANK], &a()),
        Parameter::floats("lora_b", &[RANK, VOCABULARY], &b()),
    ]
}

fn with(files: ModelFiles, bytes: Vec<u8>) -> OnnxEngineBuilder {
    OnnxEngine::of_files(files.file(NAME, bytes)).threads(1).adapter(NAME)
}

fn adapted(cache: Cache, lora: &Lora) -> OnnxEngine {
    with(model(cache, lora), adapter(&parameters())).load().unwrap_or_else(|error| panic!("{error:#}"))
}

fn plain(cache: Cache, lora: &Lora) -> OnnxEngine {
    OnnxEngine::of_files(model(cache, lora)).threads(1).load().unwrap_or_else(|error| panic!("{error:#}"))
}

fn prompt() -> Vec<TokenId> {
    (3..15).map(|token| token * 4).collect()
}

fn logits(engine: &OnnxEngine, chunk: usize) -> Vec<f32> {
    feed(engine.open().unwrap().as_mut(), &prompt(), chunk)
}

fn difference(left: &[f32], right: &[f32]) -> f32 {
    assert_eq!(left.len(), right.len());
    left.iter().zip(right).map(|(left, right)| (left - right).abs()).fold(0.0, f32::max)
}

#[test]
fn an_adapter_computes_the_same_as_its_weights_in_the_graph() {
    for cache in CACHES {
        let baked = logits(&plain(cache, &Lora::Baked(a(), b())), 5);
        let merged = logits(&plain(cache, &Lora::Merged(a(), b())), 5);
        let without = logits(&plain(cache, &Lora::Optional), 5);
        assert!(difference(&baked, &without) > 0.1, "{cache:?}");
        for lora in [Lora::Optional, Lora::Required] {
            let adapted = logits(&adapted(cache, &lora), 5);
            assert!(difference(&adapted, &baked) < 1e-5, "{cache:?}, {lora:?}");
            assert!(difference(&adapted, &merged) < 1e-4, "{cache:?}, {lora:?}");
        }
    }
}

#[test]
fn sessions_with_an_adapter_obey_the_laws() {
    for cache in CACHES {
        for lora in [Lora::Optional, Lora::Required] {
            eprintln!("{cache:?}, {lora:?}");
            laws::session::all(&adapted(cache, &lora), &prompt(), 1e-4);
        }
    }
}

#[test]
fn an_adapter_is_part_of_the_identity() {
    let mut other = parameters();
    other[1].bytes[0] ^= 1;
    let engine = adapted(Cache::Concat, &Lora::Optional);
    let others = [
        plain(Cache::Concat, &Lora::Optional),
        with(model(Cache::Concat, &Lora::Optional), adapter(&other)).load().unwrap(),
    ];
    let same = adapted(Cache::Concat, &Lora::Optional);
    assert_eq!(engine.identity(), same.identity());
    for other in others {
        assert_ne!(engine.identity(), other.identity());
    }
}

fn kept_in(folder: &std::path::Path, cache: Cache) -> OnnxEngine {
    with(model(cache, &Lora::Optional), adapter(&parameters())).graph_cache(folder).load().unwrap()
}

#[test]
fn an_adapter_works_with_a_kept_graph() {
    let folder = tempfile::tempdir().unwrap();
    for cache in CACHES {
        let own = logits(&adapted(cache, &Lora::Optional), 5);
        drop(kept_in(folder.path(), cache));
        let kept = kept_in(folder.path(), cache);
        assert_eq!(kept.graph_cache(), &GraphCacheStatus::Read);
        assert_eq!(logits(&kept, 5), own, "{cache:?}");
        let without =
            OnnxEngine::of_files(model(cache, &Lora::Optional)).graph_cache(folder.path()).load().unwrap();
        assert_eq!(without.graph_cache(), &GraphCacheStatus::Read);
        assert_eq!(logits(&without, 5), logits(&plain(cache, &Lora::Optional), 5), "{cache:?}");
    }
}

/// A wrong adapter, and its error.
struct Bad {
    what: &'static str,
    lora: Lora,
    bytes: Vec<u8>,
    kind: ErrorKind,
    said: &'static str,
}

fn bad() -> Vec<Bad> {
    let bad =
        |what, bytes: Vec<u8>, said| Bad { what, lora: Lora::Optional, bytes, kind: ErrorKind::Model, said };
    let [a, b] = parameters();
    let whole = adapter(&parameters());
    let mut version = whole.clone();
    version[24] = 2;
    let renamed = Parameter { name: "lora_c", ..b.clone() };
    let ids = Parameter { name: "input_ids", ..b.clone() };
    let wide = Parameter::floats("lora_a", &[RANK, WIDTH], &noise(5, WIDTH * RANK));
    let integers = Parameter { element: 6, ..a.clone() };
    let unknown = Parameter { element: 99, ..a.clone() };
    let short = Parameter { bytes: a.bytes[4..].to_vec(), ..a.clone() };
    let negative = Parameter { shape: vec![-2, -8], ..a.clone() };
    let huge = Parameter { shape: vec![i64::MAX, 4], ..a.clone() };
    vec![
        bad("nothing", Vec::new(), "is not a whole adapter: it does not begin as one"),
        bad(
            "a web page",
            b"<html>Not found</html>".to_vec(),
            "is not a whole adapter: it does not begin as one",
        ),
        bad(
            "half an adapter",
            whole[..whole.len() / 2].to_vec(),
            "is not a whole adapter: it ends too early",
        ),
        bad("another version", version, "its format is of another version than 1"),
        bad("a parameter twice", adapter(&[a.clone(), a.clone()]), "\"lora_a\" twice"),
        bad(
            "a parameter of another model",
            adapter(&[a.clone(), renamed]),
            "has \"lora_c\", for which the graph has no place; it has lora_a, lora_b",
        ),
        bad("an input that is fed anyway", adapter(&[a.clone(), ids]), "has \"input_ids\", for which"),
        bad(
            "another shape",
            adapter(&[wide, b.clone()]),
            "has lora_a as Tensor<f32>(2, 8), and the graph takes",
        ),
        bad(
            "another type",
            adapter(&[integers, b.clone()]),
            "has lora_a as Tensor<i32>(8, 2), and the graph takes",
        ),
        bad("an unknown type", adapter(&[unknown]), "a parameter has elements of an unknown type"),
        bad(
            "too few elements",
            adapter(&[short]),
            "a parameter has more or fewer elements than its shape says",
        ),
        bad("a shape below zero", adapter(&[negative]), "more or fewer elements than its shape says"),
        bad("a shape beyond all", adapter(&[huge]), "more or fewer elements than its shape says"),
        Bad {
            what: "a part of what is required",
            lora: Lora::Required,
            bytes: adapter(&[a]),
            kind: ErrorKind::Unsupported,
            said: "the graph takes inputs that are not supported: lora_b",
        },
    ]
}

#[test]
fn a_wrong_adapter_is_an_error_when_it_is_loaded() {
    for Bad { what, lora, bytes, kind, said } in bad() {
        for cache in CACHES {
            let error = with(model(cache, &lora), bytes.clone()).load().unwrap_err();
            assert_eq!(error.kind(), kind, "{what}: {error}");
            assert!(error.to_string().contains(said), "{what}: {error}");
        }
    }
    let error = OnnxEngine::of_files(model(Cache::Concat, &Lora::Required)).load().unwrap_err();
    assert!(error.to_string().contains("not supported: lora_a, lora_b"), "{error}");
}

#[test]
fn damage_is_only_ever_an_error() {
    let whole = adapter(&parameters());
    let changes = (0..whole.len(), any::<u8>(), 0..whole.len());
    // Each load makes a session of ONNX Runtime, so there are few cases.
    proptest!(ProptestConfig::with_cases(48), |((at, byte, end) in changes)| {
        let mut bytes = whole.clone();
        bytes[at] = byte;
        bytes.truncate(end.max(at));
        if let Err(error) = with(model(Cache::Concat, &Lora::Optional), bytes).load() {
            prop_assert_eq!(error.kind(), ErrorKind::Model);
        }
    });
}

fn load(folder: &std::path::Path, adapter: &std::path::Path) -> alloquy_core::Result<OnnxEngine> {
    OnnxEngine::builder(folder).threads(1).adapter(adapter).load()
}

/// Writes a model into a folder.
fn folder_of(cache: Cache) -> (tempfile::TempDir, std::path::PathBuf) {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("model");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("model.onnx"), graph(cache, &Lora::Optional)).unwrap();
    fs::write(
        folder.join("tokenizer.json"),
        include_bytes!("../../../model-files/tests/fixtures/tokenizers/unigram.json"),
    )
    .unwrap();
    fs::write(folder.join("config.json"), r#"{"max_position_embeddings": 64, "eos_token_id": 2}"#).unwrap();
    (place, folder)
}

#[test]
fn a_file_name_is_a_file_of_the_model_and_a_path_is_a_path() {
    let (place, folder) = folder_of(Cache::Concat);
    let expected = logits(&adapted(Cache::Concat, &Lora::Optional), 5);
    let outside = place.path().join("other.onnx_adapter");
    fs::write(&outside, adapter(&parameters())).unwrap();
    assert_eq!(logits(&load(&folder, &outside).unwrap(), 5), expected);
    let missing = load(&folder, NAME.as_ref()).unwrap_err().to_string();
    assert!(missing.contains("has no adapter \"french.onnx_adapter\"; it has none"), "{missing}");
    fs::write(folder.join(NAME), adapter(&parameters())).unwrap();
    assert_eq!(logits(&load(&folder, NAME.as_ref()).unwrap(), 5), expected);
    let missing = load(&folder, "german.onnx_adapter".as_ref()).unwrap_err();
    assert_eq!(missing.kind(), ErrorKind::Model);
    assert!(missing.to_string().contains("it has french.onnx_adapter"), "{missing}");
}

#[cfg(unix)]
#[test]
fn a_file_name_does_not_lead_out_of_the_model() {
    let (place, folder) = folder_of(Cache::Concat);
    let outside = place.path().join("other.onnx_adapter");
    fs::write(&outside, adapter(&parameters())).unwrap();
    std::os::unix::fs::symlink(&outside, folder.join(NAME)).unwrap();
    let error = OnnxEngine::builder(&folder).adapter(NAME).load().unwrap_err();
    assert!(error.to_string().contains("leads out of the model folder"), "{error}");
}

/// Returns the logits of every token of the prompt.
fn scored(engine: &OnnxEngine) -> Vec<f32> {
    let mut rows = Vec::new();
    let mut session = engine.open().unwrap();
    let each = &mut |logits: &[f32]| rows.extend_from_slice(logits);
    session.forward_each(&units(&prompt()), &CancelToken::default(), each).unwrap();
    rows
}

#[test]
fn every_token_is_scored_with_the_adapter() {
    for cache in CACHES {
        let engine = adapted(cache, &Lora::Optional);
        let baked = plain(cache, &Lora::Baked(a(), b()));
        assert!(difference(&scored(&engine), &scored(&baked)) < 1e-5, "{cache:?}");
    }
}
