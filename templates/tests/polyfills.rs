//! No part of a conversation is left out of a prompt in silence.

// Helpers of tests count as tests.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use alloquy_core::ErrorKind;
use alloquy_core::report::Warning;
use alloquy_core::template::{PromptTemplate, TemplateInput};
use alloquy_templates::{AppliedPolyfill, JinjaTemplate, Polyfill};
use serde_json::{Value, json};

/// Prints users and assistants, and nobody else.
const DROPS: &str =
    "{% for m in messages if m.role in ['user', 'assistant'] %}<{{ m.role }}>{{ m.content }}{% endfor %}";
/// Refuses a system message in its own words.
const REFUSES: &str = "{% for m in messages %}{% if m.role == 'system' %}{{ raise_exception('No system') }}{% endif %}<{{ m.role }}>{{ m.content }}{% endfor %}";
/// Prints everybody.
const PRINTS: &str = "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}";

fn input(messages: &[(&str, &str)]) -> TemplateInput {
    let messages = messages.iter().map(|(role, content)| json!({"role": role, "content": content}));
    TemplateInput { messages: messages.collect(), ..TemplateInput::default() }
}

fn render(source: &str, polyfill: Polyfill, input: &TemplateInput) -> String {
    let template = JinjaTemplate::builder(source).polyfill(polyfill).build().unwrap();
    match template.render(input) {
        Ok(text) => text,
        Err(error) => format!("{:?}: {error}", error.kind()),
    }
}

#[test]
fn a_system_message_is_refused_merged_or_left_out_as_one_wishes() {
    let input = input(&[("system", "Be brief."), ("user", "Tea?")]);
    for (source, polyfill, expected) in [
        (DROPS, Polyfill::Refuse, "Unsupported: the chat template leaves system messages out of the prompt"),
        (DROPS, Polyfill::MergeIntoUser, "<user>Be brief.\n\nTea?"),
        (DROPS, Polyfill::LeaveOut, "<user>Tea?"),
        (REFUSES, Polyfill::Refuse, "Template: No system"),
        (REFUSES, Polyfill::MergeIntoUser, "<user>Be brief.\n\nTea?"),
        (PRINTS, Polyfill::Refuse, "<system>Be brief.<user>Tea?"),
        (PRINTS, Polyfill::MergeIntoUser, "<system>Be brief.<user>Tea?"),
    ] {
        assert_eq!(render(source, polyfill, &input), expected);
    }
}

#[test]
fn what_was_changed_is_told() {
    let template = JinjaTemplate::builder(DROPS).polyfill(Polyfill::MergeIntoUser).build().unwrap();
    let rendered =
        template.render_spans(&input(&[("system", "A"), ("developer", "B"), ("user", "Tea?")])).unwrap();
    assert_eq!(rendered.text, "<user>A\n\nB\n\nTea?");
    assert_eq!(rendered.polyfills, [AppliedPolyfill::MergedIntoUser(2)]);
    let rendered = template.render_spans(&input(&[("user", "Tea?")])).unwrap();
    assert_eq!(rendered.polyfills, []);
}

#[test]
fn a_reply_is_told_what_its_prompt_does_not_say() {
    let conversation = input(&[("system", "A"), ("developer", "B"), ("user", "Tea?")]);
    let reported = |source: &str, polyfill| {
        JinjaTemplate::builder(source).polyfill(polyfill).build().unwrap().warnings(&conversation)
    };
    let left_out = |what: &str| Warning::LeftOut { what: what.to_owned() };
    assert_eq!(reported(DROPS, Polyfill::MergeIntoUser), [Warning::InstructionsMerged { messages: 2 }]);
    assert_eq!(reported(DROPS, Polyfill::LeaveOut), ["system messages", "developer messages"].map(left_out));
    assert_eq!(reported(PRINTS, Polyfill::MergeIntoUser), []);
    assert_eq!(reported(PRINTS, Polyfill::LeaveOut), []);
}

#[test]
fn parts_come_before_the_parts_they_are_merged_into() {
    let mut input = input(&[("system", "A")]);
    input.messages.push(json!({"role": "user", "content": [{"type": "image"}]}));
    let source = DROPS.replace("m.content", "m.content | tojson");
    insta::assert_snapshot!(render(&source, Polyfill::MergeIntoUser, &input), @r#"<user>[{"type": "text", "text": "A\n\n"}, {"type": "image"}]"#);
}

#[test]
fn there_must_be_somebody_to_merge_into() {
    let input = input(&[("system", "A"), ("assistant", "Hello")]);
    insta::assert_snapshot!(render(DROPS, Polyfill::MergeIntoUser, &input), @"Unsupported: there is no user message that the system message could be merged into");
}

#[test]
fn everything_else_that_is_left_out_is_refused() {
    let question = || input(&[("user", "Tea?")]);
    let call = json!({"role": "assistant", "content": "", "tool_calls": [{"id": "1", "function": {"name": "now", "arguments": {}}}]});
    let tools = TemplateInput { tools: Some(vec![json!({"name": "now"})]), ..question() };
    let documents = TemplateInput { documents: Some(vec![json!({"text": "Tea"})]), ..question() };
    let mut calls = question();
    calls.messages.push(call);
    let mut results = question();
    results.messages.push(json!({"role": "tool", "content": "noon"}));
    for (input, name) in [
        (tools, "tools"),
        (documents, "documents"),
        (calls, "tool calls"),
        (results, "tool results"),
        (input(&[("developer", "A"), ("user", "Tea?")]), "developer messages"),
    ] {
        let template = JinjaTemplate::from_source(DROPS, serde_json::Map::new()).unwrap();
        let error = template.render(&input).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        assert_eq!(error.to_string(), format!("the chat template leaves {name} out of the prompt"));
        assert!(template.render_spans(&input).is_err());
    }
}

#[test]
fn a_template_that_takes_other_variables_is_believed() {
    let source = "{% for t in tools if only %}{{ t.name }}{% endfor %}{{ messages[0].content }}";
    let template = JinjaTemplate::from_source(source, serde_json::Map::new()).unwrap();
    let mut input = TemplateInput { tools: Some(vec![json!({"name": "now"})]), ..input(&[("user", "Tea?")]) };
    assert!(!template.capabilities().tools);
    input.extra.insert("only".to_owned(), Value::from(true));
    assert_eq!(template.render(&input).unwrap(), "nowTea?");
}
