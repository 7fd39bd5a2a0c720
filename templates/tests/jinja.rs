//! Every Jinja fixture against the conversation beside it: `tests/fixtures/jinja/*.jinja`.

// Helpers of tests count as tests.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::print_stderr)]

use alloquy_core::template::{PromptEnd, PromptTemplate, TemplateInput};
use alloquy_templates::{JinjaTemplate, NowSource, Polyfill};
use serde_json::{Value, json};

fn input(ending: PromptEnd) -> TemplateInput {
    let conversation: Value = serde_json::from_str(include_str!("fixtures/jinja/conversation.json")).unwrap();
    TemplateInput {
        messages: conversation["messages"].as_array().unwrap().clone(),
        tools: conversation["tools"].as_array().cloned(),
        ending,
        ..TemplateInput::default()
    }
}

fn compile(source: &str) -> alloquy_core::Result<JinjaTemplate> {
    let tokens = json!({"bos_token": "<s>", "eos_token": "</s>"});
    let day = jiff::civil::date(2026, 3, 4).at(15, 6, 7, 0);
    JinjaTemplate::builder(source)
        .variables(tokens.as_object().unwrap().clone())
        .clock(NowSource::Fixed(day))
        .polyfill(Polyfill::LeaveOut)
        .build()
}

fn render(source: &str, input: &TemplateInput) -> String {
    match compile(source).and_then(|template| template.render(input)) {
        Ok(text) => text,
        Err(error) => format!("{:?}: {error}", error.kind()),
    }
}

#[test]
fn fixtures() {
    insta::glob!("fixtures/jinja/*.jinja", |path| {
        let source = std::fs::read_to_string(path).unwrap();
        let rendered = render(&source, &input(PromptEnd::Generation));
        insta::with_settings!({ omit_expression => true, description => source }, {
            insta::assert_snapshot!(rendered);
        });
    });
}

#[test]
fn carriage_returns_become_line_feeds_in_the_source_alone() {
    let source = "a\r\nb\r{% if true %}\r\n{{ 'c\r\nd' }}{{ messages[0].content }}{% endif %}\r\n";
    let mut input = TemplateInput::default();
    input.messages.push(json!({"role": "user", "content": "x\r\ny"}));
    assert_eq!(render(source, &input), "a\nb\nc\ndx\r\ny");
}

#[test]
fn variables_of_the_caller_win() {
    let mut input = input(PromptEnd::Generation);
    input.extra = json!({"bos_token": "<bos>", "add_generation_prompt": "no", "thinking": true})
        .as_object()
        .unwrap()
        .clone();
    assert_eq!(render("{{ bos_token }} {{ add_generation_prompt }} {{ thinking }}", &input), "<bos> no True");
}

#[test]
fn tools_choose_the_template_of_their_own() {
    let template =
        JinjaTemplate::builder("plain").tool_use("with tools").polyfill(Polyfill::LeaveOut).build().unwrap();
    let mut input = input(PromptEnd::Generation);
    assert_eq!(template.render(&input).unwrap(), "with tools");
    assert_eq!(template.name_for(&input), Some("tool_use"));
    assert_eq!(template.render_spans(&input).unwrap().template, "tool_use");
    input.tools = None;
    assert_eq!(template.render(&input).unwrap(), "plain");
    assert_eq!(template.name_for(&input), Some("default"));
    assert_eq!(template.render_spans(&input).unwrap().template, "default");
    // Of one there is nothing to tell.
    assert_eq!(compile("plain").unwrap().name_for(&input), None);
    assert_ne!(template.digest(), compile("plain").unwrap().digest());
}

#[test]
fn the_variables_that_a_template_looks_at_are_known() {
    let default = "{% if not thinking is defined %}{% set thinking = false %}{% endif %}{% set kept = kept | default(1) %}";
    let tool_use = "{{ tools }}{{ messages[0].thinking }}{{ messages[0]['kept'] }}{{ enable_thinking }}";
    let template = JinjaTemplate::builder(default).tool_use(tool_use).build().unwrap();
    let mut input = input(PromptEnd::Generation);
    let read = |input: &TemplateInput| {
        ["thinking", "kept", "tools", "enable_thinking"].map(|name| template.reads(input, name))
    };
    assert_eq!(read(&input), [false, false, true, true]);
    input.tools = None;
    assert_eq!(read(&input), [true, true, false, false]);
}

#[test]
fn the_digest_is_the_sources() {
    let template = compile("{{ messages }}").unwrap();
    assert_eq!(template.digest(), alloquy_core::media::Digest::of(b"{{ messages }}"));
}

#[test]
fn a_conversation_has_messages_that_are_objects() {
    let mut input = TemplateInput::default();
    insta::assert_snapshot!(render("{{ messages }}", &input), @"Invalid: a chat template needs at least one message");
    input.messages.push(json!("Hello"));
    insta::assert_snapshot!(render("{{ messages }}", &input), @r#"Invalid: message 0 is not an object: "Hello""#);
}

/// Continues `content` as the last message of a template that prints it through `printed`.
fn continued(printed: &str, content: &Value) -> String {
    let source =
        format!("{{% for message in messages %}}<{{{{ message.role }}}}>{printed}<end>\n{{% endfor %}}");
    let mut input = TemplateInput { ending: PromptEnd::Continuation, ..TemplateInput::default() };
    input.messages.push(json!({"role": "user", "content": "Go on"}));
    input.messages.push(json!({"role": "assistant", "content": content}));
    render(&source, &input)
}

#[test]
fn the_last_message_goes_on() {
    let user = "<user>Go on<end>\n<assistant>";
    let plain = "{{ message.content }}";
    let trimmed = "{{ message.content | trim }}";
    let parts = "{{ message.content if message.content is string else message.content[0].text }}";
    assert_eq!(continued(plain, &json!("Sure, here ")), format!("{user}Sure, here "));
    assert_eq!(continued(trimmed, &json!("Sure, here ")), format!("{user}Sure, here"));
    assert_eq!(continued(plain, &json!("")), user);
    assert_eq!(
        continued(parts, &json!([{"type": "text", "text": "Sure "}, {"type": "image"}])),
        format!("{user}Sure ")
    );
    assert_eq!(
        continued(plain, &json!("CONTINUE_FINAL_MESSAGE_TAG x")),
        format!("{user}CONTINUE_FINAL_MESSAGE_TAG x")
    );
}

#[test]
fn what_cannot_go_on_is_an_error() {
    insta::assert_snapshot!(continued("{{ message.content | upper }}", &json!("Sure")), @r#"Template: the chat template does not print the last message "Sure" as it is, so it cannot be continued"#);
    insta::assert_snapshot!(continued("", &json!("Sure")), @r#"Template: the chat template does not print the last message "Sure" as it is, so it cannot be continued"#);
    insta::assert_snapshot!(continued("", &json!([{"type": "image"}])), @"Invalid: the last message has no text to continue");
    insta::assert_snapshot!(continued("", &Value::Null), @"Invalid: the last message has no text to continue");
}
