//! Where the dialects differ: every fixture in each of them (`tests/fixtures/dialects/*.jinja`), and LiteRT-LM's own
//! cases.

// Helpers of tests count as tests.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::print_stderr)]

mod shared;

use alloquy_core::template::{PromptEnd, PromptTemplate, TemplateInput};
use alloquy_templates::{Dialect, JinjaTemplate, NowSource, Polyfill};
use serde_json::{Value, json};

const DIALECTS: [Dialect; 3] = [Dialect::HuggingFace5, Dialect::HuggingFace4, Dialect::LiteRtLm];

#[test]
fn fixtures() {
    let mut input = TemplateInput::default();
    input.messages.push(json!({"role": "user", "content": "Tea?", "name": null}));
    input.messages.push(json!({"role": "assistant", "content": "Yes", "reasoning": "Hm"}));
    insta::glob!("fixtures/dialects/*.jinja", |path| {
        let source = std::fs::read_to_string(path).unwrap();
        let mut rendered = String::new();
        for dialect in DIALECTS {
            let template = JinjaTemplate::builder(source.as_str()).dialect(dialect).build();
            let text = template.and_then(|template| template.render(&input));
            rendered.push_str(&format!("{dialect:?}: {:?}\n", text.map_err(|error| error.to_string())));
        }
        insta::with_settings!({ omit_expression => true, description => source }, {
            insta::assert_snapshot!(rendered);
        });
    });
}

#[test]
fn carriage_returns_stay_in_litert_lm() {
    let render = |dialect| {
        let template = JinjaTemplate::builder("a\r\nb").dialect(dialect).build().unwrap();
        let mut input = TemplateInput::default();
        input.messages.push(json!({"role": "user", "content": "Tea?"}));
        template.render(&input).unwrap()
    };
    assert_eq!(render(Dialect::HuggingFace5), "a\nb");
    assert_eq!(render(Dialect::LiteRtLm), "a\r\nb");
}

/// What LiteRT-LM cannot do and we can: the cases expect an error.
const BEYOND: [&str; 8] = [
    "unknown method",
    "too many arguments",
    "unknown statement",
    "unexpected `[`",
    "unknown filter",
    "unknown test",
    "unknown function",
    "syntax error",
];

#[test]
fn litert_lm_renders_alike() {
    let mut compared = 0;
    let mut different = Vec::new();
    for file in [
        "template_golden.json",
        "template_golden_upstream_models.json",
        "template_render.json",
        "observed_edge_cases.json",
    ] {
        let Some(cases) = shared::json(&format!("cases/litert/{file}")) else { return };
        for case in cases.as_array().unwrap() {
            let Some((found, expected)) = compare(case) else { continue };
            compared += 1;
            if found != expected {
                different.push(format!("{}: {found:?} and not {expected:?}", case["test"]));
            }
        }
    }
    eprintln!("{compared} cases of LiteRT-LM, {} different", different.len());
    assert!(compared > 20);
    // Its replacement of methods in the source reaches into strings: `'.strip()'` prints ` | trim`.
    let known = different.iter().filter(|line| line.contains(" | trim")).count();
    assert_eq!(different.len(), known, "{different:#?}");
}

/// What we and what LiteRT-LM prints; `None` for cases of its processors, and for what it cannot do.
fn compare(case: &Value) -> Option<(String, String)> {
    let given = &case["input"];
    let is_render = case["kind"].as_str().is_some_and(|kind| matches!(kind, "render" | "render_observed"));
    let is_processed = ["processor", "convert_messages_with_processor", "format_tools_with_processor"];
    if !is_render || is_processed.iter().any(|key| given.get(*key).is_some()) {
        return None;
    }
    let expected = &case["expected"];
    if let Some(error) = expected["error"].as_str() {
        assert!(BEYOND.iter().any(|beyond| error.contains(beyond)), "{error}");
        return None;
    }
    let source = source(&given["template"])?;
    let found = render(source, given);
    match (expected.as_str().or(expected["ok"].as_str()), expected["error_contains"].as_str(), found) {
        (Some(text), _, Ok(found)) => Some((found, text.to_owned())),
        (None, Some(words), Err(error)) if error.to_string().contains(words) => {
            Some((words.to_owned(), words.to_owned()))
        }
        (expected, words, found) => Some((format!("{found:?}"), format!("{expected:?} {words:?}"))),
    }
}

fn source(template: &Value) -> Option<String> {
    match template["file"].as_str() {
        Some(file) => std::fs::read_to_string(shared::find(&format!("cases/litert/{file}"))?).ok(),
        None => template["source"].as_str().map(str::to_owned),
    }
}

fn render(source: String, given: &Value) -> alloquy_core::Result<String> {
    let seconds = given["now_unix"].as_i64().unwrap_or(0);
    let now = jiff::Timestamp::from_second(seconds).unwrap().to_zoned(jiff::tz::TimeZone::UTC).datetime();
    let variables = json!({"bos_token": "", "eos_token": ""}).as_object().unwrap().clone();
    let builder = JinjaTemplate::builder(source).variables(variables).clock(NowSource::Fixed(now));
    let template = builder.dialect(Dialect::LiteRtLm).polyfill(Polyfill::LeaveOut).build()?;
    template.render(&TemplateInput {
        messages: given["messages"].as_array().cloned().unwrap_or_default(),
        tools: given["tools"].as_array().cloned(),
        ending: if given["add_generation_prompt"] == true {
            PromptEnd::Generation
        } else {
            PromptEnd::Closed
        },
        extra: given["extra_context"].as_object().cloned().unwrap_or_default(),
        ..TemplateInput::default()
    })
}
