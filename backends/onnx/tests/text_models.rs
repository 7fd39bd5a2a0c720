//! Models of embeddings and rerankers: what they compute equals ONNX Runtime with numpy, whatever their files say, and the laws hold.
//!
//! `fixtures/text_models/make.py` makes the models and the expected numbers.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, missing_docs)] // a test may panic

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use alloquy_core::{ErrorKind, Result};
use alloquy_onnx::{
    EmbedderOptions, OnnxEmbedder, OnnxReranker, Pooling, RerankerOptions, TextModelNote, open_embedder,
    open_reranker,
};
use alloquy_retrieval::{Embedder as _, HEADING, Passage, Reranker as _, TextKind, laws};
use pollster::block_on;
use proptest::prelude::*;
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Deserialize)]
struct Cases {
    texts: Vec<String>,
    embedder: Vec<Case>,
    reranker: Scores,
}

#[derive(Deserialize)]
struct Case {
    name: String,
    /// Files that replace the model's; `None` removes one.
    files: BTreeMap<String, Option<Value>>,
    options: Options,
    notes: Vec<String>,
    cut: Vec<usize>,
    vectors: Vec<Vec<f32>>,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Options {
    kind: Option<String>,
    pooling: Option<Vec<String>>,
    passage_prefix: Option<String>,
    dimensions: Option<usize>,
    max_tokens: Option<usize>,
    graph_type: Option<String>,
}

#[derive(Deserialize)]
struct Scores {
    query: String,
    pairs: Vec<Pair>,
}

#[derive(Deserialize)]
struct Pair {
    passage: String,
    is_cut: bool,
    logit: f64,
}

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/text_models")
}

fn cases() -> Cases {
    serde_json::from_str(&fs::read_to_string(fixtures().join("cases.json")).unwrap()).unwrap()
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy(&path, &target);
        } else {
            fs::copy(&path, &target).unwrap();
        }
    }
}

/// The folder of a model with other files.
fn folder_with(model: &str, files: &BTreeMap<String, Option<Value>>) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    copy(&fixtures().join(model), folder.path());
    for (name, content) in files {
        let path = folder.path().join(name);
        match content {
            Some(content) => {
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, content.to_string()).unwrap();
            }
            None => fs::remove_file(path).unwrap(),
        }
    }
    folder
}

fn changed(model: &str, files: &[(&str, Option<Value>)]) -> tempfile::TempDir {
    let mut changes = BTreeMap::new();
    for (name, content) in files {
        changes.insert((*name).to_owned(), content.clone());
    }
    folder_with(model, &changes)
}

fn pooling(name: &str) -> Pooling {
    match name {
        "cls" => Pooling::Cls,
        "max" => Pooling::Max,
        other => panic!("no case uses {other}"),
    }
}

fn options_of(case: &Options) -> EmbedderOptions {
    let mut options = EmbedderOptions::default();
    options.model.threads = Some(1);
    options.model.max_tokens = case.max_tokens;
    options.model.graph_type = case.graph_type.clone();
    options.passage_prefix = case.passage_prefix.clone();
    options.dimensions = case.dimensions;
    let names = case.pooling.as_ref();
    options.pooling = names.map(|names| names.iter().map(|name| pooling(name)).collect());
    options
}

fn open(folder: &Path, options: &EmbedderOptions) -> Result<OnnxEmbedder> {
    OnnxEmbedder::open(folder, options, &mut |_| {})
}

fn refused(folder: &Path, options: &EmbedderOptions) -> (ErrorKind, String) {
    let error = open(folder, options).unwrap_err();
    (error.kind(), error.to_string())
}

#[test]
fn vectors_are_those_of_the_table() {
    let cases = cases();
    let texts: Vec<&str> = cases.texts.iter().map(String::as_str).collect();
    for case in &cases.embedder {
        let name = &case.name;
        let folder = folder_with("embedder", &case.files);
        let embedder = open(folder.path(), &options_of(&case.options))
            .unwrap_or_else(|error| panic!("{name}: {error:#}"));
        let kind = if case.options.kind.is_some() { TextKind::Query } else { TextKind::Passage };
        let embeddings = block_on(embedder.embed(&texts, kind)).unwrap();
        assert_eq!(embeddings.cut, case.cut, "{name}");
        assert_eq!(embeddings.vectors.len(), case.vectors.len(), "{name}");
        for (text, (computed, expected)) in texts.iter().zip(embeddings.vectors.iter().zip(&case.vectors)) {
            assert_eq!(computed.len(), embedder.dimensions(), "{name}");
            assert_eq!(computed.len(), expected.len(), "{name}");
            for (left, right) in computed.iter().zip(expected) {
                assert!((left - right).abs() < 1e-5, "{name}, {text:?}: {computed:?}\nexpected {expected:?}");
            }
        }
        let notes: Vec<String> = embedder.info().notes.iter().map(|note| format!("{note:?}")).collect();
        assert_eq!(notes.len(), case.notes.len(), "{name}: {notes:?}");
        for expected in &case.notes {
            assert!(notes.iter().any(|note| note.starts_with(expected.as_str())), "{name}: {notes:?}");
        }
    }
}

