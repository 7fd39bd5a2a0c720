//! What every data processor must do with media.

use alloquy_core::media::MediaKind;
use alloquy_core::processor::{DataProcessor, PromptPart, PromptSource};
use alloquy_core::template::{Ending, TemplateInput};
use alloquy_core::{Content, Media, Message, Preface, Role};
use serde_json::Value;

use super::prompts::{input, parts};

/// Media stand where the template printed the places of their kinds, in their order; a text that spells a place is none;
/// and a template that printed fewer places than there are media, or more, is refused.
///
/// `places` are the texts that a template of the family prints for media of a kind.
///
/// # Panics
/// When the law is broken.
pub fn media_stand_in_their_places(processor: &dyn DataProcessor, places: &[(MediaKind, &str)]) {
    for (kind, place) in places {
        let said = |text: &str| Content::Text(format!("{text}{place} {text}"));
        let path = [
            Message::new(Role::User, vec![said("a"), shown(*kind, 1), said("b")]),
            Message::new(Role::Assistant, vec![shown(*kind, 2), Content::Text("c".into())]),
        ];
        let preface = Preface::default();
        let source = PromptSource::new(&preface, &path, Ending::Closed);
        let rendered = render(&input(processor, source), place);
        let cut = parts(processor, &rendered, source);
        let media = cut.iter().filter_map(|part| match part {
            PromptPart::Media(media) => Some(media.clone()),
            _ => None,
        });
        let expected: Vec<_> = path.iter().flat_map(|message| &message.parts).collect();
        let expected: Vec<_> = expected.into_iter().filter_map(|part| part.content.shown()).collect();
        assert_eq!(
            media.collect::<Vec<_>>(),
            expected,
            "{place:?} has not the media that stand there: {cut:?}"
        );
        let texts: String = cut.iter().map(text).collect();
        assert_eq!(
            texts,
            format!("[user]a{place} a\u{0}b{place} b\n[assistant]\u{0}c\n"),
            "{place:?} of a text"
        );
        assert_eq!(cut, parts(processor, &rendered, source), "the same prompt gives other parts");
        for wrong in [rendered.replacen(place, "", 1), rendered.clone() + place, String::new()] {
            let refused = processor.prompt_parts(&wrong, source);
            assert!(
                refused.is_err() || wrong == rendered,
                "{wrong:?} has another number of places: {refused:?}"
            );
        }
    }
}

fn shown(kind: MediaKind, byte: u8) -> Content {
    kind.part(Media::new(format!("{kind}/x"), vec![byte]))
}

/// Renders each message as `[role]`, its parts and a line break.
fn render(input: &TemplateInput, place: &str) -> String {
    let printed = |part: &Value| part.get("text").and_then(Value::as_str).unwrap_or(place).to_owned();
    let content = |message: &Value| match message.get("content") {
        Some(Value::Array(parts)) => parts.iter().map(printed).collect::<String>(),
        other => panic!("{other:?} is no list of parts"),
    };
    let role = |message: &Value| message.get("role").and_then(Value::as_str).unwrap_or_default().to_owned();
    let line = |message: &Value| -> String { format!("[{}]{}\n", role(message), content(message)) };
    input.messages.iter().map(line).collect()
}

/// Media as a character that no text has.
fn text(part: &PromptPart) -> String {
    match part {
        PromptPart::Text(text) | PromptPart::Literal(text) => text.clone(),
        PromptPart::Media(_) => "\u{0}".to_owned(),
        other => panic!("{other:?} stands in a prompt of texts and media"),
    }
}
