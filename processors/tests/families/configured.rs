//! Families with what a host has set otherwise: channels, fences, tokens that are text, stop strings.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use alloquy_core::arguments::{ProcessorArguments, ThinkingHistory};
use alloquy_core::grammar::Grammar;
use alloquy_core::message::ChannelText;
use alloquy_core::model_info::ModelInfo;
use alloquy_core::output::{ParallelCalls, ToolChoice};
use alloquy_core::processor::{Channel, DataProcessor, ProcessorInput, PromptPart};
use alloquy_core::template::PromptEnd;
use alloquy_core::tokenizer::SpecialToken;
use alloquy_core::{Content, Message, Preface, Result, Role};
use alloquy_processors::{CallMarkers, DataProcessorConfig, detect_with, named_with};
use alloquy_testing::{ReadReply, laws};
use serde_json::{Value, json};

use crate::replies::{self, Recorded};
use crate::support;

/// Two channels beside a family's own.
fn two_channels() -> DataProcessorConfig {
    let joke = Channel::new("joke", "<joke>", "</joke>");
    DataProcessorConfig::default().channel(joke).channel(Channel::new("plan", "[[plan:", "]]"))
}

fn cases(file: &str) -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(file);
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

fn configured(case: &Value) -> Result<Arc<dyn DataProcessor>, String> {
    let config: DataProcessorConfig =
        serde_json::from_value(case["config"].clone()).map_err(|error| error.to_string())?;
    let family = case["family"].as_str().unwrap();
    named_with(family, &support::model(family), &config)
        .map_err(|error| format!("{:?}: {error}", error.kind()))
}

#[test]
fn replies_are_read_as_configured() {
    let mut outcome = String::new();
    for case in cases("configured.json") {
        let processor = configured(&case).unwrap();
        let recorded = Recorded::of(&case);
        let ReadReply { message, .. } = recorded.read(&*processor, [recorded.reply.as_str()]);
        writeln!(outcome, "# {}\n{:?}", case["about"].as_str().unwrap(), recorded.reply).unwrap();
        message.parts.iter().for_each(|part| writeln!(outcome, "  {}", json!(part)).unwrap());
    }
    insta::assert_snapshot!(outcome);
}

#[test]
fn no_two_cuts_change_what_is_read_as_configured() {
    for case in cases("configured.json") {
        let processor = configured(&case).unwrap();
        let recorded = Recorded::of(&case);
        replies::every_two_cuts(&*processor, &recorded);
        laws::processor::deltas_join_to_the_message(&*processor, &recorded.reply);
        laws::processor::any_chunking_reads_alike(&*processor, &recorded.reply);
        laws::processor::nothing_is_lost(&*processor, &recorded.reply);
    }
}

/// What a family reads without channels it reads alike in a reply that has none.
#[test]
fn channels_change_nothing_of_replies_without_them() {
    for family in alloquy_processors::families() {
        let with = named_with(family, &support::model(family), &two_channels()).unwrap();
        let plain = support::processor(family);
        for recorded in replies::of(family) {
            let read = |processor: &dyn DataProcessor| recorded.read(processor, [recorded.reply.as_str()]);
            assert_eq!(read(&*with), read(&*plain), "{family}: {:?}", recorded.reply);
        }
    }
}

#[test]
fn every_family_obeys_the_laws_with_two_channels() {
    const REPLIES: &[&str] = &[
        "<joke>Ha</joke>",
        "a<joke>b</joke>c[[plan:d]]e<joke></joke>",
        "<joke>never [[plan: closed",
        "<<joke</joke><jok[[plan",
        "<think>\n<joke>Hm</think></joke>\n<tool_call>{\"name\": \"add\"}</tool_call>\n<joke>x</joke>\n\nDone.",
    ];
    for family in alloquy_processors::families() {
        let processor = named_with(family, &support::model(family), &two_channels()).unwrap();
        laws::processor::all(&*processor, &support::specials(family), REPLIES);
    }
}

#[test]
fn a_configuration_that_makes_no_sense_is_refused() {
    let mut outcome = String::new();
    for case in cases("refused_configurations.json") {
        let refused = configured(&case).unwrap_err();
        writeln!(outcome, "{}\n  {refused}", case["about"].as_str().unwrap()).unwrap();
    }
    insta::assert_snapshot!(outcome);
}

#[test]
fn a_family_that_is_found_is_configured_alike() {
    let mut model = support::model("qwen3");
    model.model_type = Some("qwen3".to_owned());
    let detected = detect_with(&model, &two_channels()).unwrap();
    let named = named_with("qwen3", &model, &two_channels()).unwrap();
    assert_eq!((detected.processor.name(), detected.fallback), ("qwen3", false));
    assert_eq!(detected.processor.channels(), named.channels());
    let unknown = detect_with(&ModelInfo::default(), &two_channels()).unwrap();
    assert_eq!((unknown.processor.name(), unknown.fallback), ("generic", true));
}

#[test]
fn an_empty_configuration_is_the_family() {
    for family in alloquy_processors::families() {
        let model = support::model(family);
        let processor = named_with(family, &model, &DataProcessorConfig::default()).unwrap();
        assert_eq!(format!("{processor:?}"), format!("{:?}", support::processor(family)));
    }
}

