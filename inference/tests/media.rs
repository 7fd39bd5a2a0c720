//! Media in a conversation: what stands around them, what they take of the context, and what is reused.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

use std::sync::Arc;

use alloquy_core::media::{Digest, MediaKind};
use alloquy_core::processor::PromptPart;
use alloquy_core::prompt::{PreparedPrompt, PromptUnit};
use alloquy_core::report::{CacheReport, Warning};
use alloquy_core::template::{PromptEnd, PromptTemplate, TemplateInput};
use alloquy_core::{
    ChatModel, Content, Conversation, ErrorKind, Manager, Media, Message, Preface, Reply, Request, Result,
    Role, SamplingOptions, TurnRequest,
};
use alloquy_inference::{Generator, GeneratorOptions, LanguageModel};
use alloquy_testing::{ScriptedEngine, ScriptedMedia, TaggedProcessor, TaggedTemplate};
use pollster::block_on;

const SCRIPT: [(&str, &str); 2] =
    [("What?<end><assistant>", "A cat."), ("And now?<end><assistant>", "It sleeps.")];

fn engine() -> ScriptedEngine {
    ScriptedEngine::new(SCRIPT).media(ScriptedMedia::default())
}

fn over(engine: ScriptedEngine) -> LanguageModel {
    LanguageModel::builder(Generator::new(Arc::new(engine), GeneratorOptions::default()).unwrap())
        .template(TaggedTemplate)
        .processor(TaggedProcessor)
        .build()
        .unwrap()
}

fn image(bytes: &[u8]) -> Media {
    Media::new("image/png", bytes.to_vec())
}

fn shown(media: Media, text: &str) -> Message {
    Message::new(Role::User, vec![Content::Image(media), Content::Text(text.into())])
}

fn request(path: Vec<Message>) -> Request {
    Request::new(Preface::default(), path)
}

fn prepared(path: Vec<Message>) -> Result<PreparedPrompt> {
    over(engine()).prepare(&request(path))
}

fn reply(round: &LanguageModel, request: Request) -> Result<Reply> {
    block_on(async { round.reply(request).await?.finish().await })
}

#[test]
fn texts_around_media_join_the_prompt() {
    let cat = image(&[1, 2, 3]);
    let prompt = prepared(vec![shown(cat.clone(), "What?")]).unwrap();
    let expected = [
        PromptPart::Text("<user>\n<begin>".into()),
        PromptPart::Media(cat),
        PromptPart::Text("<finish>\nWhat?<end><assistant>".into()),
    ];
    assert_eq!(prompt.parts, expected);
    let before = prompt.prompt.units.iter().position(|unit| matches!(unit, PromptUnit::Media(_)));
    assert_eq!(before, Some(3), "<user>, a line break and <begin>");
    assert_eq!((prompt.media[0].unit, prompt.media[0].positions), (3, 3));
    assert_eq!(prompt.media[0].kind, MediaKind::Image);
    assert_eq!(prompt.positions(), prompt.prompt.units.len() + 2);
    assert_eq!([3, 4].map(|units| prompt.positions_before(units)), [3, 6]);
}

#[test]
fn what_begins_media_is_said_once() {
    let path = vec![shown(image(&[1]), "What?")];
    let reported = |template: &'static str| {
        let round =
            LanguageModel::builder(Generator::new(Arc::new(engine()), GeneratorOptions::default()).unwrap())
                .template(Fixed(template))
                .processor(TaggedProcessor);
        let prompt = round.build().unwrap().prepare(&request(path.clone())).unwrap();
        prompt.parts.into_iter().filter_map(|part| match part {
            PromptPart::Text(text) => Some(text),
            _ => None,
        })
    };
    let both: Vec<_> = reported("a<begin><media><finish>b").collect();
    assert_eq!(both, ["a\n<begin>", "<finish>\nb"]);
    assert_eq!(
        reported("<begin> <media> <finish>").collect::<Vec<_>>(),
        ["<begin> \n<begin>", "<finish>\n <finish>"]
    );
}

