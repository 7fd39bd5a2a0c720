//! Caches and products of 8 bits that a caller chooses at load.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::print_stderr)] // a test may panic

mod common;

use std::fs;
use std::path::Path;

use alloquy_core::ErrorKind;
use alloquy_core::tokenizer::TokenizerInput;
use alloquy_engine::Engine;
use alloquy_onnx::{
    GraphCacheStatus, GraphOptimization, KvCacheType, MatMulType, OnnxEngine, OnnxEngineBuilder, PromptLogits,
};
use alloquy_testing::laws;

use common::{continued, feed, greedy, load, models};

const TRAINED: &str = "stories260k";

/// Graphs with a sliding window, with convolutions beside attention, and with both keys and queries normalised.
const OTHERS: [&str; 3] = ["tiny/genai-gemma3-fp32-windowed", "stateful/lfm2-fp32", "tiny/genai-qwen3-fp32"];

const TEXT: &str =
    "Once upon a time, there was a little girl named Lily. She loved to play outside in the park.";

fn int8(models: &Path, name: &str) -> OnnxEngineBuilder {
    OnnxEngine::builder(models.join(name)).threads(1).kv_cache(KvCacheType::Int8)
}

/// Copies an export, and changes one of its files.
fn changed(from: &Path, file: &str, change: impl FnOnce(Vec<u8>) -> Vec<u8>) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        fs::copy(&path, folder.path().join(path.file_name().unwrap())).unwrap();
    }
    let path = folder.path().join(file);
    fs::write(&path, change(fs::read(&path).unwrap())).unwrap();
    folder
}

/// Returns bytes in which a pattern is replaced everywhere by another of its length.
fn replaced(mut bytes: Vec<u8>, from: &[u8], to: &[u8]) -> Vec<u8> {
    assert_eq!(from.len(), to.len());
    let mut count = 0;
    for at in 0..=bytes.len() - from.len() {
        if bytes[at..].starts_with(from) {
            bytes[at..at + to.len()].copy_from_slice(to);
            count += 1;
        }
    }
    assert!(count > 0, "nothing to replace");
    bytes
}

#[test]
fn a_cache_of_8_bits_takes_a_quarter_and_says_nearly_the_same() {
    let Some(models) = models() else { return };
    let exported = load(&models, TRAINED);
    let quantized = int8(&models, TRAINED).load().unwrap();
    let quality = quantized.quantization_quality().unwrap();
    eprintln!("{quality}");
    assert!(quality.tokens >= 300 && quality.same_likeliest > 0.9, "{quality}");
    assert!(quality.divergence > 0.0 && quality.divergence < 0.05, "{quality}");
    assert!(exported.quantization_quality().is_none());
    assert_eq!(quantized.prompt_logits(), &PromptLogits::Edited);
    assert_ne!(quantized.identity(), exported.identity());
    assert_eq!((exported.prefill_chunk(), quantized.prefill_chunk()), (128, 256));

    let prompt = exported.tokenizer().encode(&[TokenizerInput::Text(TEXT)]).unwrap();
    let mut sessions = [&exported, &quantized].map(|engine| engine.open().unwrap());
    let replies = sessions.each_mut().map(|session| {
        let logits = feed(session.as_mut(), &prompt, prompt.len());
        continued(session.as_mut(), logits, 8)
    });
    assert_eq!(replies[0], replies[1]);
    let [wide, narrow] = sessions.each_ref().map(|session| session.bytes());
    assert_eq!(wide, narrow * 4);
}

#[test]
fn a_session_with_a_cache_of_8_bits_obeys_the_laws() {
    let Some(models) = models() else { return };
    let engine = int8(&models, TRAINED).load().unwrap();
    let prompt = engine.tokenizer().encode(&[TokenizerInput::Text(TEXT)]).unwrap();
    // It depends on the chunk whether keys and values are rounded before the attention reads them.
    laws::session::all(&engine, &prompt[..16], 0.5);
}

#[test]
fn caches_that_each_run_makes_anew_are_quantized_too() {
    let Some(models) = models() else { return };
    let shared = int8(&models, TRAINED).load().unwrap();
    let folder = changed(&models.join(TRAINED), "genai_config.json", |text| {
        let text = String::from_utf8(text).unwrap();
        text.replace("\"past_present_share_buffer\": true", "\"past_present_share_buffer\": false")
            .into_bytes()
    });
    let apart = OnnxEngine::builder(folder.path()).threads(1).kv_cache(KvCacheType::Int8).load().unwrap();
    let prompt: Vec<u32> = (20..60).collect();
    assert_eq!(greedy(&apart, &prompt, 40, 20), greedy(&shared, &prompt, 40, 20));
    assert_eq!(apart.quantization_quality(), shared.quantization_quality());
}