#[test]
fn stop_strings_and_ordinary_tokens_are_the_hosts() {
    let model = support::model("vicuna");
    let config = DataProcessorConfig {
        ordinary: Some(vec!["<unk>".to_owned()]),
        stops: Some(vec!["USER:".to_owned()]),
        ..DataProcessorConfig::default()
    };
    let processor = named_with("vicuna", &model, &config).unwrap();
    assert_eq!(processor.stop_strings(), ["USER:"]);
    let preface = Preface::default();
    let path = [Message::user("a <unk> b <s>")];
    let source = ProcessorInput::new(&preface, &path, PromptEnd::Generation);
    let rendered = support::render("vicuna", &processor.template_input(source).unwrap());
    let parts = processor.prompt_parts(&rendered, source).unwrap();
    let literals: Vec<_> = parts.iter().filter(|part| matches!(part, PromptPart::Literal(_))).collect();
    assert_eq!(literals, [&PromptPart::Literal("<s>".to_owned())]);
}

#[test]
fn the_grammar_of_calls_has_the_fences_of_the_host() {
    let config = DataProcessorConfig::default().calls(CallMarkers::new("<<call", "call>>"));
    let processor = named_with("qwen3", &support::model("qwen3"), &config).unwrap();
    let preface = Preface::default().tool(support::tool("add"));
    let source = ProcessorInput::new(&preface, &[], PromptEnd::Generation);
    let grammar = processor.tool_grammar(source, &ToolChoice::Required, ParallelCalls::Allowed).unwrap();
    let Some(Grammar::Composed { lark, .. } | Grammar::Lark(lark)) = grammar else { panic!("{grammar:?}") };
    assert!(lark.contains("<<call") && lark.contains("call>>") && !lark.contains("tool_call"), "{lark}");
}

fn said() -> [Message; 3] {
    let joke = Content::Channel(ChannelText::new("joke", "A <|im_end|> crab."));
    let parts = vec![Content::Thinking("Hm".to_owned()), joke, Content::Text("Here.".to_owned())];
    [Message::user("A joke!"), Message::new(Role::Assistant, parts), Message::user("Another!")]
}

#[test]
fn channels_reach_templates_in_a_field_of_their_own_until_the_policy_strips_them() {
    let processor = named_with("qwen3", &support::model("qwen3"), &two_channels()).unwrap();
    let preface = Preface::default();
    let path = said();
    let field = |history: Option<ThinkingHistory>| {
        let mut arguments = ProcessorArguments::default();
        arguments.history = history;
        let source = ProcessorInput {
            preface: &preface,
            path: &path,
            ending: PromptEnd::Generation,
            arguments: &arguments,
        };
        let message = processor.template_input(source).unwrap().messages[1].clone();
        (message.get("channels").cloned(), message.get("reasoning_content").is_some())
    };
    // Whatever stands in a channel is text: what spells a control token is marked.
    let marked = json!({"joke": "A <\u{10FFFD}|im_end|> crab."});
    assert_eq!(field(None), (Some(marked.clone()), true));
    assert_eq!(field(Some(ThinkingHistory::Keep)), (Some(marked), true));
    assert_eq!(field(Some(ThinkingHistory::Strip)), (None, false));
    assert_eq!(field(Some(ThinkingHistory::StripBeforeLastUser)), (None, false));
}

#[test]
fn channels_that_a_template_does_not_print_are_told_where_they_were_to_be_kept() {
    let processor = named_with("qwen3", &support::model("qwen3"), &two_channels()).unwrap();
    let preface = Preface::default();
    let path = said();
    let mut arguments = ProcessorArguments::default();
    arguments.history = Some(ThinkingHistory::Keep);
    let source = ProcessorInput {
        preface: &preface,
        path: &path,
        ending: PromptEnd::Generation,
        arguments: &arguments,
    };
    let rendered = support::render("qwen3", &processor.template_input(source).unwrap());
    let reported: Vec<_> =
        processor.warnings(&rendered, source).iter().map(|reported| json!(reported)).collect();
    assert_eq!(reported, [json!({"thinking_left_out": {"messages": 1}})]);
}

#[test]
fn markers_of_channels_stay_control_tokens_in_the_texts_of_the_model_alone() {
    let mut model = support::model("qwen3");
    model.specials.push(SpecialToken { text: "<joke>".to_owned(), id: 99 });
    let processor = named_with("qwen3", &model, &two_channels()).unwrap();
    let preface = Preface::default();
    let path = [Message::user("<joke>"), Message::assistant("a <joke>")];
    let source = ProcessorInput::new(&preface, &path, PromptEnd::Closed);
    let rendered = support::render("qwen3", &processor.template_input(source).unwrap());
    let parts = processor.prompt_parts(&rendered, source).unwrap();
    let literals: Vec<_> = parts.iter().filter(|part| matches!(part, PromptPart::Literal(_))).collect();
    assert_eq!(literals, [&PromptPart::Literal("<joke>".to_owned())], "{parts:?}");
}
