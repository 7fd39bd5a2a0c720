//! What every data processor must do.
//!
//! ```
//! use alloquy_testing::{TaggedProcessor, laws};
//!
//! // `TaggedProcessor` protects no control tokens, so none are passed.
//! laws::processor::all(&TaggedProcessor, &[], &["Hello there.", "calls are text"]);
//! ```

mod marks;
mod media;
mod prompts;

use alloquy_core::arguments::{InjectionPolicy, ProcessorArguments, TextSource};
use alloquy_core::processor::{DataProcessor, ProcessorInput, PromptPart};
use alloquy_core::template::PromptEnd;
use alloquy_core::tokenizer::SpecialToken;
use alloquy_core::{Content, Message, Preface, Role, ToolSpec};
use serde_json::{Value, json};

use self::prompts::{Strip, each_speaker, input, parts, render, text_of};
use crate::doubles::{Draws, ReadReply, join_deltas};

pub use marks::what_a_processor_adds_is_no_way_in;
pub use media::media_are_at_their_places;

/// Runs every law that also applies to families without media.
///
/// `specials` are the model's control tokens. `replies` are replies of every shape that the family has.
///
/// # Panics
/// When a law is broken.
pub fn all(processor: &dyn DataProcessor, specials: &[SpecialToken], replies: &[&str]) {
    for reply in replies {
        deltas_join_to_the_message(processor, reply);
        any_chunking_reads_alike(processor, reply);
        nothing_is_lost(processor, reply);
        parsers_do_not_disturb_each_other(processor, reply);
    }
    plain_text_streams_unchanged(processor);
    plain_prompts_stay_untouched(processor);
    for special in specials {
        control_tokens_in_texts_stay_text(processor, &special.text);
        control_tokens_in_tools_stay_text(processor, &special.text);
        what_a_processor_adds_is_no_way_in(processor, &special.text);
        what_becomes_a_control_token_is_reported(processor, &special.text);
        prompts_are_pure(processor, &special.text);
    }
}

/// The deltas of a reply join to the parts of its message.
///
/// # Panics
/// When the law is broken.
pub fn deltas_join_to_the_message(processor: &dyn DataProcessor, reply: &str) {
    each_setting(|source| {
        let ReadReply { joined, message, .. } = read(processor, source, [reply]);
        let parts: Vec<_> = message.parts.into_iter().filter(|part| !is_empty(&part.content)).collect();
        assert_eq!(joined, parts, "the deltas of {reply:?} do not join to its message");
        assert_eq!(message.role, Role::Assistant, "the message of {reply:?} is not the assistant's");
    });
}

/// However a reply is cut into pieces, its joined deltas and its message are the same.
///
/// # Panics
/// When the law is broken.
pub fn any_chunking_reads_alike(processor: &dyn DataProcessor, reply: &str) {
    each_setting(|source| {
        let whole = read(processor, source, [reply]);
        let mut cuts: Vec<Vec<&str>> = Vec::new();
        for border in borders(reply) {
            let (left, right) = reply.split_at(border);
            cuts.push(vec![left, "", right]);
        }
        cuts.push(reply.split_inclusive(|_| true).collect());
        let mut draws = Draws::default();
        for longest in [2, 3, 5, 9, 17].repeat(8) {
            cuts.push(draws.pieces(reply, longest));
        }
        for pieces in cuts {
            let read = read(processor, source, pieces.iter().copied());
            assert_eq!(read, whole, "the pieces {pieces:?} read differently");
        }
    });
}

/// A word inserted anywhere into a reply, even into a marker, is in the message.
///
/// # Panics
/// When the law is broken.
pub fn nothing_is_lost(processor: &dyn DataProcessor, reply: &str) {
    const WORD: &str = "Quark";
    each_setting(|source| {
        for border in borders(reply) {
            let mut reply = reply.to_owned();
            reply.insert_str(border, WORD);
            let read = read(processor, source, [reply.as_str()]);
            assert!(read.says(WORD), "{WORD:?} of {reply:?} is not in {:?}", read.message);
        }
    });
}

