//! Templates that mean harm end in an error that says what happened; the process and the template live on.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic
#![allow(clippy::panic, clippy::print_stderr, clippy::print_stdout)]

mod attempts;
#[cfg(target_os = "linux")]
mod child;

use alloquy_core::ErrorKind;
use alloquy_core::template::{PromptTemplate, TemplateInput};
use alloquy_templates::{JinjaTemplate, Limits};
use serde_json::{Map, Value, json};

pub(crate) fn input() -> TemplateInput {
    let mut input = TemplateInput::default();
    input.messages.push(json!({"role": "user", "content": "Hello"}));
    input
}

fn error_of(rendered: alloquy_core::Result<String>) -> String {
    let error = rendered.map(|text| text.len()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Template);
    error.to_string()
}

/// The error of compiling or rendering `source`, with room for a mebibyte.
fn error(source: &str) -> String {
    let limits = Limits { output_bytes: 1 << 20, ..Limits::default() };
    let template = JinjaTemplate::builder(source).limits(limits).build();
    error_of(template.and_then(|template| template.render(&input())))
}

#[test]
#[cfg(target_os = "linux")]
fn every_attempt_ends_soon_and_in_little_memory() {
    let attempts = attempts::attempts();
    let next = std::sync::atomic::AtomicUsize::new(0);
    let outcomes = std::sync::Mutex::new(std::collections::BTreeMap::new());
    let work = || {
        while let Some((name, source)) = attempts.get(next.fetch_add(1, std::sync::atomic::Ordering::Relaxed))
        {
            let outcome = child::outcome(name, source);
            eprintln!("{:.3} s {:>6} KiB  {name}: {}", outcome.seconds, outcome.kib, outcome.words);
            outcomes.lock().unwrap().insert(*name, outcome);
        }
    };
    std::thread::scope(|scope| {
        (0..std::thread::available_parallelism().map_or(1, usize::from))
            .for_each(|_| drop(scope.spawn(work)));
    });
    let outcomes = outcomes.into_inner().unwrap();
    assert_eq!(outcomes.len(), attempts.len(), "two attempts of one name");
    let mut reported = String::new();
    for (name, _) in &attempts {
        let outcome = &outcomes[name];
        reported.push_str(&format!("{name}: {}\n", outcome.words));
    }
    // A build that is not optimised gets fewer steps, and some attempts meet that limit before another.
    let build = if cfg!(debug_assertions) { "few_steps" } else { "all_steps" };
    insta::with_settings!({ snapshot_suffix => build }, { insta::assert_snapshot!(reported) });
    let late: Vec<_> = outcomes.iter().filter(|(_, outcome)| !outcome.is_soon()).collect();
    assert!(late.is_empty(), "{late:#?}");
}

#[test]
#[cfg(target_os = "linux")]
fn values_that_hold_the_same_twice_end_soon_and_in_little_memory() {
    for (name, source) in attempts::of_shared_values() {
        let outcome = child::outcome(name, &source);
        eprintln!("{:.3} s {:>6} KiB  {name}: {}", outcome.seconds, outcome.kib, outcome.words);
        assert!(outcome.is_soon(), "{name}: {outcome:?}");
        assert!(outcome.kib < 100 << 10, "{name}: {outcome:?}");
        assert!(!outcome.words.starts_with("no end"), "{name}: {outcome:?}");
    }
}

#[test]
fn no_way_to_name_a_variable_escapes_the_check() {
    let grown = ["a variable holds more than 1048576 bytes", "values take more than 2097152 bytes"];
    for source in [
        "{% set ns = namespace(x='ab') %}{% for i in range(60) %}{%-set ns . x=ns.x~ns.x-%}{% endfor %}",
        "{% set ns = namespace(x='ab') %}{% for i in range(60) %}{% for\nx\tin[ns.x ~ ns.x] %}{% set ns.x = [x] | first %}{% endfor %}{% endfor %}",
        "{% for inner, (b, c)in[['ab', [1, 2]]] recursive %}{{ loop([[inner ~ inner, [1, 2]]]) }}{% endfor %}",
        "{% macro f(a, x={'k': '=,)('}, y='ab') %}{{ f(1, 2, y ~ y) }}{% endmacro %}{{ f(1) }}",
        "{% macro f(x) %}{{ caller(x ~ x) }}{% endmacro %}{% macro g(x) %}{% call(y) f(x) %}{{ g(y ~ y) }}{% endcall %}{% endmacro %}{{ g('ab') }}",
        "{% macro g(x) %}{% set x %}{{ x }}{{ x }}{% endset %}{{ g(x) }}{% endmacro %}{{ g('ab') }}",
    ] {
        let found = error(source);
        assert!(grown.iter().any(|grown| found.ends_with(grown)), "{source}: {found}");
    }
}

