//! What of a prompt with media is computed again by the thread of an ONNX engine, with the tiny models of that backend's tests.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::print_stderr)] // a test may panic

#[allow(dead_code)] // the backend's own tests take the rest
#[path = "../../backends/onnx/tests/media/tiny.rs"]
mod tiny;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use alloquy_core::SamplingOptions;
use alloquy_core::prompt::{Prompt, Unit};
use alloquy_core::report::CacheReport;
use alloquy_core::tokenizer::TokenId;
use alloquy_engine::Engine;
use alloquy_engine::decoder::{DecodeEvent, DecodeEventKind};
use alloquy_inference::{Generator, Sampler};
use futures::StreamExt;

use tiny::{MODELS, around, film, picture};

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

fn units(tokens: &[TokenId]) -> Vec<Unit> {
    tokens.iter().copied().map(Unit::Token).collect()
}

/// What of a prompt had been computed before.
fn reused(generator: &Generator, units: &[Unit]) -> CacheReport {
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
fn a_second_turn_forwards_what_is_new_and_another_picture_or_frame_all_from_there() {
    let Some(models) = models() else { return };
    let films = [[1, 2, 3], [1, 2, 4]].map(|seeds| film(&seeds, Duration::from_millis(500)));
    let pictures = [picture(1), picture(2)];
    for (model, [one, another]) in [
        (MODELS[1], &pictures),
        (MODELS[3], &pictures),
        (MODELS[3], &films),
        (MODELS[4], &films),
        (MODELS[6], &films),
    ] {
        let engine = Arc::new(model.load(&models));
        let generator = Generator::new(Arc::clone(&engine) as Arc<dyn Engine>, 2).unwrap();
        let first = around(one.clone());
        assert_eq!(reused(&generator, &first).forwarded, 25, "{}", model.folder);
        let second = [first.clone(), units(&[60, 61, 62, 63, 64])].concat();
        let report = reused(&generator, &second);
        assert_eq!((report.reused, report.forwarded), (25, 5), "{}", model.folder);
        let mut other = second.clone();
        other[12] = Unit::Media(another.clone());
        let report = reused(&generator, &other);
        assert_eq!((report.reused, report.forwarded), (12, 18), "{}", model.folder);
        reused(&generator, &[second, units(&[65])].concat());
        assert_eq!(engine.media_statistics().misses, 2, "{}", model.folder);
    }
}