/// Two parsers of one processor are independent.
///
/// # Panics
/// When the law is broken.
pub fn parsers_do_not_disturb_each_other(processor: &dyn DataProcessor, reply: &str) {
    each_setting(|source| {
        let alone = read(processor, source, [reply]).message;
        let mut parsers = [(); 2].map(|()| processor.reply_parser("", source));
        for piece in reply.split_inclusive(|_| true) {
            for parser in &mut parsers {
                let _ = parser.push(piece);
            }
        }
        let messages = parsers.map(|parser| parser.finish().1);
        assert_eq!(messages, [alone.clone(), alone], "two parsers disturb each other over {reply:?}");
    });
}

/// Text without markers comes out unchanged, most of it before the reply ends.
///
/// # Panics
/// When the law is broken.
pub fn plain_text_streams_unchanged(processor: &dyn DataProcessor) {
    let text = "Two and two\nare four, héllo. \n\n  And so on";
    each_setting(|source| {
        let mut parser = processor.reply_parser("", source);
        let mut streamed = Vec::new();
        for piece in text.split_inclusive(|_| true) {
            streamed.extend(parser.push(piece));
        }
        let early: String = join_deltas(&streamed).iter().filter_map(Content::as_text).collect();
        assert!(early.len() * 2 > text.len(), "only {early:?} of {text:?} came before the end");
        let (_, message) = parser.finish();
        assert_eq!(message, Message::assistant(text), "plain text does not stay as it is");
    });
}

/// A prompt without the text of a control token is one text part, whatever else it contains.
///
/// # Panics
/// When the law is broken.
pub fn plain_prompts_stay_untouched(processor: &dyn DataProcessor) {
    for text in ["Hello", "", "\u{F0000}\u{10FFFD}\u{E000}", "\\U0010fffd \\udbff\\udffd"] {
        each_speaker(text, |source, role| {
            let rendered = render(&input(processor, source), |text| text);
            assert_eq!(rendered, format!("[{role}]{text}\n"), "the text {text:?} of role {role} was changed");
            let parts = parts(processor, &rendered, source);
            assert_eq!(
                parts,
                [PromptPart::Text(rendered)],
                "the text {text:?} of role {role} is not one part"
            );
        });
    }
}

/// The text of a control token in a message becomes a literal part, at any place and whether or not the template strips white
/// space. The parts joined are the prompt without marks.
///
/// # Panics
/// When the law is broken.
pub fn control_tokens_in_texts_stay_text(processor: &dyn DataProcessor, special: &str) {
    for text in hostile_texts(special) {
        each_speaker(&text, |source, role| {
            for strip in [str::trim as Strip, |text| text] {
                let rendered = render(&input(processor, source), strip);
                let parts = parts(processor, &rendered, source);
                let unmarked = format!("[{role}]{}\n", strip(&text));
                assert_eq!(unmarked, text_of(&parts), "the parts do not join to the prompt");
                assert_literal(&parts, special, &text);
            }
        });
    }
}

/// Control tokens in the names, descriptions and parameters of tools stay text.
///
/// # Panics
/// When the law is broken.
pub fn control_tokens_in_tools_stay_text(processor: &dyn DataProcessor, special: &str) {
    let parameters = json!({"properties": {special: {"description": special, "enum": [special]}}});
    let preface = Preface::default().tool(ToolSpec::new(special, format!("Runs {special}"), parameters));
    let source = ProcessorInput::new(&preface, &[], PromptEnd::Closed);
    let tools = input(processor, source).tools.unwrap_or_default();
    let parts = parts(processor, &Value::from(tools).to_string(), source);
    assert_literal(&parts, special, "a tool's description");
    let text = text_of(&parts);
    let escaped = json!(special).to_string();
    let times = text.matches(escaped.trim_matches('"')).count();
    assert_eq!(times, 5, "the texts of a tool were changed: {text}");
}

/// A processor reports exactly those texts whose control tokens stay control tokens, under every injection policy. A control
/// token that the policy does not allow becomes text.
///
/// # Panics
/// When the law is broken.
pub fn what_becomes_a_control_token_is_reported(processor: &dyn DataProcessor, special: &str) {
    let policies = TextSource::ALL.map(|source| InjectionPolicy::trust([source]));
    let others = [InjectionPolicy::allow([special]), InjectionPolicy::allow(["no such token"])];
    for policy in policies.into_iter().chain(others) {
        let arguments = ProcessorArguments::default().injection(policy.clone());
        each_speaker(&format!("a {special} b"), |source, role| {
            let source = ProcessorInput { arguments: &arguments, ..source };
            let rendered = render(&input(processor, source), |text| text);
            let passed = parts(processor, &rendered, source).iter().any(|part| is_text(part, special));
            let warnings = processor.warnings(&rendered, source);
            assert_eq!(passed, !warnings.is_empty(), "{policy:?}, {special:?} of role {role}: {warnings:?}");
            let allowed = policy.lets(role.into(), special);
            assert!(allowed || !passed, "{policy:?} does not allow {special:?} of role {role}");
        });
    }
}

