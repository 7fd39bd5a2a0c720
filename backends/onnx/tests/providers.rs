//! What each execution provider can do with a model, and the choice of the fastest. On most machines there is only `cpu`.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)] // a test may panic

mod common;

use alloquy_core::ErrorKind;
use alloquy_engine::Engine;
use alloquy_onnx::{OnnxEngine, providers};
use common::graphs::{Cache, Lora, model};
use common::models;

const LORA: Lora = Lora::Optional;

#[test]
fn every_provider_of_the_build_is_tried() {
    let trials = OnnxEngine::of_files(model(Cache::Shared, &LORA)).threads(1).try_providers().unwrap();
    let names: Vec<_> = trials.iter().map(|trial| trial.provider.as_str()).collect();
    assert_eq!(names.len(), providers().count());
    assert_eq!(names.last(), Some(&"cpu"), "the processor is the last one");
    for trial in &trials[..trials.len() - 1] {
        // Where a provider is there, it computes the model; elsewhere its reason names it.
        if let Err(reason) = &trial.outcome {
            assert!(reason.contains(&trial.provider), "{reason}");
        }
    }
    let cpu = trials[trials.len() - 1].outcome.as_ref().unwrap();
    assert!(cpu.rate() > 1.0, "{cpu}");
    let share = cpu.on_cpu.as_ref().unwrap();
    assert_eq!(share.on_cpu(), share.nodes, "the processor computes all nodes");
    assert_eq!(share.operators["GroupQueryAttention"], 1);
}

#[test]
fn a_real_model_is_tried_and_the_fastest_provider_computes_it() {
    let Some(models) = models() else { return };
    let folder = models.join("stories260k");
    let trials = OnnxEngine::builder(&folder).try_providers().unwrap();
    assert!(trials.iter().any(|trial| trial.provider == "cpu" && trial.outcome.is_ok()), "{trials:?}");
    let chosen = OnnxEngine::builder(&folder).providers(["auto"]).load().unwrap();
    let choice = chosen.provider_choice().unwrap();
    assert_eq!(chosen.model().provider.as_ref(), Some(&choice.provider));
    assert!(chosen.model().warnings.is_empty());
    if trials.iter().filter(|trial| trial.outcome.is_ok()).count() == 1 {
        assert_eq!(choice.provider, "cpu");
    }
    let named = OnnxEngine::builder(&folder).providers(["cpu"]).load().unwrap();
    assert_eq!((named.model().provider.as_deref(), named.provider_choice()), (Some("cpu"), None));
    // The choice is that of a name: states are those of the provider.
    if choice.provider == "cpu" {
        assert_eq!(chosen.identity(), named.identity());
    }
}

#[test]
fn a_fault_of_the_model_is_not_one_of_a_provider() {
    let files = model(Cache::Concat, &LORA).file("model.onnx", b"no graph".as_slice());
    let error = OnnxEngine::of_files(files.clone()).try_providers().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Model);
    let error = OnnxEngine::of_files(files).providers(["auto"]).load().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Model);
}
