//! Families from outside, as data.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use alloquy_core::arguments::{InjectionPolicy, ProcessorArguments, TextSource};
use alloquy_core::grammar::Grammar;
use alloquy_core::media::MediaKind;
use alloquy_core::model_info::ModelInfo;
use alloquy_core::output::{ParallelCalls, ToolChoice};
use alloquy_core::processor::{DataProcessor, ProcessorInput};
use alloquy_core::template::PromptEnd;
use alloquy_core::tokenizer::SpecialToken;
use alloquy_core::{Message, Preface};
use alloquy_processors::{CallMarkers, CallSyntax, DataProcessorConfig, Family, named, named_with};
use alloquy_testing::{ReadReply, laws};
use serde_json::{Value, json};

use crate::support;

fn fixture(file: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/own_families").join(file);
    fs::read_to_string(path).unwrap()
}

fn ada() -> Family {
    Family::from_json(&fixture("ada.json")).unwrap()
}

const SPECIALS: [&str; 5] = ["[USER]", "[MODEL]", "<|sep|>", "<b>", "<thought>"];

fn model() -> ModelInfo {
    let mut model = ModelInfo::default();
    model.specials =
        (1..).zip(SPECIALS).map(|(id, text)| SpecialToken { text: text.to_owned(), id }).collect();
    model
}

fn processor(family: &Family) -> Arc<dyn DataProcessor> {
    family.processor(&model(), &DataProcessorConfig::default()).unwrap()
}

const REPLIES: &[&str] = &[
    "Four.",
    "<thought>\nHm\n</thought>\n\n[[plan: one, two]]<|answer|>Four.",
    "<thought>Hm</thought><call>{\"name\": \"add\", \"parameters\": {\"a\": 1}}</call>",
    "Now: <run><tool is=\"add\"><value of=\"a\">1</value></tool></run>",
    "functools[{\"name\": \"add\", \"arguments\": {\"a\": 1}}]",
    "[add(a=1)]",
    "<call>{broken</call> and <ca",
    "functools and <run>",
];

/// Everything that a family of this crate is, its data says.
#[test]
fn each_family_of_this_crate_is_the_same_as_data() {
    for name in alloquy_processors::families() {
        let json = serde_json::to_string_pretty(&Family::named(name).unwrap()).unwrap();
        let family = Family::from_json(&json).unwrap();
        let model = support::model(name);
        let processor = family.processor(&model, &DataProcessorConfig::default()).unwrap();
        assert_eq!(format!("{processor:?}"), format!("{:?}", named(name, &model).unwrap()), "{json}");
    }
}

#[test]
fn replies_are_read_as_the_family_says() {
    let preface = Preface::default().tool(support::tool("add"));
    let path = [Message::user("Hi")];
    let source = ProcessorInput::new(&preface, &path, PromptEnd::Generation);
    let processor = processor(&ada());
    let mut outcome = String::new();
    for reply in REPLIES {
        let ReadReply { message, .. } = ReadReply::new(processor.reply_parser("", source), [*reply]);
        writeln!(outcome, "{reply:?}").unwrap();
        message.parts.iter().for_each(|part| writeln!(outcome, "  {}", json!(part)).unwrap());
    }
    insta::assert_snapshot!(outcome);
}

#[test]
fn a_family_from_outside_obeys_the_laws() {
    let family = ada();
    let specials: Vec<_> = model().specials.into_iter().filter(|special| special.text != "<b>").collect();
    laws::processor::all(&*processor(&family), &specials, REPLIES);
    let places = [(MediaKind::Image, "<picture>"), (MediaKind::Audio, "<sound>")];
    laws::processor::media_are_at_their_places(&*processor(&family), &places);
}

#[test]
#[should_panic(expected = "became a control token")]
fn a_family_that_lets_users_write_control_tokens_is_found_by_the_laws() {
    let mut family = ada();
    family.injection = InjectionPolicy::trust([TextSource::User]);
    laws::processor::all(&*processor(&family), &model().specials, REPLIES);
}

#[test]
fn what_a_family_lets_through_is_reported_and_a_conversation_decides_against_it() {
    let mut family = ada();
    family.injection = InjectionPolicy::allow(["<|sep|>"]);
    let processor = processor(&family);
    let preface = Preface::default();
    let path = [Message::user("a <|sep|> [USER]")];
    let source = ProcessorInput::new(&preface, &path, PromptEnd::Closed);
    assert_eq!(processor.warnings("", source).len(), 1);
    let strict = ProcessorArguments::default().injection(InjectionPolicy::default());
    let source = ProcessorInput { arguments: &strict, ..source };
    assert!(processor.warnings("", source).is_empty());
}

#[test]
fn the_grammar_of_calls_is_the_familys() {
    let preface = Preface::default().tool(support::tool("add"));
    let source = ProcessorInput::new(&preface, &[], PromptEnd::Generation);
    let choice = ToolChoice::Required;
    let grammar = processor(&ada()).tool_grammar(source, &choice, ParallelCalls::Allowed).unwrap();
    let Some(Grammar::Composed { lark, .. }) = grammar else { panic!("{grammar:?}") };
    assert!(lark.contains("<call>") && lark.contains("\\\"parameters\\\""), "{lark}");
}

#[test]
fn the_generic_family_takes_calls_and_channels_from_json() {
    let config: DataProcessorConfig = serde_json::from_value(json!({
        "channels": [{"name": "thinking", "start": "<thought>", "end": "</thought>"}],
        "calls": {"start": "<call>", "end": "</call>", "syntax": "python"}
    }))
    .unwrap();
    let processor = named_with("generic", &model(), &config).unwrap();
    let preface = Preface::default().tool(support::tool("add"));
    let source = ProcessorInput::new(&preface, &[], PromptEnd::Generation);
    let reply = "<thought>Hm</thought>Now.<call>add(a=1)</call>";
    let ReadReply { message, .. } = ReadReply::new(processor.reply_parser("", source), [reply]);
    assert_eq!((message.thinking().as_deref(), message.text().as_str()), (Some("Hm"), "Now."));
    assert_eq!(message.tool_calls().next().map(|call| &call.arguments), Some(&json!({"a": 1})));
    let markers = CallMarkers::new("<call>", "</call>").written_as(CallSyntax::Mistral);
    let said = DataProcessorConfig::default().calls(markers);
    assert!(named_with("generic", &model(), &said).is_ok());
}

#[test]
fn a_family_that_makes_no_sense_is_refused() {
    let cases: Vec<Value> = serde_json::from_str(&fixture("refused.json")).unwrap();
    let mut outcome = String::new();
    for case in cases {
        let refused = Family::from_json(&case["family"].to_string()).unwrap_err();
        let refused = format!("{:?}: {refused}", refused.kind());
        writeln!(outcome, "{}\n  {refused}", case["about"].as_str().unwrap()).unwrap();
    }
    insta::assert_snapshot!(outcome);
}
