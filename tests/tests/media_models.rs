//! Images and videos with tiny models that see, through a manager: what is said, what is computed once, and what when a
//! image changes.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

mod shared;

use std::path::Path;
use std::sync::Arc;

use alloquy_core::media::MediaKind;
use alloquy_core::model_info::ModelInfo;
use alloquy_core::prompt::PromptUnit;
use alloquy_core::report::Warning;
use alloquy_core::tokenizer::TokenId;
use alloquy_core::{
    ChatModel, Content, Manager, Media, Message, Preface, Reply, Request, Result, Role, SamplingOptions,
    TurnRequest,
};
use alloquy_engine::Engine;
use alloquy_engine::decoder::SnapshotError;
use alloquy_engine::media_processor::MediaProcessor;
use alloquy_formats::messages::{self, Dialect, MediaRules};
use alloquy_inference::{Generator, GeneratorOptions, LanguageModel};
use alloquy_media::{AlphaHandling, ImageBackend, MediaOptions, MediaProcessors};
use alloquy_onnx::OnnxEngine;
use alloquy_storage::read_media;
use alloquy_templates::JinjaTemplate;
use pollster::block_on;
use serde::Deserialize;

/// A template as those of Qwen's VL models are; the tiny models' own knows no images.
const TEMPLATE: &str = "{% for message in messages %}<|im_start|>{{ message.role }}\n\
    {% if message.content is string %}{{ message.content }}{% else %}{% for part in message.content %}\
    {% if part.type == 'image' %}<|vision_start|><|image_pad|><|vision_end|>\
    {% elif part.type == 'video' %}<|vision_start|><|video_pad|><|vision_end|>{% else %}{{ part.text }}{% endif %}\
    {% endfor %}{% endif %}<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}";

fn processors(model: &ModelInfo, options: &MediaOptions) -> Result<Option<Arc<dyn MediaProcessor>>> {
    let processors = MediaProcessors::with_options(model, options)?;
    Ok(processors.map(|processors| Arc::new(processors) as Arc<dyn MediaProcessor>))
}

fn round(model: &str) -> Option<LanguageModel> {
    round_with(model, MediaOptions::default())
}

fn round_with(model: &str, options: MediaOptions) -> Option<LanguageModel> {
    Some(loaded(&shared::find(&format!("models/tiny/{model}"))?, options))
}

fn loaded(folder: &Path, options: MediaOptions) -> LanguageModel {
    let read = move |model: &ModelInfo| processors(model, &options);
    let engine = OnnxEngine::builder(folder).media_from(read).load().unwrap();
    let family = alloquy_processors::detect(engine.model()).processor;
    let template = JinjaTemplate::builder(TEMPLATE).build().unwrap();
    LanguageModel::builder(Generator::new(Arc::new(engine), GeneratorOptions::default()).unwrap())
        .template(template)
        .processor(family)
        .build()
        .unwrap()
}

fn image(file: &str) -> Option<Content> {
    let file = shared::find(&format!("cases/media/inputs/image/{file}"))?;
    Some(Content::Image(read_media(MediaKind::Image, file).unwrap()))
}

fn shown(image: &Content, text: &str) -> Message {
    Message::new(Role::User, vec![image.clone(), Content::Text(text.into())])
}

fn short() -> SamplingOptions {
    SamplingOptions { temperature: Some(0.0), max_tokens: Some(4), ..SamplingOptions::default() }
}

async fn say(chat: &alloquy_core::Conversation, message: Message) -> Reply {
    chat.send(TurnRequest::from(message).sampling(short())).finish().await.unwrap().reply
}

