//! Models of images and audio clips: their tokens agree across layouts and with a reference, and their sessions obey the laws.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::print_stderr)] // a test may panic

mod common;
#[path = "media/odd.rs"]
mod odd;
#[path = "media/tiny.rs"]
mod tiny;

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use alloquy_core::model_info::ModelInfo;
use alloquy_core::prompt::PromptUnit;
use alloquy_core::report::Warning;
use alloquy_core::tokenizer::TokenId;
use alloquy_core::{ErrorKind, Media};
use alloquy_engine::decoder::StateReader;
use alloquy_engine::{CancelToken, Engine};
use alloquy_model_files::ModelFiles;
use alloquy_onnx::OnnxEngine;
use alloquy_testing::laws;
use serde::Deserialize;

use common::{continued, models, units};
use odd::Odd;
use tiny::{Family, MODELS, Tiny, around, audio, image, padded_audio, video};

/// The same weights in both layouts.
const PAIRS: [(usize, usize); 2] = [(3, 4), (5, 6)];

fn logits(engine: &OnnxEngine, units: &[PromptUnit]) -> Vec<f32> {
    engine.open().unwrap().forward(units, &CancelToken::default()).unwrap().to_vec()
}

fn distance(left: &[f32], right: &[f32]) -> f32 {
    assert_eq!(left.len(), right.len());
    left.iter().zip(right).map(|(left, right)| (left - right).abs()).fold(0.0, f32::max)
}

/// Makes media of a seed.
type MakeMedia = fn(u8) -> Media;

/// Returns the kinds of media that a family takes, each with its number of positions.
fn positions(family: Family) -> Vec<(MakeMedia, usize)> {
    match family {
        Family::Gemma3 => vec![(image, 4)],
        Family::Gemma3n => vec![(audio, 7), (image, 256)],
        Family::Qwen25 | Family::Qwen3 => vec![(image, 6)],
    }
}

#[test]
fn every_model_takes_images_or_audio_and_encodes_each_once() {
    let Some(models) = models() else { return };
    for model in MODELS {
        let engine = model.load(&models);
        for (kind, count) in positions(model.family) {
            let one = around(kind(1));
            let other = around(kind(2));
            assert_eq!(engine.positions(&one[12]).unwrap(), count, "{}", model.folder);
            let seen = [&one, &other, &one].map(|units| logits(&engine, units));
            assert!(distance(&seen[0], &seen[1]) > 1e-4, "{} sees no difference", model.folder);
            assert_eq!(seen[0], seen[2], "{}", model.folder);
        }
        let statistics = engine.media_statistics();
        let kinds = positions(model.family).len() as u64;
        assert_eq!((statistics.misses, statistics.hits), (2 * kinds, kinds), "{}", model.folder);
        assert_eq!((statistics.kept, statistics.unfilled), (2 * kinds as usize, 0), "{}", model.folder);
        assert!(statistics.bytes > 0);
    }
}

#[test]
fn padding_has_no_effect_whatever_true_means_in_the_mask() {
    let Some(models) = models() else { return };
    // This export is only the encoder, for which true is padding; for processors true is audio.
    let engine = MODELS[2].load(&models);
    let first = logits(&engine, &around(padded_audio(1, 2)));
    let otherwise_padded = logits(&engine, &around(padded_audio(1, 3)));
    let second = logits(&engine, &around(padded_audio(2, 2)));
    assert_eq!(first, otherwise_padded);
    assert!(distance(&first, &second) > 1e-4);
}

#[test]
fn the_laws_of_sessions_hold_with_media() {
    let Some(models) = models() else { return };
    for model in MODELS {
        eprintln!("{}", model.folder);
        laws::session::all_units(&model.load(&models), &around(model.media(1)), 1e-4);
    }
}

#[test]
fn two_images_one_of_them_first_obey_the_laws() {
    let Some(models) = models() else { return };
    for model in [MODELS[1], MODELS[3], MODELS[4]] {
        let two = [&[PromptUnit::Media(model.media(3))], &around(model.media(1))[4..20]].concat();
        laws::session::all_units(&model.load(&models), &two, 1e-4);
    }
}

