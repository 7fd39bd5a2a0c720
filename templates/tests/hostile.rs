//! Templates that mean harm end in an error that says what happened; the process and the template live on.

// Helpers of tests count as tests.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::print_stderr, clippy::print_stdout)]

use std::process::Command;
use std::time::Instant;

use alloquy_core::{ErrorKind, PromptTemplate, TemplateInput};
use alloquy_templates::{JinjaTemplate, Limits};
use serde_json::{Map, Value, json};

fn input() -> TemplateInput {
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

/// What a template tries, and the source that tries it.
type Attempt = (&'static str, String);

/// Templates that never end, grow, nest, or reach where the engine fails.
fn attempts() -> Vec<Attempt> {
    [endless(), growing(), growing_at_once(), nesting(), jumping()].concat()
}

fn attempt(name: &'static str, source: &str) -> Attempt {
    (name, source.to_owned())
}

fn endless() -> Vec<Attempt> {
    let loops = "{% for a in range(100000) %}{% for b in range(100000) %}BODY{% endfor %}{% endfor %}";
    vec![
        attempt("loops in loops", &loops.replace("BODY", "")),
        attempt("loops that compute", &loops.replace("BODY", "{% set x = a * b + 1 %}")),
        attempt("a macro that calls itself", "{% macro f(x) %}{{ f(x) }}{% endmacro %}{{ f(1) }}"),
        attempt(
            "macros that fan out",
            "{% macro f(n) %}{% if n %}{{ f(n - 1) }}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(60) }}",
        ),
        attempt("a loop that calls itself", "{% for x in [1] recursive %}{{ loop([x]) }}{% endfor %}"),
        attempt(
            "long texts compared in a loop",
            "{% set x = 'ab' * 2000000 %}{% set y = x ~ '' %}{% for i in range(100000) %}{% if x == y %}{% endif %}{% endfor %}",
        ),
        attempt(
            "long texts searched in a loop",
            "{% set x = 'ab' * 2000000 %}{% for i in range(100000) %}{% if 'ba' * 1000 ~ 'c' in x %}{% endif %}{% endfor %}",
        ),
        attempt(
            "long texts printed in upper case and dropped",
            "{% set x = 'ab' * 2000000 %}{% for i in range(100000) %}{% set y = x | upper | length %}{% endfor %}",
        ),
        attempt(
            "long lists given a name in a loop",
            "{% set x = range(100000) | list %}{% for i in range(100000) %}{% set y = x %}{% endfor %}",
        ),
        attempt(
            "long lists sorted in a loop",
            "{% for i in range(100000) %}{% set y = range(100000) | sort | length %}{% endfor %}",
        ),
    ]
}

fn growing() -> Vec<Attempt> {
    let doubling = |piece: &str| {
        format!(
            "{{% set ns = namespace(x='ab') %}}{{% for i in range(60) %}}{{% set ns.x = {piece} %}}{{% endfor %}}{{{{ ns.x | length }}}}"
        )
    };
    vec![
        attempt("a text that doubles", &doubling("ns.x ~ ns.x")),
        attempt("a text that doubles by addition", &doubling("ns.x + ns.x")),
        attempt("a text that doubles by repetition", &doubling("ns.x * 2")),
        attempt("a text that doubles by a format", &doubling("'%s%s' % (ns.x, ns.x)")),
        attempt("a text that doubles by a method", &doubling("ns.x.replace('a', 'aab')")),
        attempt("a text that doubles by a filter", &doubling("ns.x | replace('a', 'aab')")),
        attempt("a text that doubles by joining", &doubling("[ns.x, ns.x] | join")),
        attempt("a text that doubles as JSON", &doubling("[ns.x, ns.x] | tojson")),
        attempt("a text that doubles as it prints", &doubling("[ns.x, ns.x] | string")),
        attempt("a text that doubles in a list", &doubling("[(ns.x | string) ~ (ns.x | string)]")),
        attempt("a list that doubles", &doubling("(ns.x | list) + (ns.x | list)")),
        attempt("a list that doubles by repetition", &doubling("(ns.x | list) * 2")),
        attempt(
            "a macro whose argument doubles",
            "{% macro f(x) %}{{ f(x ~ x) }}{% endmacro %}{{ f('ab') }}",
        ),
        attempt(
            "a loop whose item doubles",
            "{% for x in ['ab'] recursive %}{{ loop([x ~ x]) }}{% endfor %}",
        ),
        attempt(
            "a variable that doubles, written out",
            &format!("{{% set x = 'ab' %}}{}", "{% set x = x + x %}".repeat(60)),
        ),
        attempt(
            "a captured text that doubles",
            &format!("{{% set x = 'ab' %}}{}", "{% set x %}{{ x }}{{ x }}{% endset %}".repeat(60)),
        ),
        attempt(
            "scopes in which a text doubles",
            &format!(
                "{}{}",
                "{% with x = (x or 'ab') ~ (x or 'ab') %}".repeat(60),
                "{% endwith %}".repeat(60)
            ),
        ),
        attempt(
            "many variables of some size",
            &(0..2000).map(|i| format!("{{% set x{i} = 'ab' * 4000000 %}}")).collect::<String>(),
        ),
        attempt(
            "many lists of some size",
            &(0..2000).map(|i| format!("{{% set x{i} = [0] * 400000 %}}")).collect::<String>(),
        ),
    ]
}

fn growing_at_once() -> Vec<Attempt> {
    let long = "{% set x = 'ab' * 4000000 %}";
    let in_one = |piece: &str| format!("{long}{{{{ ({piece}) | length }}}}");
    let slices = (1..2000).map(|i| format!("x[{i}:]")).collect::<Vec<_>>().join(", ");
    vec![
        attempt("a long range", "{{ range(10 ** 12) | list }}"),
        attempt("a list repeated", "{{ ([0] * 100000000) | list }}"),
        attempt("a list repeated again and again", "{{ [0] * 10000 * 10000 * 10000 }}"),
        attempt("ranges in a chain", "{{ ((range(100000) | list) * 100000) | length }}"),
        attempt("a text repeated", "{{ 'x' * 10 ** 9 }}"),
        attempt("a text repeated again and again", "{{ 'x' * 10000 * 10000 * 10000 }}"),
        attempt("a text filled up", "{{ 'x'.center(10 ** 9) }}{{ 'x' | center(10 ** 9) }}"),
        attempt("an indentation", "{{ 'x' | indent(10 ** 9, true) }}"),
        attempt("a format's width", "{{ '%1000000000d' % 1 }}"),
        attempt("a format's precision", "{{ '%.1000000000f' | format(1.0) }}"),
        attempt("a format's width of the other kind", "{{ '{:1000000000}'.format('x') }}"),
        attempt("a format's width that is computed", "{{ '{:{w}}'.format('x', w=10 ** 9) }}"),
        attempt("a batch filled up", "{{ [1] | batch(10 ** 9, 0) | list }}"),
        attempt("slices filled up", "{{ [1] | slice(10 ** 9, 0) | list }}"),
        attempt("an indented JSON", "{{ [[[[1]]]] | tojson(indent=10 ** 9) }}"),
        attempt("filler text", "{{ lipsum(10 ** 9) }}"),
        attempt("long texts concatenated", &in_one(&["x"; 100].join(" ~ "))),
        attempt("long texts added", &in_one(&["x"; 100].join(" + "))),
        attempt("long texts joined", &in_one(&format!("[{}] | join", ["x"; 100].join(", ")))),
        attempt("long texts listed", &in_one(&format!("[{}] | string", ["x"; 100].join(", ")))),
        attempt("slices of a long text", &in_one(&format!("[{slices}]"))),
        attempt("a long text as characters", &in_one("x | list")),
        attempt("a long text split", &in_one("x.split('a')")),
        attempt("a long text replaced", &in_one("x.replace('a', x)")),
        attempt("a long text escaped", &in_one("('&' * 8000000) | e | e | e | e | e")),
        attempt("a long text gone through", "{% for c in 'ab' * 4000000 %}{% endfor %}"),
    ]
}

fn nesting() -> Vec<Attempt> {
    let list =
        "{% set ns = namespace(x=[]) %}{% for i in range(100000) %}{% set ns.x = [ns.x] %}{% endfor %}";
    let chain = |operator: &str| format!("{{{{ {} }}}}", vec!["x"; 50_000].join(operator));
    let mega = |piece: &str| piece.repeat((10 << 20) / piece.len());
    vec![
        attempt("lists in lists", list),
        attempt("dicts in dicts", &list.replace("[ns.x]", "{'x': ns.x}")),
        attempt("tuples in tuples", &list.replace("[ns.x]", "(ns.x, 1)[0:]")),
        attempt(
            "lists in lists, written out",
            &format!("{{% set x = 1 %}}{}", "{% set x = [x] %}".repeat(50_000)),
        ),
        attempt("a namespace in itself", "{% set ns = namespace() %}{% set ns.x = ns %}{{ ns == ns }}"),
        attempt("brackets", &format!("{{{{ {} }}}}", "[".repeat(100_000))),
        attempt("brackets that close", &format!("{{{{ {}{} }}}}", "(".repeat(100_000), ")".repeat(100_000))),
        attempt("dicts", &format!("{{{{ {}1{} }}}}", "{1: ".repeat(50_000), "}".repeat(50_000))),
        attempt("subscripts", &format!("{{{{ {}1{} }}}}", "x[".repeat(50_000), "]".repeat(50_000))),
        attempt("calls", &format!("{{{{ {}1{} }}}}", "f(".repeat(50_000), ")".repeat(50_000))),
        attempt("signs", &format!("{{{{ {}1 }}}}", "-".repeat(500_000))),
        attempt("negations", &format!("{{{{ {}1 }}}}", "not ".repeat(200_000))),
        attempt("sums", &chain(" + ")),
        attempt("concatenations", &chain(" ~ ")),
        attempt("products", &chain(" * ")),
        attempt("alternatives", &chain(" or ")),
        attempt("choices", &format!("{{{{ {}1 }}}}", "1 if x else ".repeat(50_000))),
        attempt("choices without an alternative", &format!("{{{{ 1 {} }}}}", "if x ".repeat(50_000))),
        attempt("comparisons", &chain(" < ")),
        attempt("filters", &format!("{{{{ x{} }}}}", " | upper".repeat(50_000))),
        attempt("tests", &format!("{{{{ x{} }}}}", " is defined".repeat(50_000))),
        attempt("attributes", &format!("{{{{ x{} }}}}", ".x".repeat(200_000))),
        attempt("branches", &format!("{{% if x %}}{}{{% endif %}}", "{% elif x %}".repeat(50_000))),
        attempt("blocks", &"{% if x %}".repeat(50_000)),
        attempt("loops that are not closed", &"{% for x in y %}".repeat(50_000)),
        attempt("10 MB of brackets", &format!("{{{{ {}", mega("["))),
        attempt("10 MB of blocks", &mega("{% if x %}")),
        attempt("10 MB of text", &mega("x")),
    ]
}

fn jumping() -> Vec<Attempt> {
    let jump = |open: &str, close: &str| {
        format!("{{% for i in [1] %}}{{% {open} %}}{{% break %}}{{% {close} %}}{{% endfor %}}")
    };
    vec![
        attempt("break inside with", &jump("with x = 1", "endwith")),
        attempt("break inside a filter", &jump("filter upper", "endfilter")),
        attempt("break inside a capture", &jump("set x", "endset")),
        attempt("break inside a call", &jump("call f()", "endcall")),
        attempt("break outside", "{% break %}"),
    ]
}

/// Names the attempt that a child process makes.
const ATTEMPT: &str = "ALLOQUY_HOSTILE_ATTEMPT";
/// What a child may have: 256 MiB of address space.
const ADDRESS_SPACE_KIB: usize = 256 << 10;
/// How long an attempt may take: the engine is ten to twenty times slower in a build that is not optimised.
const SECONDS: f64 = if cfg!(debug_assertions) { 15.0 } else { 1.0 };

/// Runs in a child process; on its own it does nothing.
#[test]
fn child() {
    let Ok(name) = std::env::var(ATTEMPT) else { return };
    let attempts = attempts();
    let (_, source) = attempts.iter().find(|(known, _)| *known == name).unwrap();
    let started = Instant::now();
    let rendered = JinjaTemplate::from_source(source.as_str(), Map::new())
        .and_then(|template| template.render(&input()));
    let took = started.elapsed().as_secs_f64();
    let (kind, words) = match rendered {
        Ok(text) => ("Rendered".to_owned(), format!("{} bytes", text.len())),
        Err(error) => (format!("{:?}", error.kind()), error.to_string()),
    };
    println!("\nOUTCOME {kind} {took:.3} {words}");
}

/// Makes an attempt in a process of its own with little memory; returns its kind of error, how long it took and what
/// it said.
fn in_child(name: &str) -> (String, f64, String) {
    let program = std::env::current_exe().unwrap();
    let output = Command::new("bash")
        .args([
            "-c",
            &format!("ulimit -v {ADDRESS_SPACE_KIB}; exec \"$0\" --exact child --nocapture --test-threads=1"),
        ])
        .arg(program)
        .env(ATTEMPT, name)
        // Each arena of the C library's reserves 64 MiB.
        .env("MALLOC_ARENA_MAX", "1")
        .output()
        .unwrap();
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    let complaint = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(complaint, "", "{name} wrote to stderr");
    let outcome = printed.lines().find_map(|line| line.strip_prefix("OUTCOME "));
    let outcome = outcome.unwrap_or_else(|| panic!("{name} ended with {}: {printed}", output.status));
    let mut words = outcome.splitn(3, ' ');
    let kind = words.next().unwrap().to_owned();
    let seconds = words.next().unwrap().parse().unwrap();
    (kind, seconds, words.next().unwrap().to_owned())
}

#[test]
#[cfg(target_os = "linux")]
fn every_attempt_ends_in_an_error_soon_and_in_little_memory() {
    let mut outcomes = String::new();
    for (name, _) in attempts() {
        let (kind, seconds, words) = in_child(name);
        eprintln!("{seconds:.3} s  {name}: {kind}: {words}");
        assert!(seconds < SECONDS, "{name} took {seconds} s");
        outcomes.push_str(&format!("{name}: {kind}: {words}\n"));
    }
    insta::assert_snapshot!(outcomes);
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