#[test]
fn an_embedder_keeps_the_laws() {
    for graph in [None, Some("direct"), Some("dynamic")] {
        let mut options = EmbedderOptions::default();
        options.model.graph_type = graph.map(str::to_owned);
        options.query_prefix = Some("query: ".to_owned());
        block_on(laws::embedder::all(&open(&fixtures().join("embedder"), &options).unwrap())).unwrap();
    }
    block_on(laws::embedder::all(&*open_embedder(fixtures().join("embedder")).unwrap())).unwrap();
}

#[test]
fn a_reranker_keeps_the_laws() {
    let reranker = open_reranker(fixtures().join("reranker")).unwrap();
    block_on(laws::reranker::all(&*reranker)).unwrap();
}

#[test]
fn scores_are_those_of_the_table() {
    let Scores { query, pairs } = cases().reranker;
    let passages: Vec<&str> = pairs.iter().map(|pair| pair.passage.as_str()).collect();
    let identity = json!({"max_position_embeddings": 48, "sentence_transformers": {"activation_fn": "torch.nn.modules.linear.Identity"}});
    let raw = changed("reranker", &[("config.json", Some(identity))]);
    for (folder, is_sigmoid) in [(fixtures().join("reranker"), true), (raw.path().to_owned(), false)] {
        let reranker = OnnxReranker::load(folder).unwrap();
        assert_eq!(reranker.info().uses_sigmoid, is_sigmoid);
        let found = block_on(reranker.scores(&query, &passages)).unwrap();
        for (pair, score) in pairs.iter().zip(&found.scores) {
            let expected = if is_sigmoid { 1.0 / (1.0 + (-pair.logit).exp()) } else { pair.logit };
            assert!((score - expected).abs() < 1e-5, "{:?}: {score}, expected {expected}", pair.passage);
        }
        let cut: Vec<usize> = (0..pairs.len()).filter(|&index| pairs[index].is_cut).collect();
        assert_eq!(found.cut, cut);
    }
}

#[test]
fn a_reranker_reads_the_heading_and_cuts_no_question() {
    let reranker = OnnxReranker::load(fixtures().join("reranker")).unwrap();
    let plain = Passage::new("1", "green tea");
    let under = plain.clone().metadata(HEADING, "rain");
    let scores = block_on(reranker.scores("tea", &["green tea", "rain\n\ngreen tea"])).unwrap().scores;
    for (passage, score) in [(plain, scores[0]), (under, scores[1])] {
        let ranked = block_on(reranker.rerank("tea", vec![passage])).unwrap();
        assert!((ranked[0].score - score).abs() < 1e-6);
    }
    let error = block_on(reranker.scores(&"tea ".repeat(60), &["tea"])).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ContextOverflow);
    assert_eq!(
        error.to_string(),
        "the text has 60 tokens, and the model reads 45 together with those of a passage: shorten the text"
    );
}

#[test]
fn a_model_that_is_no_reranker_is_refused() {
    let mut options = RerankerOptions::default();
    options.model.graph_type = Some("labels".to_owned());
    let error = OnnxReranker::open(fixtures().join("reranker"), &options, &mut |_| {}).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.to_string().contains("gives 3 scores"), "{error}");
    let error = OnnxReranker::load(fixtures().join("embedder")).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the graph has no output logits with scores; its outputs are last_hidden_state"
    );
}