#[test]
fn both_layouts_of_the_same_weights_agree() {
    let Some(models) = models() else { return };
    for (left, right) in PAIRS {
        let [left, right] = [left, right].map(|index| MODELS[index].load(&models));
        let video = around(video(&[1, 2], Duration::from_secs(2)));
        for units in [around(image(1)), around(image(2)), around(image(1)).split_off(13), video] {
            let differs = distance(&logits(&left, &units), &logits(&right, &units));
            assert!(differs < 1e-4, "{} and {}: {differs}", left.model().name, right.model().name);
        }
    }
}

#[test]
fn media_longer_than_a_chunk_are_computed_in_several() {
    let Some(models) = models() else { return };
    for model in MODELS {
        let short = model.builder(&models).prefill_chunk(4).load().unwrap();
        let units = around(model.media(1));
        let differs = distance(&logits(&model.load(&models), &units), &logits(&short, &units));
        assert!(differs < 1e-4, "{}: {differs}", model.folder);
    }
}

#[derive(Debug, Deserialize)]
struct Reference {
    folders: Vec<String>,
    cases: Vec<Case>,
}

/// Tokens, media made of a seed, tokens, and the reply of the reference implementation.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    before: Vec<TokenId>,
    seeds: Vec<u8>,
    #[serde(default)]
    video: Option<VideoOf>,
    after: Vec<TokenId>,
    greedy_ids: Vec<TokenId>,
    min_top2_gap: f32,
    first_logits_0_8: Vec<f32>,
}

/// A video of a frame for each seed.
#[derive(Debug, Deserialize)]
struct VideoOf {
    seeds: Vec<u8>,
    seconds_apart: f64,
}

impl Case {
    fn prompt(&self, model: &Tiny) -> Vec<PromptUnit> {
        let images = self.seeds.iter().map(|seed| model.media(*seed));
        let video = self.video.iter().map(|of| video(&of.seeds, Duration::from_secs_f64(of.seconds_apart)));
        let media = images.chain(video).map(PromptUnit::Media);
        units(&self.before).into_iter().chain(media).chain(units(&self.after)).collect()
    }
}

/// Reads the references that `xtask/media/replies.py` has made.
fn references() -> Vec<Reference> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/media");
    let mut files: Vec<_> = folder.read_dir().unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(!files.is_empty());
    let mut references = Vec::new();
    for path in files {
        references.push(serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap());
    }
    references
}

#[test]
fn models_reply_like_the_reference() {
    let Some(models) = models() else { return };
    for reference in references() {
        for folder in &reference.folders {
            let model = MODELS.iter().find(|model| model.folder == folder).unwrap();
            let engine = model.load(&models);
            for (index, case) in reference.cases.iter().enumerate() {
                let prompt = case.prompt(model);
                let mut session = engine.open().unwrap();
                let first = session.forward(&prompt, &CancelToken::default()).unwrap().to_vec();
                let differs = distance(&first[..case.first_logits_0_8.len()], &case.first_logits_0_8);
                assert!(differs < 1e-4, "{folder}, case {index}: {differs}");
                let said = continued(session.as_mut(), first, case.greedy_ids.len());
                assert_eq!(said, case.greedy_ids, "{folder}, case {index}, gap {}", case.min_top2_gap);
            }
        }
    }
}

#[test]
fn without_a_processor_a_model_of_images_takes_only_text() {
    let Some(models) = models() else { return };
    let text = units(&(20..40).collect::<Vec<_>>());
    for model in MODELS {
        let without = OnnxEngine::builder(models.join(model.folder)).threads(1).load().unwrap();
        assert!(without.media().is_none());
        assert_eq!(logits(&without, &text), logits(&model.load(&models), &text), "{}", model.folder);
        let image = PromptUnit::Media(image(1));
        let mut session = without.open().unwrap();
        let refused = session.forward(std::slice::from_ref(&image), &CancelToken::default()).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Unsupported);
        assert_eq!(without.positions(&image).unwrap_err().kind(), ErrorKind::Unsupported);
        assert_eq!(without.media_statistics(), Default::default());
    }
}