/// A template that prints one text.
#[derive(Debug)]
struct Fixed(&'static str);

impl PromptTemplate for Fixed {
    fn render(&self, _: &TemplateInput) -> Result<String> {
        Ok(self.0.to_owned())
    }

    fn digest(&self) -> Digest {
        Digest::of(self.0.as_bytes())
    }
}

#[test]
fn a_video_is_one_unit_of_all_its_images() {
    let frames = vec![image(&[1, 2]), image(&[3])];
    let video = Message::new(Role::User, vec![Content::Video(frames.clone())]);
    let prompt = prepared(vec![video]).unwrap();
    let media: Vec<_> = prompt.media.iter().map(|media| (media.kind, media.positions)).collect();
    assert_eq!(media, [(MediaKind::Video, 3)]);
    assert_eq!(prompt.media[0].media, Media::video(frames));
    let file = Media::new("video/mp4", vec![7; 5]);
    let prompt = prepared(vec![Message::new(Role::User, vec![Content::Video(vec![file.clone()])])]).unwrap();
    assert_eq!((&prompt.media[0].media, prompt.media[0].positions), (&file, 5));
}

#[test]
fn a_model_says_what_it_takes() {
    let path = || vec![shown(image(&[1]), "What?")];
    let error = |engine| over(engine).prepare(&request(path())).unwrap_err();
    let blind = error(ScriptedEngine::new(SCRIPT));
    assert_eq!(
        (blind.kind(), blind.to_string().as_str()),
        (ErrorKind::Unsupported, "model \"scripted\" takes no image; it takes: text")
    );
    let deaf = error(ScriptedEngine::new(SCRIPT).media(ScriptedMedia::of([MediaKind::Audio])));
    assert_eq!(deaf.to_string(), "model \"scripted\" takes no image; it takes: text, audio");
    let odd = prepared(vec![shown(Media::new("text/plain", vec![1]), "What?")]).unwrap_err();
    assert_eq!(odd.to_string(), "media of the type \"text/plain\" are not an image, audio clip or video");
    let empty = prepared(vec![shown(image(&[]), "What?")]).unwrap_err();
    assert_eq!(empty.kind(), ErrorKind::Invalid);
    assert!(empty.to_string().starts_with("the image e3b0c442"), "{empty}");
}

#[test]
fn what_was_not_done_as_the_media_would_have_it_is_on_the_reply() {
    let large = image(&[7; 120]);
    let path =
        vec![shown(large.clone(), "What?"), Message::assistant("A cat."), shown(large.clone(), "And now?")];
    let reply = reply(&over(engine()), request(path)).unwrap();
    let capped = Warning::PixelsCapped { media: large.digest(), wanted: 120, taken: 100 };
    assert_eq!((reply.text().as_str(), reply.warnings), ("It sleeps.", vec![capped]));
}

#[test]
fn the_second_turn_computes_what_is_new_and_another_image_from_there_on() {
    let round = over(engine());
    let ask = |bytes: &[u8], said: &[&str]| -> CacheReport {
        let rest = said.iter().enumerate().skip(1).map(|(index, text)| match index % 2 {
            0 => Message::user(*text),
            _ => Message::assistant(*text),
        });
        let path = [shown(image(bytes), said[0])].into_iter().chain(rest).collect();
        reply(&round, request(path)).unwrap().cache.unwrap()
    };
    let first = ask(&[1, 2], &["What?"]);
    let second = ask(&[1, 2], &["What?", "A cat.", "And now?"]);
    assert_eq!(second.cached, first.prompt + "A cat.".len());
    let changed = ask(&[1, 3], &["What?", "A cat.", "And now?"]);
    assert_eq!((changed.cached, changed.first_difference), (3, Some(3)), "all before the image is reused");
}

#[test]
fn an_image_counts_what_it_takes() {
    let path = || vec![shown(image(&[7; 50]), "What?")];
    let prompt = prepared(path()).unwrap();
    let room = |context: usize| over(engine().context_length(context));
    let taken = prompt.positions();
    let full = reply(&room(taken), request(path())).unwrap_err();
    assert_eq!(full.kind(), ErrorKind::ContextOverflow);
    assert!(full.to_string().contains(&taken.to_string()), "{full}");
    let three = reply(&room(taken + 3), request(path())).unwrap();
    assert_eq!((three.text().as_str(), three.usage.prompt, three.usage.remaining), ("A c", taken, Some(0)));
    let sampling = SamplingOptions { max_tokens: Some(20), ..SamplingOptions::default() };
    let capped = reply(&room(taken + 10), request(path()).sampling(sampling)).unwrap();
    assert!(capped.warnings.contains(&Warning::MaxTokensCapped { asked: 20, room: 10 }));
}

#[test]
fn scores_and_warming_count_and_reuse_images() {
    block_on(async {
        let path = || request(vec![shown(image(&[7; 50]), "What?")]);
        let round = over(engine());
        let warm = round.warm(path()).await.unwrap().unwrap();
        assert_eq!(warm.computed, warm.prompt);
        let again = round.reply(path()).await.unwrap().finish().await.unwrap();
        assert_eq!(again.cache.unwrap().computed, 1);
        let scores = round.score(path(), &["A cat.".into(), "A dog.".into()]).await.unwrap();
        assert!(scores[0].total() > scores[1].total());
        let taken = round.prepare(&path()).unwrap().positions();
        let narrow = over(engine().context_length(taken + 5));
        let error = narrow.score(path(), &["A cat.".into()]).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ContextOverflow);
    });
}

#[test]
fn earlier_replies_stand_as_they_were_sampled_behind_media() {
    block_on(async {
        let manager = Manager::new(over(engine()));
        let conversation = manager.create(Preface::default()).await.unwrap();
        let said = TurnRequest::from(vec![shown(image(&[1, 2]), "What?")]);
        let first = conversation.send(said).finish().await.unwrap();
        assert_eq!(first.reply.text(), "A cat.");
        let second = conversation.send("And now?").finish().await.unwrap();
        let first = first.reply.cache.unwrap();
        let second = second.reply.cache.unwrap();
        assert_eq!((second.cached, second.miss), (first.prompt + "A cat.".len(), None));
    });
}

#[test]
fn a_conversation_tells_what_its_media_take() {
    let conversation = Conversation::new(over(engine()));
    conversation.ask(shown(image(&[1; 30]), "What?")).unwrap();
    let taken = block_on(conversation.token_count()).unwrap().unwrap();
    let left = block_on(conversation.remaining()).unwrap().unwrap();
    assert_eq!(taken + left, 4096);
    let path = vec![shown(image(&[1; 30]), "What?"), Message::assistant("A cat.")];
    let closed = over(engine()).prepare(&request(path).ending(PromptEnd::Closed)).unwrap();
    assert_eq!(taken, closed.positions());
}
