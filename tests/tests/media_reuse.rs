//! What of a prompt with media is computed again by the thread of an ONNX engine, with the tiny models of that backend's tests.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::print_stderr)] // a test may panic

#[allow(dead_code)] // the backend's own tests take the rest
#[path = "../../backends/onnx/tests/media/tiny.rs"]
mod tiny;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use alloquy_core::SamplingOptions;
use alloquy_core::prompt::{Prompt, PromptUnit};
use alloquy_core::report::CacheReport;
use alloquy_core::tokenizer::TokenId;
use alloquy_engine::Engine;
use alloquy_engine::decoder::{DecodeEvent, DecodeEventKind};
use alloquy_inference::{Generator, Sampler};
use futures::StreamExt;

use tiny::{MODELS, around, image, video};

/// Returns the folder of models, or says that the test is skipped.
fn models() -> Option<PathBuf> {
    let default = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../shared");
    let shared = std::env::var_os("ALLOQUY_SHARED").map_or(default, PathBuf::from);
    let models = shared.join("models");
    if !models.is_dir() {
        eprintln!("skipping: {models:?} does not exist, set ALLOQUY_SHARED");
        return None;
    }
    Some(models)
}

fn units(tokens: &[TokenId]) -> Vec<PromptUnit> {
    tokens.iter().copied().map(PromptUnit::Token).collect()
}

/// What of a prompt had been computed before.
fn cached(generator: &Generator, units: &[PromptUnit]) -> CacheReport {
    let sampler = Sampler::new(&SamplingOptions::default()).unwrap();
    let stream = generator.generate(Prompt { units: units.to_vec() }, sampler, 1);
    let events = pollster::block_on(stream.collect::<Vec<_>>());
    let report = |event| match event {
        Ok(DecodeEvent { kind: DecodeEventKind::Prefilled(report), .. }) => Some(report),
        Ok(_) => None,
        Err(error) => panic!("{error:#}"),
    };
    events.into_iter().find_map(report).unwrap()
}

#[test]
fn a_second_turn_forwards_what_is_new_and_another_image_or_frame_all_from_there() {
    let Some(models) = models() else { return };
    let videos = [[1, 2, 3], [1, 2, 4]].map(|seeds| video(&seeds, Duration::from_millis(500)));
    let images = [image(1), image(2)];
    for (model, [one, another]) in [
        (MODELS[1], &images),
        (MODELS[3], &images),
        (MODELS[3], &videos),
        (MODELS[4], &videos),
        (MODELS[6], &videos),
    ] {
        let engine = Arc::new(model.load(&models));
        let generator = Generator::new(Arc::clone(&engine) as Arc<dyn Engine>, 2).unwrap();
        let first = around(one.clone());
        assert_eq!(cached(&generator, &first).computed, 25, "{}", model.folder);
        let second = [first.clone(), units(&[60, 61, 62, 63, 64])].concat();
        let report = cached(&generator, &second);
        assert_eq!((report.cached, report.computed), (25, 5), "{}", model.folder);
        let mut other = second.clone();
        other[12] = PromptUnit::Media(another.clone());
        let report = cached(&generator, &other);
        assert_eq!((report.cached, report.computed), (12, 18), "{}", model.folder);
        cached(&generator, &[second, units(&[65])].concat());
        assert_eq!(engine.media_statistics().misses, 2, "{}", model.folder);
    }
}