#[test]
fn a_processor_is_chosen_by_the_facts_about_the_model() {
    let Some(models) = models() else { return };
    let choose = |model: &ModelInfo| {
        assert_eq!(model.model_type.as_deref(), Some("gemma3"));
        Ok(Some(Arc::new(Family::Gemma3) as Arc<dyn alloquy_engine::media_processor::MediaProcessor>))
    };
    let chosen = OnnxEngine::builder(models.join(MODELS[1].folder)).media_from(choose).load().unwrap();
    assert_eq!(chosen.media().unwrap().kinds().len(), 1);
    let refused = |_: &ModelInfo| Err(alloquy_core::Error::new(ErrorKind::Model, "no such model"));
    let error = OnnxEngine::builder(models.join(MODELS[1].folder)).media_from(refused).load().unwrap_err();
    assert_eq!(error.to_string(), "no such model");
    let text = OnnxEngine::builder(models.join("tiny/genai-qwen3-fp32")).media(Arc::new(Family::Gemma3));
    assert!(text.load().unwrap().media().is_none());
}

#[test]
fn an_encoder_has_providers_of_its_own_and_a_replacement_is_reported() {
    let Some(models) = models() else { return };
    let alone = MODELS[1].builder(&models).vision_providers(["gpu"]).load().unwrap_err();
    assert_eq!(alone.kind(), ErrorKind::Backend);
    let replaced = MODELS[1].builder(&models).vision_providers(["gpu", "cpu"]).load().unwrap();
    let [Warning::ProviderReplaced { asked, used, .. }] = replaced.model().warnings.as_slice() else {
        panic!("{:?}", replaced.model().warnings)
    };
    assert_eq!((asked.as_str(), used.as_str()), ("gpu", "cpu"));
    let audio = MODELS[2].builder(&models).audio_providers(["cpu", "gpu"]).load().unwrap();
    assert_eq!(audio.model().warnings, []);
    assert!(MODELS[2].builder(&models).audio_providers(["gpu"]).load().is_err());
}

#[test]
fn a_processor_that_does_not_fit_is_an_error_of_one_sentence() {
    let Some(models) = models() else { return };
    let cases = [
        (
            Odd::Name("input_features"),
            ErrorKind::Unsupported,
            "just what the processor gives, input_features: vision_encoder.onnx takes pixel_values",
        ),
        (Odd::Count(5), ErrorKind::Model, "the encoder gave 4 features for 5 positions"),
        (Odd::Count(3), ErrorKind::Model, "the encoder gave 4 features for 3 positions"),
        (Odd::Token, ErrorKind::Model, "no token \"<no such token>\", which marks media"),
        (Odd::Shape, ErrorKind::Model, "pixel_values as f32 [3, 56, 56], and vision_encoder.onnx takes"),
        (Odd::Nothing, ErrorKind::Invalid, "media without any position"),
    ];
    for (odd, kind, said) in cases {
        let engine = OnnxEngine::builder(models.join(MODELS[1].folder)).media(Arc::new(odd)).load().unwrap();
        let mut session = engine.open().unwrap();
        let error = session.forward(&around(image(1)), &CancelToken::default()).unwrap_err();
        assert_eq!(error.kind(), kind, "{odd:?}: {error:#}");
        assert!(error.to_string().contains(said), "{odd:?}: {error:#}");
    }
    let grid = OnnxEngine::builder(models.join(MODELS[4].folder)).media(Arc::new(Odd::Grid)).load().unwrap();
    let error = grid.positions(&PromptUnit::Media(image(1))).unwrap_err();
    assert_eq!(error.to_string(), "media of 1 x 2 x 2 positions take 6");
    let named = Odd::Name("pixel_values_videos");
    let engine = OnnxEngine::builder(models.join(MODELS[1].folder)).media(Arc::new(named)).load().unwrap();
    assert_eq!(logits(&engine, &around(image(1))), logits(&MODELS[1].load(&models), &around(image(1))));
}

#[test]
fn texts_between_positions_are_positions_too() {
    let Some(models) = models() else { return };
    for model in [MODELS[0], MODELS[1]] {
        let builder = OnnxEngine::builder(models.join(model.folder));
        let engine = builder.media(Arc::new(Odd::Halves)).load().unwrap();
        let halves = around(image(1));
        assert_eq!(engine.positions(&halves[12]).unwrap(), 5);
        assert!(distance(&logits(&engine, &halves), &logits(&model.load(&models), &halves)) > 1e-4);
        laws::session::all_units(&engine, &halves, 1e-4);
    }
}