#[test]
fn a_template_cannot_include_itself_without_end() {
    for name in ["default", "tool_use"] {
        for tag in [
            format!("{{% include {name:?} %}}"),
            format!("{{% import {name:?} as x %}}"),
            format!("{{% extends {name:?} %}}"),
        ] {
            error(&tag);
        }
    }
}

#[test]
fn text_that_is_captured_counts() {
    let long = "text ".repeat(10_000);
    let repeated = format!("{{% set x %}}{{% for i in range(100000) %}}{long}{{% endfor %}}{{% endset %}}");
    insta::assert_snapshot!(error(&repeated), @"line 1 of the chat template: invalid operation: more than 4194304 bytes of text were captured or printed");
    let printed = "{% set x %}{% for i in range(100000) %}{{ 'x' * 10000 }}{% endfor %}{% endset %}";
    insta::assert_snapshot!(error(printed), @"line 1 of the chat template: invalid operation: more than 4194304 bytes of text were captured or printed");
    let called = format!(
        "{{% macro f() %}}{long}{{% endmacro %}}{{% for i in range(100000) %}}{{% set x = f() %}}{{% endfor %}}"
    );
    insta::assert_snapshot!(error(&called), @"line 1 of the chat template: invalid operation: more than 4194304 bytes of text were captured or printed");
}

#[test]
fn too_much_output_is_an_error() {
    insta::assert_snapshot!(error("{{ 'x' * 2000000 }}"), @"the chat template wrote more than 1048576 bytes");
    let long = "text ".repeat(10_000);
    insta::assert_snapshot!(error(&format!("{{% for i in range(100000) %}}{long}{{% endfor %}}")), @"the chat template wrote more than 1048576 bytes");
}

#[test]
fn too_much_source_is_an_error() {
    insta::assert_snapshot!(error(&"x".repeat(2 << 20)), @"the chat template has 2097152 bytes of source, more than the 1048576 allowed");
}

#[test]
fn jumps_that_the_engine_cannot_make_are_refused() {
    for (open, close) in [
        ("with x = 1", "endwith"),
        ("filter upper", "endfilter"),
        ("set x", "endset"),
        ("call f()", "endcall"),
        ("autoescape true", "endautoescape"),
        ("generation", "endgeneration"),
    ] {
        for jump in ["break", "continue"] {
            let source = format!(
                "{{% for i in [1, 2] %}}\n{{% {open} %}}{{% if i %}}{{% {jump} %}}{{% endif %}}{{% {close} %}}{{% endfor %}}after"
            );
            let inside = open.split(' ').next().unwrap();
            let expected = format!(
                "line 2 of the chat template: `{jump}` inside `{inside}` within a loop is not supported"
            );
            assert_eq!(error(&source), expected);
        }
    }
    assert!(error("{% break %}").starts_with("line 1 of the chat template: syntax error"));
}

#[test]
fn a_template_lives_on_after_an_error() {
    let source = "{% for m in messages %}{% for i in range(m.n) %}{% endfor %}{{ m.content }}{% endfor %}";
    let limits = Limits { steps: 1000, ..Limits::default() };
    let template = JinjaTemplate::builder(source).limits(limits).build().unwrap();
    let mut greedy = input();
    greedy.messages[0]["n"] = Value::from(5000);
    insta::assert_snapshot!(error_of(template.render(&greedy)), @"the chat template took more than 1000 steps");
    let mut modest = input();
    modest.messages[0]["n"] = Value::from(5);
    assert_eq!(template.render(&modest).unwrap(), "Hello");
}

#[test]
fn values_deep_and_large_enough_for_conversations_pass() {
    let nested = (0..120).fold(json!("deep"), |inner, _| json!([inner]));
    let mut input = input();
    input.extra.insert("nested".to_owned(), nested.clone());
    let template = JinjaTemplate::from_source("{% set x = nested %}{{ x | tojson }}", Map::new()).unwrap();
    assert_eq!(template.render(&input).unwrap(), nested.to_string());
    let long = "x".repeat(4 << 20);
    input.messages[0]["content"] = Value::from(long.as_str());
    let template =
        JinjaTemplate::from_source("{% for m in messages %}{{ m.content }}{% endfor %}", Map::new()).unwrap();
    assert_eq!(template.render(&input).unwrap(), long);
}
