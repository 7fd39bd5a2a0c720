//! What tells processors of media apart: every option and every description file that changes what a model is fed.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

use std::collections::BTreeSet;
use std::time::Duration;

use alloquy_core::Media;
use alloquy_core::media::Digest;
use alloquy_core::model_info::ModelInfo;
use alloquy_core::tokenizer::SpecialToken;
use alloquy_engine::media_processor::MediaProcessor;
use alloquy_media::{
    AlphaHandling, AudioLimits, AudioOptions, AudioOverflow, ImageBackend, MediaLimits, MediaOptions,
    MediaProcessors,
};
use alloquy_testing::laws;

fn model(model_type: &str, files: &[(&str, &str)]) -> ModelInfo {
    let mut model = ModelInfo::default();
    model.model_type = Some(model_type.to_owned());
    let config = [("config.json", r#"{"vision_config": {}, "audio_config": {}}"#)];
    for (name, text) in config.iter().chain(files) {
        model.files.insert((*name).to_owned(), (*text).to_owned());
    }
    model
}

fn processors(model: &ModelInfo, options: &MediaOptions) -> MediaProcessors {
    MediaProcessors::with_options(model, options).unwrap().unwrap()
}

/// An image of this size that is nowhere of one colour.
fn image(width: usize, height: usize) -> Media {
    let pixels = (0..width * height * 3).map(|index| (index * 37 % 251) as u8);
    let bytes = format!("P6 {width} {height} 255 ").into_bytes().into_iter().chain(pixels);
    Media::new("image/x-portable-pixmap", bytes.collect::<Vec<_>>())
}

fn media() -> Vec<Media> {
    let frames = [1, 2].map(|shade| {
        Media::new("image/x-portable-pixmap", [b"P6 1 1 255 ".as_slice(), &[shade; 3]].concat())
    });
    vec![image(300, 700), image(40, 30), Media::video(frames.to_vec()), Media::new("image/png", vec![1])]
}

fn options() -> Vec<MediaOptions> {
    let usual = MediaOptions::default;
    let audio = |audio| usual().audio(audio);
    vec![
        usual(),
        usual().backend(ImageBackend::Pillow),
        usual().alpha(AlphaHandling::Drop),
        usual().pan_and_scan(true),
        usual().pan_and_scan(false),
        usual().pixel_cap(None),
        usual().pixel_cap(Some(100_000)),
        usual().visual_tokens(70),
        usual().frames_per_second(2.0),
        usual().limits(MediaLimits { pixels: 200_000, ..MediaLimits::default() }),
        audio(AudioOptions { overlong: AudioOverflow::Refuse, ..AudioOptions::default() }),
        audio(AudioOptions { shortest: Duration::from_millis(300), ..AudioOptions::default() }),
        audio(AudioOptions {
            limits: AudioLimits { channels: 1, ..AudioLimits::default() },
            ..AudioOptions::default()
        }),
    ]
}

#[test]
fn the_laws_hold_whatever_the_options() {
    for model_type in ["gemma3", "gemma4", "qwen2_5_vl", "qwen3_vl"] {
        let model = model(model_type, &[]);
        let usual = MediaOptions::default();
        let options = options().into_iter().chain([usual]);
        let processors: Vec<_> = options.map(|options| processors(&model, &options)).collect();
        let processors: Vec<_> =
            processors.iter().map(|processor| processor as &dyn MediaProcessor).collect();
        laws::media_processor::all(&processors, &media());
    }
}

#[test]
fn every_option_and_every_file_has_an_identity_of_its_own() {
    let identity = |model: &ModelInfo, options: &MediaOptions| processors(model, options).identity();
    let usual = model("gemma3", &[]);
    let by_options = options().into_iter().map(|options| identity(&usual, &options));
    let files = [
        ("preprocessor_config.json", r#"{"do_pan_and_scan": true}"#),
        ("processor_config.json", "{}"),
        ("video_preprocessor_config.json", "{}"),
        ("genai_config.json", "{}"),
        ("config.json", r#"{"vision_config": {"image_size": 448}}"#),
    ];
    let by_files = files.map(|file| identity(&model("gemma3", &[file]), &MediaOptions::default()));
    let by_type = identity(&model("gemma3n", &[]), &MediaOptions::default());
    let mut spelt = usual.clone();
    spelt.specials.push(SpecialToken { id: 255_999, text: "<picture>".to_owned() });
    let spelt = identity(&spelt, &MediaOptions::default());
    let all: Vec<_> = by_options.chain(by_files).chain([by_type, spelt]).collect();
    assert_eq!(all.iter().collect::<BTreeSet<&Digest>>().len(), all.len());
    assert_eq!(identity(&usual, &MediaOptions::default()), all[0], "the same has the same");
}