#[test]
fn what_cannot_be_computed_is_refused_with_what_can() {
    let module = |kind: &str| json!([{"type": format!("sentence_transformers.models.{kind}"), "path": ""}]);
    let none = json!({"pooling_mode_cls_token": false});
    let lost = json!([{"type": "sentence_transformers.models.Pooling", "path": "1_Pooling/gone"}]);
    let out = json!([{"type": "sentence_transformers.models.Pooling", "path": "../elsewhere"}]);
    let table = [
        ("modules.json", Some(module("Dense")), ErrorKind::Unsupported, "the model has the step Dense"),
        ("modules.json", Some(module("CLIPModel")), ErrorKind::Unsupported, "expected those of text models"),
        ("modules.json", Some(json!({})), ErrorKind::Model, "no list of modules"),
        ("modules.json", Some(lost), ErrorKind::Model, "1_Pooling/gone/config.json, which does not exist"),
        ("modules.json", Some(out), ErrorKind::Model, "leads out of the model folder"),
        ("1_Pooling/config.json", Some(none), ErrorKind::Unsupported, "one of: cls, max, mean"),
        ("1_Pooling/config.json", None, ErrorKind::Model, "which does not exist"),
        (
            "config_sentence_transformers.json",
            Some(json!({"prompts": {}, "default_prompt_name": "query"})),
            ErrorKind::Model,
            "no prompt \"query\", which it names as the default",
        ),
        ("tokenizer.json", None, ErrorKind::Model, "has no tokenizer.json"),
        ("onnx/model.onnx", None, ErrorKind::Unsupported, ""),
    ];
    for (file, content, kind, part) in table {
        let folder = changed("embedder", &[(file, content)]);
        if file == "onnx/model.onnx" {
            // Another graph is there, the first by name.
            assert_eq!(
                open(folder.path(), &EmbedderOptions::default()).unwrap().info().graph,
                "model_both.onnx"
            );
            continue;
        }
        let (found, message) = refused(folder.path(), &EmbedderOptions::default());
        assert!(found == kind && message.contains(part), "{file}: {found:?}, {message}");
    }
}

#[test]
fn options_out_of_range_are_refused() {
    let folder = fixtures().join("embedder");
    let mut table: Vec<(EmbedderOptions, &str)> = Vec::new();
    for (kept, part) in [(0, "0 dimensions, expected 1 to 16"), (17, "17 dimensions, expected 1 to 16")] {
        let mut options = EmbedderOptions::default();
        options.dimensions = Some(kept);
        table.push((options, part));
    }
    for (tokens, part) in [(49, "more than the 48 positions"), (2, "the least is 3"), (0, "the least is 3")] {
        let mut options = EmbedderOptions::default();
        options.model.max_tokens = Some(tokens);
        table.push((options, part));
    }
    let mut options = EmbedderOptions::default();
    options.pooling = Some(Vec::new());
    table.push((options, "no pooling was given"));
    let mut options = EmbedderOptions::default();
    options.model.threads = Some(0);
    table.push((options, "threads must be at least 1"));
    for (options, part) in table {
        let (kind, message) = refused(&folder, &options);
        assert!(kind == ErrorKind::Invalid && message.contains(part), "{kind:?}, {message}");
    }
    let mut options = EmbedderOptions::default();
    options.model.graph_type = Some("q4".to_owned());
    let (kind, message) = refused(&folder, &options);
    assert!(
        kind == ErrorKind::Model && message.contains("has no graph \"q4\"; it has model.onnx"),
        "{message}"
    );
    let mut options = EmbedderOptions::default();
    options.model.providers = vec!["abacus".to_owned()];
    assert_eq!(refused(&folder, &options).0, ErrorKind::Backend);
}

#[test]
fn a_number_of_tokens_that_no_file_names_is_assumed_and_noted() {
    let folder = changed("embedder", &[("config.json", None), ("sentence_bert_config.json", None)]);
    let embedder = OnnxEmbedder::load(folder.path()).unwrap();
    assert_eq!(embedder.info().max_tokens, 512);
    assert_eq!(embedder.info().notes, [TextModelNote::MaxTokensAssumed { tokens: 512 }]);
    assert_eq!(embedder.count_tokens("green tea").unwrap(), 4);
}

#[test]
fn positions_that_a_kind_of_model_does_not_use_do_not_count() {
    let config = json!({"model_type": "xlm-roberta", "max_position_embeddings": 42});
    let folder = changed("embedder", &[("config.json", Some(config)), ("sentence_bert_config.json", None)]);
    assert_eq!(OnnxEmbedder::load(folder.path()).unwrap().info().max_tokens, 40);
}

#[test]
fn no_more_tokens_are_read_than_there_are_positions() {
    let long = json!({"max_seq_length": 4_000});
    let folder = changed("embedder", &[("sentence_bert_config.json", Some(long))]);
    let embedder = OnnxEmbedder::load(folder.path()).unwrap();
    assert_eq!(embedder.info().max_tokens, 48);
    let embeddings = block_on(embedder.embed(&["green tea ".repeat(100).as_str()], TextKind::Passage));
    assert_eq!(embeddings.unwrap().cut, [0]);
}

