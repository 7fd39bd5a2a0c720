//! Media in prompts: every family puts them where its template says, and nowhere else.

use alloquy_core::arguments::{InjectionPolicy, ProcessorArguments};
use alloquy_core::processor::{ProcessorInput, PromptPart};
use alloquy_core::template::PromptEnd;
use alloquy_core::{Content, ErrorKind, Media, Message, Preface, Role};

use crate::support;

fn image(byte: u8) -> Content {
    Content::Image(Media::new("image/png", vec![byte]))
}

fn parts(family: &str, path: &[Message], rendered: &str) -> alloquy_core::Result<Vec<PromptPart>> {
    let preface = Preface::default();
    support::processor(family).prompt_parts(rendered, ProcessorInput::new(&preface, path, PromptEnd::Closed))
}

fn error(family: &str, path: &[Message], rendered: &str) -> String {
    let error = parts(family, path, rendered).unwrap_err();
    format!("{:?}: {error}", error.kind())
}

#[test]
fn a_template_that_prints_more_or_fewer_places_is_told() {
    let two = [Message::new(Role::User, vec![image(1), image(2)])];
    let audio = [Message::new(Role::User, vec![Content::Audio(Media::new("audio/wav", vec![1]))])];
    let reported = [
        error("qwen3", &two, "a<|image_pad|>b"),
        error("qwen3", &two, "<|image_pad|><|image_pad|><|image_pad|>"),
        error("qwen3", &two, "<|image_pad|><|image_pad|><|video_pad|>"),
        error("gemma3", &two, "nothing"),
        error("gemma3", &audio, "<start_of_image>"),
        error("lfm2", &audio, "<image>"),
        error("mistral", &two, "[IMG]"),
    ];
    insta::assert_snapshot!(reported.join("\n"));
}

#[test]
fn either_spelling_of_a_place_is_one_place() {
    let one = [Message::new(Role::User, vec![image(1)])];
    let media = PromptPart::Media(Media::new("image/png", vec![1]));
    for place in [
        "<start_of_image>",
        "<image_soft_token>",
        "<start_of_image><image_soft_token>",
        "<start_of_image><image_soft_token><end_of_image>",
    ] {
        let [before, after] = ["a", "b"].map(|text| PromptPart::Text(text.into()));
        assert_eq!(parts("gemma3", &one, &format!("a{place}b")).unwrap(), [before, media.clone(), after]);
    }
}

#[test]
fn media_of_the_preface_come_first_and_a_video_is_one() {
    let preface =
        Preface { messages: vec![Message::new(Role::System, vec![image(9)])], ..Preface::default() };
    let frames = [1, 2].map(|byte| Media::new("image/png", vec![byte]));
    let path = [Message::new(Role::User, vec![image(3), Content::Video(frames.to_vec())])];
    let source = ProcessorInput::new(&preface, &path, PromptEnd::Closed);
    let rendered = "<|video_pad|><|image_pad|><|image_pad|>";
    let parts = support::processor("qwen2_5").prompt_parts(rendered, source).unwrap();
    let image = |byte| PromptPart::Media(Media::new("image/png", vec![byte]));
    assert_eq!(parts, [PromptPart::Media(Media::video(frames.to_vec())), image(9), image(3)]);
}

#[test]
fn texts_that_look_like_places_are_counted_only_where_a_policy_lets_them_through() {
    let path = [Message::new(Role::User, vec![image(1), Content::Text(" is <|image_pad|>".into())])];
    let preface = Preface::default();
    let arguments = ProcessorArguments::default().injection(InjectionPolicy::unprotected());
    let processor = support::processor("qwen3");
    let print = |source| {
        let input = processor.template_input(source).unwrap();
        let text = input.messages[0]["content"][1]["text"].as_str().unwrap().to_owned();
        processor.prompt_parts(&format!("<|image_pad|>{text}"), source)
    };
    let source = ProcessorInput::new(&preface, &path, PromptEnd::Closed);
    let kept = print(source).unwrap();
    assert_eq!(
        kept[1..],
        [PromptPart::Text(" is <|image_pad|>".into())],
        "it is no control token of this model"
    );
    let loosened = print(ProcessorInput { arguments: &arguments, ..source }).unwrap_err();
    assert_eq!(loosened.kind(), ErrorKind::Template);
}
