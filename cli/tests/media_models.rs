//! Pictures with tiny models that see, through a manager: what is computed once, and what when the picture changes.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

mod shared;

use std::sync::Arc;

use alloquy_core::formats::MediaKind;
use alloquy_core::{
    Ask, Chat, ChatModel, Engine, Manager, MediaProcessor, Message, ModelInfo, Part, Preface, Reply, Request,
    Result, Role, Round, SamplingOptions, Unit,
};
use alloquy_onnx::OnnxEngine;
use alloquy_processors::MediaProcessors;
use alloquy_storage::read_media;
use alloquy_templates::JinjaTemplate;
use pollster::block_on;

/// A template as those of Qwen's VL models are; the tiny models' own knows no pictures.
const TEMPLATE: &str = "{% for message in messages %}<|im_start|>{{ message.role }}\n\
    {% if message.content is string %}{{ message.content }}{% else %}{% for part in message.content %}\
    {% if part.type == 'image' %}<|vision_start|><|image_pad|><|vision_end|>{% else %}{{ part.text }}{% endif %}\
    {% endfor %}{% endif %}<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}";

fn processors(model: &ModelInfo) -> Result<Option<Arc<dyn MediaProcessor>>> {
    let processors = MediaProcessors::of(model)?;
    Ok(processors.map(|processors| Arc::new(processors) as Arc<dyn MediaProcessor>))
}

fn round(model: &str) -> Option<Round> {
    let folder = shared::find(&format!("models/tiny/{model}"))?;
    let engine = OnnxEngine::builder(folder).media_from(processors).load().unwrap();
    let family = alloquy_processors::detect(engine.model()).processor;
    let template = JinjaTemplate::builder(TEMPLATE).build().unwrap();
    Some(Round::builder(Arc::new(engine)).template(template).processor(family).build().unwrap())
}

fn picture(file: &str) -> Option<Part> {
    let file = shared::find(&format!("cases/media/inputs/image/{file}"))?;
    Some(Part::Image(read_media(MediaKind::Image, file).unwrap()))
}

fn shown(picture: &Part, text: &str) -> Message {
    Message::new(Role::User, vec![picture.clone(), Part::Text(text.into())])
}

fn short() -> SamplingOptions {
    SamplingOptions { temperature: Some(0.0), max_tokens: Some(4), ..SamplingOptions::default() }
}

async fn say(chat: &Chat, message: Message) -> Reply {
    chat.send(Ask::from(message).sampling(short())).finish().await.unwrap().reply
}

#[test]
fn a_picture_is_computed_once_and_another_one_from_its_place_on() {
    for model in ["tjs-qwen2.5-vl", "tjs-qwen3-vl"] {
        let (Some(round), Some(cat), Some(dog)) =
            (round(model), picture("apng_160x120.png"), picture("bmp_121x77.bmp"))
        else {
            return;
        };
        let manager = Manager::over(Arc::new(round.clone())).build().unwrap();
        block_on(async {
            let chat = manager.create(Preface::default()).await.unwrap();
            let first = say(&chat, shown(&cat, "What is this?")).await;
            let cache = first.cache.unwrap();
            assert_eq!((cache.reused, cache.forwarded), (0, cache.prompt), "{model}");
            assert!(
                first.usage.prompt > cache.prompt,
                "a picture takes several positions: {:?}",
                first.usage
            );

            let second = say(&chat, Message::user("And now?")).await.cache.unwrap();
            assert!(second.reused >= cache.prompt, "{model}: {second:?}");
            assert_eq!(second.forwarded, second.prompt - second.reused);

            let request =
                Request::new(Preface::default(), vec![shown(&dog, "What is this?")]).sampling(short());
            let place = round.prepare(&request).unwrap().media[0].unit;
            let other = round.reply(request).await.unwrap().finish().await.unwrap().cache.unwrap();
            assert_eq!((other.reused, other.first_difference), (place, Some(place)), "{model}");
        });
    }
}

#[test]
fn what_stands_around_a_picture_is_what_the_template_and_the_processor_say() {
    let (Some(round), Some(cat)) = (round("tjs-qwen2.5-vl"), picture("apng_160x120.png")) else { return };
    let request = Request::new(Preface::default(), vec![shown(&cat, "<|image_pad|>")]);
    let prepared = round.prepare(&request).unwrap();
    let specials = &round.model().specials;
    let text = |unit: &Unit| match unit {
        Unit::Token(id) => {
            specials.iter().find(|special| special.id == *id).map(|special| special.text.clone())
        }
        Unit::Media(_) => Some("(picture)".to_owned()),
    };
    let said: Vec<_> = prepared.prompt.units.iter().filter_map(text).collect();
    let expected =
        ["<|im_start|>", "<|vision_start|>", "(picture)", "<|vision_end|>", "<|im_end|>", "<|im_start|>"];
    assert_eq!(said, expected, "what the user writes is no place and no control token");
    let positions = prepared.media[0].positions;
    assert_eq!(prepared.positions(), prepared.prompt.units.len() - 1 + positions);
}
