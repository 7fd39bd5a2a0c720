//! Models whose files are in memory: they compute the same as from a folder, and errors name what is wrong.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

mod common;

use std::fs;
use std::path::Path;

use alloquy_core::ErrorKind;
use alloquy_engine::Engine;
use alloquy_model_files::{ModelFiles, describe, describe_files};
use alloquy_onnx::OnnxEngine;
use common::{golden, greedy, load, models};

/// A model whose graph holds its weights; that of `stories260k` takes them from a file.
const WHOLE: &str = "stories260k-past-present";

/// Reads a model's folder, except the files in `without`.
fn files(folder: &Path, without: &[&str]) -> ModelFiles {
    let name = folder.file_name().unwrap().to_string_lossy();
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let named = entries.map(|path| (path.file_name().unwrap().to_string_lossy().into_owned(), path));
    let kept = named.filter(|(name, _)| !without.contains(&name.as_str()));
    kept.fold(ModelFiles::new(name), |files, (name, path)| files.file(name, fs::read(path).unwrap()))
}

#[test]
fn a_model_in_memory_computes_the_same_as_in_its_folder() {
    let Some(models) = models() else { return };
    let folder = models.join(WHOLE);
    let read = load(&models, WHOLE);
    let held = OnnxEngine::of_files(files(&folder, &[])).threads(1).load().unwrap();
    assert_eq!(format!("{:?}", held.model()), format!("{:?}", read.model()));
    let case = &golden(&models, "stories260k/golden.json").cases[0];
    assert_eq!(greedy(&held, &case.prompt_ids, 1, 20), case.greedy_ids[..20]);
    let described = describe_files(&files(&folder, &[])).unwrap();
    assert_eq!(format!("{described:?}"), format!("{:?}", describe(&folder).unwrap()));
}

#[test]
fn a_graph_in_memory_is_chosen_as_in_a_folder() {
    let Some(models) = models() else { return };
    let folder = models.join(WHOLE);
    let graph = fs::read(folder.join("model.onnx")).unwrap();
    let named = || files(&folder, &["model.onnx"]).file("model_q4.onnx", graph.clone());
    OnnxEngine::of_files(named()).load().unwrap();
    OnnxEngine::of_files(named()).graph_type("q4").load().unwrap();
    let error = OnnxEngine::of_files(named()).graph_type("fp16").load().unwrap_err();
    let said = error.to_string();
    assert_eq!(error.kind(), ErrorKind::Model);
    assert!(said.starts_with(&format!("model {WHOLE:?} has no decoder graph \"fp16\"; it has ")), "{said}");
    assert!(said.contains("model_q4.onnx"), "{said}");
}

#[test]
fn what_is_missing_or_damaged_is_named() {
    let Some(models) = models() else { return };
    let whole = || files(&models.join(WHOLE), &[]);
    let half = fs::read(models.join(WHOLE).join("model.onnx")).unwrap();
    let half = half[..half.len() / 2].to_vec();
    let cases = [
        (ModelFiles::new("nothing"), "model \"nothing\" has no decoder graph; it has no file"),
        (
            files(&models.join(WHOLE), &["tokenizer.json"]),
            "model \"stories260k-past-present\" has no tokenizer.json; it has ",
        ),
        (whole().file("config.json", b"{".as_slice()), "config.json is not valid JSON"),
        (whole().file("config.json", b"\xFF".as_slice()), "config.json is not UTF-8"),
        (whole().file("model.onnx", half), "\"model.onnx\" is not a whole ONNX file: it ends too early"),
        (
            whole().file("model.onnx", b"".as_slice()),
            "\"model.onnx\" is not a whole ONNX file: it holds no graph",
        ),
        (
            files(&models.join("stories260k"), &[]),
            "\"model.onnx\" takes weights from \"model.onnx.data\"; in memory a graph must hold its weights itself",
        ),
    ];
    for (files, said) in cases {
        let error = OnnxEngine::of_files(files).load().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Model, "{error:#}");
        assert!(error.to_string().starts_with(said), "{error:#}\nshould begin with: {said}");
    }
}

#[test]
fn bytes_are_not_printed() {
    let files = ModelFiles::new("little").file("model.onnx", vec![7; 1000]);
    assert_eq!(format!("{files:?}"), r#"ModelFiles { name: "little", sizes: {"model.onnx": 1000} }"#);
}