#[test]
fn encoded_media_are_kept_up_to_the_budget() {
    let Some(models) = models() else { return };
    // Four features of 64 numbers of 4 bytes each.
    for (room, misses, kept) in [(0, 4, 0), (1024, 4, 1), (2048, 2, 2)] {
        let engine = MODELS[1].builder(&models).media_cache(room).load().unwrap();
        for seed in [1, 2, 1, 2] {
            logits(&engine, &around(image(seed)));
        }
        let statistics = engine.media_statistics();
        assert_eq!((statistics.misses, statistics.hits, statistics.kept), (misses, 4 - misses, kept));
        assert_eq!(statistics.bytes, kept * 1024);
    }
}

#[test]
fn a_state_is_restored_without_the_bytes_of_its_media() {
    let Some(models) = models() else { return };
    for model in [MODELS[1], MODELS[3]] {
        let prompt = around(model.media(1));
        let mut state = Vec::new();
        let writer = model.load(&models);
        let mut session = writer.open().unwrap();
        session.forward(&prompt, &CancelToken::default()).unwrap();
        session.snapshot(prompt.len(), &mut state).unwrap();
        let wanted = session.forward(&[PromptUnit::Token(60)], &CancelToken::default()).unwrap().to_vec();
        let PromptUnit::Media(media) = &prompt[12] else { unreachable!() };
        let known: Media = serde_json::from_str(&serde_json::to_string(media).unwrap()).unwrap();
        let mut prompt = prompt.clone();
        prompt[12] = PromptUnit::Media(known);
        let reader = model.load(&models);
        let mut session = reader.open().unwrap();
        session.restore(&prompt, &mut StateReader::new(&mut state.as_slice())).unwrap();
        assert_eq!(session.forward(&[PromptUnit::Token(60)], &CancelToken::default()).unwrap(), wanted);
        assert_eq!(reader.media_statistics().misses, 0);
    }
}

#[test]
fn another_media_processor_makes_another_identity() {
    let Some(models) = models() else { return };
    let builder = || OnnxEngine::builder(models.join(MODELS[1].folder));
    let read_by = |odd| builder().media(Arc::new(odd)).load().unwrap().identity();
    let identities = [
        read_by(Odd::Halves),
        read_by(Odd::Count(4)),
        MODELS[1].load(&models).identity(),
        builder().load().unwrap().identity(),
    ];
    assert_eq!(identities[0], read_by(Odd::Halves));
    assert_eq!(identities.iter().collect::<HashSet<_>>().len(), identities.len());
}

/// The files of a model in memory, with one of them changed.
fn in_memory(models: &Path, model: Tiny, change: impl Fn(&str, &mut Vec<u8>)) -> OnnxEngine {
    let folder = models.join(model.folder);
    let mut files = ModelFiles::new("tiny");
    for folder in [folder.clone(), folder.join("onnx")] {
        for entry in folder.read_dir().unwrap().map(|entry| entry.unwrap().path()) {
            if entry.is_file() {
                let name = entry.file_name().unwrap().to_str().unwrap();
                let mut bytes = std::fs::read(&entry).unwrap();
                change(name, &mut bytes);
                files = files.file(name, bytes);
            }
        }
    }
    OnnxEngine::of_files(files).threads(1).media(Arc::new(model.family)).load().unwrap()
}

#[test]
fn a_model_in_memory_is_the_same_and_other_graphs_make_another_identity() {
    let Some(models) = models() else { return };
    let model = MODELS[1];
    let units = around(image(1));
    let same = in_memory(&models, model, |_, _| {});
    assert_eq!(logits(&same, &units), logits(&model.load(&models), &units));
    assert_eq!(same.identity(), model.load(&models).identity());
    for changed in ["vision_encoder.onnx", "embed_tokens.onnx", "decoder_model_merged.onnx"] {
        // The first bytes of a graph are metadata, and do not change what it computes.
        let other = in_memory(&models, model, |name, bytes| {
            let place = bytes.windows(7).position(|window| window == b"pytorch");
            if let Some(place) = place.filter(|_| name == changed) {
                bytes[place] = b'q';
            }
        });
        assert_ne!(other.identity(), same.identity(), "{changed}");
    }
}