#[test]
fn other_graphs_with_this_attention_are_quantized_too() {
    let Some(models) = models() else { return };
    for name in OTHERS {
        let engine = int8(&models, name).load().unwrap();
        let quality = engine.quantization_quality().unwrap();
        eprintln!("{name}: {quality}");
        assert!(quality.divergence > 0.0, "{name}: {quality}");
        let prompt: Vec<u32> = (20..36).collect();
        laws::session::all(&engine, &prompt, 8.0);
    }
}

#[test]
fn a_measurement_is_kept_with_the_graphs() {
    let Some(models) = models() else { return };
    let folder = tempfile::tempdir().unwrap();
    let open = || int8(&models, TRAINED).graph_cache(folder.path()).load().unwrap();
    let first = open();
    assert_eq!(first.graph_cache(), &GraphCacheStatus::Written);
    let notes = || {
        let entries = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path());
        entries.filter(|path| path.extension().is_some_and(|end| end == "json")).collect::<Vec<_>>()
    };
    let [note] = <[_; 1]>::try_from(notes()).unwrap();
    let written = fs::read_to_string(&note).unwrap();
    // What is read is the note, not another measurement.
    let tokens = first.quantization_quality().unwrap().tokens;
    fs::write(&note, written.replace(&format!("\"tokens\":{tokens}"), "\"tokens\":7")).unwrap();
    let second = open();
    assert_eq!(second.graph_cache(), &GraphCacheStatus::Read);
    assert_eq!(second.quantization_quality().unwrap().tokens, 7);
    assert_eq!(first.identity(), second.identity());

    // A damaged note is measured again, and replaced.
    for damaged in
        ["", "{\"scales\": {}", &written.replace("\"scales\":{\"", "\"scales\":{\"other\":-1.0,\"")]
    {
        fs::write(&note, damaged).unwrap();
        assert_eq!(open().quantization_quality(), first.quantization_quality());
        assert_eq!(fs::read_to_string(&note).unwrap(), written);
    }
}

#[test]
fn what_cannot_be_quantized_is_refused() {
    let Some(models) = models() else { return };
    let refused = |builder: OnnxEngineBuilder| {
        let error = builder.load().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{error:#}");
        error.to_string()
    };
    let message = refused(int8(&models, "tiny/optimum-qwen3"));
    assert!(message.contains("cannot have a cache of int8: it has no attention"), "{message}");
    let message = refused(OnnxEngine::builder(models.join(TRAINED)).matmul(MatMulType::Int8));
    assert!(message.contains("cannot have products in int8: it has no products"), "{message}");
}

#[test]
fn products_of_8_bits_are_computed_where_an_export_has_no_level() {
    let Some(models) = models() else { return };
    let name = "tiny/genai-llama-int4";
    let message =
        OnnxEngine::builder(models.join(name)).matmul(MatMulType::Int8).load().unwrap_err().to_string();
    assert!(message.contains("exported with an accuracy level"), "{message}");

    // The same export without levels: of the attribute, the number is 0 instead of 4.
    let folder = changed(&models.join(name), "model.onnx", |graph| {
        replaced(graph, b"accuracy_level\x18\x04", b"accuracy_level\x18\x00")
    });
    let plain = OnnxEngine::builder(folder.path()).threads(1).load().unwrap();
    let engine = OnnxEngine::builder(folder.path()).threads(1).matmul(MatMulType::Int8).load().unwrap();
    let quality = engine.quantization_quality().unwrap();
    eprintln!("{name}: {quality}");
    assert!(quality.divergence > 0.0, "{quality}");
    assert_ne!(engine.identity(), plain.identity());
    // As the exporter would have made it.
    let exported = load(&models, name);
    let prompt: Vec<u32> = (20..60).collect();
    let mut sessions = [&engine, &exported].map(|engine| engine.open().unwrap());
    let logits = sessions.each_mut().map(|session| feed(session.as_mut(), &prompt, 40));
    assert_eq!(logits[0], logits[1]);
}

#[test]
fn an_int8_cache_needs_no_other_edit() {
    let Some(models) = models() else { return };
    let builder = int8(&models, TRAINED).graph_optimization(GraphOptimization::Disable);
    let engine = builder.load().unwrap();
    assert!(matches!(engine.prompt_logits(), PromptLogits::All { .. }));
    assert!(engine.quantization_quality().unwrap().divergence < 0.05);
}