/// The tokenizer knows no capital letter, so a word that has one is a single unknown token.
#[test]
fn a_text_is_in_lower_case_where_the_files_say_so_also_when_it_is_counted() {
    let mut tokenizer: Value =
        serde_json::from_str(&fs::read_to_string(fixtures().join("embedder/tokenizer.json")).unwrap())
            .unwrap();
    tokenizer["normalizer"]["lowercase"] = json!(false);
    for is_lowercase in [false, true] {
        let config = json!({"max_seq_length": 32, "do_lower_case": is_lowercase});
        let files =
            [("tokenizer.json", Some(tokenizer.clone())), ("sentence_bert_config.json", Some(config))];
        let folder = changed("embedder", &files);
        let embedder = OnnxEmbedder::load(folder.path()).unwrap();
        let vectors = block_on(embedder.embed(&["ASSAM", "assam"], TextKind::Passage)).unwrap().vectors;
        assert_eq!(vectors[0] == vectors[1], is_lowercase);
        let counts = ["ASSAM", "assam"].map(|text| embedder.count_tokens(text).unwrap());
        assert_eq!(counts[0] == counts[1], is_lowercase, "{counts:?}");
    }
}

#[test]
fn a_transformer_in_a_folder_of_its_own_is_read_there() {
    let inner = "0_Transformer";
    let modules = json!([
        {"type": "sentence_transformers.models.Transformer", "path": inner},
        {"type": "sentence_transformers.models.Pooling", "path": "1_Pooling"}]);
    let folder = changed("embedder", &[("modules.json", Some(modules))]);
    fs::create_dir(folder.path().join(inner)).unwrap();
    for name in ["tokenizer.json", "config.json", "sentence_bert_config.json"] {
        fs::rename(folder.path().join(name), folder.path().join(inner).join(name)).unwrap();
    }
    let embedder = OnnxEmbedder::load(folder.path()).unwrap();
    assert_eq!((embedder.info().max_tokens, embedder.info().pooling.as_slice()), (32, &[Pooling::Mean][..]));
}

#[test]
fn a_digest_differs_with_what_changes_vectors_alone() {
    let folder = fixtures().join("embedder");
    let usual = OnnxEmbedder::load(&folder).unwrap().digest();
    let elsewhere = changed("embedder", &[]);
    assert_eq!(OnnxEmbedder::load(elsewhere.path()).unwrap().digest(), usual);
    let mut same = EmbedderOptions::default();
    same.model.threads = Some(2);
    assert_eq!(open(&folder, &same).unwrap().digest(), usual);
    let mut others = vec![EmbedderOptions::default(); 5];
    others[0].pooling = Some(vec![Pooling::Cls]);
    others[1].passage_prefix = Some("in: ".to_owned());
    others[2].dimensions = Some(8);
    others[3].model.max_tokens = Some(16);
    others[4].model.graph_type = Some("dynamic".to_owned());
    for options in others {
        assert_ne!(open(&folder, &options).unwrap().digest(), usual, "{options:?}");
    }
    let mut tokenizer: Value =
        serde_json::from_str(&fs::read_to_string(folder.join("tokenizer.json")).unwrap()).unwrap();
    tokenizer["normalizer"]["lowercase"] = json!(false);
    let cased = changed("embedder", &[("tokenizer.json", Some(tokenizer))]);
    assert_ne!(OnnxEmbedder::load(cased.path()).unwrap().digest(), usual);
}

#[test]
fn a_model_is_free_again_when_a_future_was_dropped() {
    let embedder = OnnxEmbedder::load(fixtures().join("embedder")).unwrap();
    let texts = vec!["Where is tea grown?"; 20_000];
    let mut future = Box::pin(embedder.embed(&texts, TextKind::Passage));
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    assert!(future.as_mut().poll(&mut context).is_pending());
    drop(future);
    assert_eq!(block_on(embedder.embed(&["tea"], TextKind::Query)).unwrap().vectors.len(), 1);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever texts are in a batch, each has the vector that it has alone, and none makes the model fail.
    #[test]
    fn a_text_has_one_vector(texts in proptest::collection::vec(any::<String>(), 1..8)) {
        let embedder = OnnxEmbedder::load(fixtures().join("embedder")).unwrap();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let batch = block_on(embedder.embed(&texts, TextKind::Passage)).unwrap();
        for (text, expected) in texts.iter().zip(&batch.vectors) {
            let alone = block_on(embedder.embed(&[text], TextKind::Passage)).unwrap();
            for (left, right) in alone.vectors[0].iter().zip(expected) {
                prop_assert!((left - right).abs() < 1e-4);
            }
        }
    }
}