#[test]
fn an_image_is_computed_once_and_another_one_from_its_place_on() {
    for model in ["tjs-qwen2.5-vl", "tjs-qwen3-vl"] {
        let (Some(round), Some(cat), Some(dog)) =
            (round(model), image("apng_160x120.png"), image("bmp_121x77.bmp"))
        else {
            return;
        };
        let manager = Manager::new(round.clone());
        block_on(async {
            let chat = manager.create(Preface::default()).await.unwrap();
            let first = say(&chat, shown(&cat, "What is this?")).await;
            let cache = first.cache.unwrap();
            assert_eq!((cache.cached, cache.computed), (0, cache.prompt), "{model}");
            assert!(first.usage.prompt > cache.prompt, "an image takes several positions: {:?}", first.usage);

            let second = say(&chat, Message::user("And now?")).await.cache.unwrap();
            assert!(second.cached >= cache.prompt, "{model}: {second:?}");
            assert_eq!(second.computed, second.prompt - second.cached);

            let request =
                Request::new(Preface::default(), vec![shown(&dog, "What is this?")]).sampling(short());
            let place = round.prepare(&request).unwrap().media[0].unit;
            let other = round.reply(request).await.unwrap().finish().await.unwrap().cache.unwrap();
            assert_eq!((other.cached, other.first_difference), (place, Some(place)), "{model}");
        });
    }
}

#[test]
fn what_stands_around_an_image_is_what_the_template_and_the_processor_say() {
    let (Some(round), Some(cat)) = (round("tjs-qwen2.5-vl"), image("apng_160x120.png")) else { return };
    let request = Request::new(Preface::default(), vec![shown(&cat, "<|image_pad|>")]);
    let prepared = round.prepare(&request).unwrap();
    let specials = &round.model().specials;
    let text = |unit: &PromptUnit| match unit {
        PromptUnit::Token(id) => {
            specials.iter().find(|special| special.id == *id).map(|special| special.text.clone())
        }
        PromptUnit::Media(_) => Some("(image)".to_owned()),
    };
    let said: Vec<_> = prepared.prompt.units.iter().filter_map(text).collect();
    let expected =
        ["<|im_start|>", "<|vision_start|>", "(image)", "<|vision_end|>", "<|im_end|>", "<|im_start|>"];
    assert_eq!(said, expected, "what the user writes is no place and no control token");
    let positions = prepared.media[0].positions;
    assert_eq!(prepared.positions(), prepared.prompt.units.len() - 1 + positions);
}

/// Documents with videos, and what transformers says to them (`xtask/media/replies.py`).
#[derive(Debug, Deserialize)]
struct Reference {
    folders: Vec<String>,
    conversations: Vec<Conversation>,
}

#[derive(Debug, Deserialize)]
struct Conversation {
    document: serde_json::Value,
    /// The texts before and after the video.
    before: Vec<TokenId>,
    after: Vec<TokenId>,
    positions: usize,
    greedy_ids: Vec<TokenId>,
}

impl Conversation {
    fn message(&self) -> Message {
        let mut read = messages::read(Dialect::Aki, &self.document, &MediaRules::default()).unwrap().messages;
        read.remove(0)
    }
}

/// Each model of a reference with each of its conversations.
fn each_conversation(check: impl Fn(LanguageModel, &Conversation)) {
    for name in ["qwen2.5", "qwen3"] {
        let file = format!("{}/tests/videos/{name}.json", env!("CARGO_MANIFEST_DIR"));
        let reference: Reference = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
        for folder in reference.folders {
            for conversation in &reference.conversations {
                let Some(round) = round(folder.trim_start_matches("tiny/")) else { return };
                check(round, conversation);
            }
        }
    }
}

fn tokens(units: &[PromptUnit]) -> Vec<TokenId> {
    let token = |unit: &PromptUnit| match unit {
        PromptUnit::Token(token) => Some(*token),
        PromptUnit::Media(_) => None,
    };
    units.iter().map_while(token).collect()
}

#[test]
fn to_a_video_of_aki_models_say_what_the_reference_says() {
    each_conversation(|round, conversation| {
        let length = conversation.greedy_ids.len();
        let sampling = SamplingOptions { max_tokens: Some(length), ..short() };
        let request = Request::new(Preface::default(), vec![conversation.message()]);
        let prepared = round.prepare(&request).unwrap();
        let video = &prepared.media[0];
        let units = &prepared.prompt.units;
        // The tokens at the ends of a video of Qwen3-VL are text, and no part of its unit.
        let Conversation { before, positions, after, .. } = conversation;
        assert_eq!(video.kind, MediaKind::Video);
        assert!(tokens(units).starts_with(before) && tokens(&units[video.unit + 1..]).ends_with(after));
        assert_eq!(prepared.positions(), before.len() + positions + after.len());

        let name = round.model().name.clone();
        let manager = Manager::new(round);
        let said = block_on(async {
            let chat = manager.create(Preface::default()).await.unwrap();
            let ask = TurnRequest::from(conversation.message()).sampling(sampling);
            chat.send(ask).finish().await.unwrap().reply
        });
        assert_eq!(said.tokens, conversation.greedy_ids, "{name}");
    });
}