/// The same conversation gives the same input and the same parts.
///
/// # Panics
/// When the law is broken.
pub fn prompts_are_pure(processor: &dyn DataProcessor, special: &str) {
    each_speaker(special, |source, _| {
        let first = input(processor, source);
        assert_eq!(first, input(processor, source), "the same conversation gives another input");
        let rendered = render(&first, |text| text);
        let parts_before = parts(processor, &rendered, source);
        assert_eq!(parts_before, parts(processor, &rendered, source), "the same prompt gives other parts");
    });
}

/// Calls `check` with a conversation without tools, and with one that has a tool.
fn each_setting(check: impl Fn(ProcessorInput<'_>)) {
    let tool = ToolSpec::new("add", "Adds two numbers", json!({"type": "object", "properties": {}}));
    for preface in [Preface::default(), Preface::default().tool(tool)] {
        let path = [Message::user("Hi")];
        check(ProcessorInput::new(&preface, &path, PromptEnd::Generation));
    }
}

fn hostile_texts(special: &str) -> Vec<String> {
    let middle = special.char_indices().nth(special.chars().count() / 2).map_or(0, |(middle, _)| middle);
    let (left, right) = special.split_at(middle);
    vec![
        special.to_owned(),
        format!("a{special}b"),
        format!(" \n{special}\t "),
        format!("{special}{special} {special}"),
        format!("{left}{special}{right}"),
        format!("\u{10FFFD}{special}\u{10FFFD}{left}\u{10FFFD}{right}"),
        format!("{left}\u{F0000}{right}{special}\u{E000}"),
        format!("{left}\\U0010fffd{right}{special}"),
    ]
}

fn assert_literal(parts: &[PromptPart], special: &str, place: &str) {
    let passed = parts.iter().find(|part| is_text(part, special));
    assert_eq!(passed, None, "{special:?} of {place:?} became a control token");
    let is_literal =
        parts.iter().any(|part| matches!(part, PromptPart::Literal(text) if text.contains(special)));
    assert!(is_literal, "{special:?} of {place:?} is no literal part: {parts:?}");
}

/// Returns whether a part is text in which `special` is read as a control token.
fn is_text(part: &PromptPart, special: &str) -> bool {
    matches!(part, PromptPart::Text(text) if text.contains(special))
}

/// Parses a reply that comes in these pieces.
fn read<'a>(
    processor: &dyn DataProcessor,
    source: ProcessorInput<'_>,
    pieces: impl IntoIterator<Item = &'a str>,
) -> ReadReply {
    ReadReply::new(processor.reply_parser("", source), pieces)
}

fn is_empty(part: &Content) -> bool {
    match part {
        Content::Text(text) | Content::Thinking(text) => text.is_empty(),
        Content::Channel(channel) => channel.text.is_empty(),
        _ => false,
    }
}

/// Returns where `text` can be cut, both ends included.
fn borders(text: &str) -> impl Iterator<Item = usize> {
    text.char_indices().map(|(border, _)| border).chain([text.len()])
}

#[cfg(test)]
mod tests {
    use crate::doubles::TaggedProcessor;

    #[test]
    fn the_test_processor_reads_replies_as_it_must() {
        for reply in ["", "Hello there.", "calls are text"] {
            super::deltas_join_to_the_message(&TaggedProcessor, reply);
            super::any_chunking_reads_alike(&TaggedProcessor, reply);
            super::nothing_is_lost(&TaggedProcessor, reply);
            super::parsers_do_not_disturb_each_other(&TaggedProcessor, reply);
        }
        super::plain_text_streams_unchanged(&TaggedProcessor);
        super::plain_prompts_stay_untouched(&TaggedProcessor);
    }

    #[test]
    #[should_panic(expected = "became a control token")]
    fn a_processor_that_does_not_protect_control_tokens_is_caught() {
        super::control_tokens_in_texts_stay_text(&TaggedProcessor, "<end>");
    }
}
