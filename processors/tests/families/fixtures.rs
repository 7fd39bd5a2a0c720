//! Fixtures of every family: conversations and what becomes of them, replies and how they are read.
//!
//! A fixture with a `reply` is read by the parser; one without is put into a template's input and cut into parts.

use std::fs;

use alloquy_core::processor::PromptPart;
use serde_json::{Value, json};

use crate::support::{self, Conversation};

#[test]
fn every_fixture_is_as_it_was() {
    insta::glob!("../fixtures", "*/*.json", |path| {
        let family = path.parent().and_then(|folder| folder.file_name()?.to_str()).unwrap();
        if matches!(family, "replies" | "sounds") {
            return;
        }
        let fixture: Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
        let conversation = Conversation::of(&fixture);
        let outcome = match fixture.get("reply").and_then(Value::as_str) {
            Some(reply) => read(family, &fixture, &conversation, reply),
            None => prompt(family, &conversation),
        };
        let info =
            fixture.get("about").and_then(Value::as_str).unwrap_or_else(|| panic!("say what it is about"));
        insta::with_settings!({ description => info, omit_expression => true }, {
            insta::assert_snapshot!(outcome);
        });
    });
}

fn read(family: &str, fixture: &Value, conversation: &Conversation, reply: &str) -> String {
    let rendered = fixture.get("rendered").and_then(Value::as_str).unwrap_or_default();
    let mut parser = support::processor(family).reply_parser(rendered, conversation.source());
    let _ = parser.push(reply);
    let (_, message) = parser.finish();
    let parts: Vec<_> = message.parts.iter().map(|part| json!(part).to_string()).collect();
    format!("{reply}\n--------\n{}", parts.join("\n"))
}

fn prompt(family: &str, conversation: &Conversation) -> String {
    let processor = support::processor(family);
    let input = match processor.template_input(conversation.source()) {
        Ok(input) => input,
        Err(error) => return format!("{:?}: {error}", error.kind()),
    };
    let fields = json!({"messages": input.messages, "tools": input.tools, "extra": input.extra});
    let fields = serde_json::to_string_pretty(&fields).unwrap();
    let rendered = support::render(family, &input);
    let parts = match processor.prompt_parts(&rendered, conversation.source()) {
        Ok(parts) => parts.iter().map(line).collect(),
        Err(error) => format!("{:?}: {error}\n", error.kind()),
    };
    let reported = processor.warnings(&rendered, conversation.source());
    let reported: String = reported.iter().map(|reported| format!("told    {}\n", json!(reported))).collect();
    format!("{}\n--------\n{parts}{reported}", visible(&fields))
}

/// Marks are private-use characters of plane 16, which have no glyph to show.
fn visible(text: &str) -> String {
    let visible = |symbol: char| match symbol {
        '\u{100000}'.. => format!("⟨{:X}⟩", u32::from(symbol)),
        symbol => symbol.to_string(),
    };
    text.chars().map(visible).collect()
}

fn line(part: &PromptPart) -> String {
    match part {
        PromptPart::Text(text) => format!("text    {text:?}\n"),
        PromptPart::Literal(text) => format!("literal {text:?}\n"),
        PromptPart::Media(media) => {
            let digest = media.digest().to_string();
            format!("media   {} {}…\n", media.media_type(), digest.get(..8).unwrap_or_default())
        }
        other => format!("{other:?}\n"),
    }
}