#[test]
fn a_video_is_computed_once_and_another_frame_from_its_place_on() {
    each_conversation(|round, conversation| {
        let manager = Manager::new(round.clone());
        block_on(async {
            let chat = manager.create(Preface::default()).await.unwrap();
            let first = say(&chat, conversation.message()).await.cache.unwrap();
            let second = say(&chat, Message::user("And now?")).await.cache.unwrap();
            assert!(second.cached >= first.prompt, "{second:?}");
            assert_eq!(second.computed, second.prompt - second.cached);

            let mut message = conversation.message();
            let Some(Content::Video(frames)) = message.parts.first_mut().map(|part| &mut part.content) else {
                panic!("no video")
            };
            let first = frames[0].clone();
            *frames.last_mut().unwrap() = first;
            let request = Request::new(Preface::default(), vec![message]).sampling(short());
            let place = round.prepare(&request).unwrap().media[0].unit;
            let other = round.reply(request).await.unwrap().finish().await.unwrap().cache.unwrap();
            assert_eq!((other.cached, other.first_difference), (place, Some(place)));
        });
    });
}

#[test]
fn what_was_computed_of_an_image_is_not_taken_up_with_other_options() {
    let model = "tjs-qwen2.5-vl";
    let (Some(round), Some(cat)) = (round(model), image("apng_160x120.png")) else { return };
    let request = Request::new(Preface::default(), vec![shown(&cat, "What is this?")]).sampling(short());
    let restored = |options: MediaOptions| {
        let other = round_with(model, options).unwrap();
        block_on(async {
            round.reply(request.clone()).await.unwrap().finish().await.unwrap();
            let snapshot = round.snapshot(&request).await.unwrap();
            other.restore(snapshot.bytes().to_vec()).await
        })
    };
    assert!(restored(MediaOptions::default()).unwrap() > 0);
    let usual = MediaOptions::default;
    for options in [
        usual().pixel_cap(Some(10_000)),
        usual().backend(ImageBackend::Pillow),
        usual().alpha(AlphaHandling::Drop),
        usual().frames_per_second(2.0),
    ] {
        let refused = restored(options.clone()).unwrap_err();
        assert_eq!(refused, SnapshotError::OtherModel, "{options:?}");
    }
}

#[test]
fn what_a_model_says_of_its_videos_is_read_with_it() {
    let Some(folder) = shared::find("models/tiny/tjs-qwen2.5-vl") else { return };
    let copy = tempfile::tempdir().unwrap();
    std::fs::create_dir(copy.path().join("onnx")).unwrap();
    for part in ["", "onnx"] {
        for file in folder.join(part).read_dir().unwrap().map(|entry| entry.unwrap().path()) {
            if file.is_file() {
                std::fs::copy(&file, copy.path().join(part).join(file.file_name().unwrap())).unwrap();
            }
        }
    }
    let video = Content::Video(
        [1, 2, 3, 4]
            .map(|shade| {
                let bytes = [b"P6 1 1 255 ".as_slice(), &[shade; 3]].concat();
                Media::new("image/x-portable-pixmap", bytes)
            })
            .to_vec(),
    );
    let request = Request::new(Preface::default(), vec![shown(&video, "What happens?")]);
    let prepared = || loaded(copy.path(), MediaOptions::default()).prepare(&request).unwrap();
    let of_constants = prepared();
    std::fs::write(copy.path().join("video_preprocessor_config.json"), r#"{"max_frames": 2}"#).unwrap();
    let of_the_file = prepared();
    let sampled = |warning: &Warning| matches!(warning, Warning::FramesSampled { frames: 4, taken: 2, .. });
    assert_eq!(of_constants.media[0].positions, 2 * of_the_file.media[0].positions);
    assert!(!of_constants.warnings.iter().any(sampled));
    assert!(of_the_file.warnings.iter().any(sampled), "{:?}", of_the_file.warnings);
}
