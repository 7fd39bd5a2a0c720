//! What every data processor must do with media.

use alloquy_core::media::MediaKind;
use alloquy_core::processor::{DataProcessor, ProcessorInput, PromptPart};
use alloquy_core::template::{PromptEnd, TemplateInput};
use alloquy_core::{Content, Media, Message, Preface, Role};
use serde_json::Value;

use super::prompts::{input, parts};

/// Media are at the places that the template printed for their kinds, in their order.
///
/// A message text that contains the text of a place is no place. A rendered prompt is refused when the number of its places
/// is not the number of the media. `places` are the texts that a template of the family prints for media of a kind.
///
/// # Panics
/// When the law is broken.
pub fn media_are_at_their_places(processor: &dyn DataProcessor, places: &[(MediaKind, &str)]) {
    for (kind, place) in places {
        let first = Content::Text(format!("a{place} a"));
        let second = Content::Text(format!("b{place} b"));
        let path = [
            Message::new(Role::User, vec![first, shown(*kind, 1), second]),
            Message::new(Role::Assistant, vec![shown(*kind, 2), Content::Text("c".into())]),
        ];
        let preface = Preface::default();
        let source = ProcessorInput::new(&preface, &path, PromptEnd::Closed);
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
            "the media are not at their places {place:?}: {cut:?}"
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
    let mut rendered = String::new();
    for message in &input.messages {
        let role = message.get("role").and_then(Value::as_str).unwrap_or_default();
        rendered.push_str(&format!("[{role}]"));
        let parts = match message.get("content") {
            Some(Value::Array(parts)) => parts,
            other => panic!("{other:?} is no list of parts"),
        };
        for part in parts {
            rendered.push_str(part.get("text").and_then(Value::as_str).unwrap_or(place));
        }
        rendered.push('\n');
    }
    rendered
}

/// Returns the text of a part. Media are written as a character that no text has.
fn text(part: &PromptPart) -> String {
    match part {
        PromptPart::Text(text) | PromptPart::Literal(text) => text.clone(),
        PromptPart::Media(_) => "\u{0}".to_owned(),
        other => panic!("{other:?} is in a prompt of texts and media"),
    }
}
