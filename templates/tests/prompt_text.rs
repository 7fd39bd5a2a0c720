//! Prompt texts: what they print, and where each part of it comes from.

// Helpers of tests count as tests.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::print_stderr)]

mod shared;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use alloquy_core::prompt_library::{RenderedPrompt, Values};
use alloquy_core::{Error, ErrorKind, Result, Source};
use alloquy_templates::{
    NoReferences, PromptReference, PromptReferences, PromptSyntax, PromptText, format_to_jinja,
};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use PromptSyntax::{Format, Jinja, Mixed, Plain};

/// Returns the values of an object.
fn values(fields: &Value) -> Values {
    Values::of(fields).unwrap()
}

fn rendered(text: &str, syntax: PromptSyntax, fields: &Value) -> RenderedPrompt {
    try_render(text, syntax, fields).unwrap()
}

fn try_render(text: &str, syntax: PromptSyntax, fields: &Value) -> Result<RenderedPrompt> {
    PromptText::new(text, syntax)?.render(&values(fields), &NoReferences)
}

/// Returns the spans with the names of the values that they come from.
fn spans(rendered: &RenderedPrompt) -> Vec<(&str, &str)> {
    let mut spans = Vec::new();
    for span in &rendered.spans {
        let source = match &span.source {
            None => "",
            Some(Source::Value(name)) => name,
            Some(other) => panic!("unexpected source {other:?}"),
        };
        spans.push((span.text.as_str(), source));
    }
    spans
}

/// Prompts by name: a text, its syntax and its defaults.
#[derive(Debug, Default)]
struct Library {
    prompts: BTreeMap<&'static str, (&'static str, PromptSyntax, Value)>,
}

impl Library {
    fn with(mut self, name: &'static str, text: &'static str, syntax: PromptSyntax, defaults: Value) -> Self {
        self.prompts.insert(name, (text, syntax, defaults));
        self
    }
}

impl PromptReferences for Library {
    fn prompt(&self, name: &str) -> Result<Option<PromptReference>> {
        let Some((text, syntax, defaults)) = self.prompts.get(name) else { return Ok(None) };
        let defaults = defaults.as_object().cloned().unwrap_or_default();
        Ok(Some(PromptReference { text: PromptText::new(text, *syntax)?, defaults }))
    }
}

fn referring(text: &str, fields: &Value, library: &Library) -> Result<RenderedPrompt> {
    PromptText::new(text, Mixed)?.render(&values(fields), library)
}

#[test]
fn prompts_print_what_dataknobs_prints() {
    let Some(file) = shared::json("cases/dataknobs/prompts/p01_template_render.json") else { return };
    let mut renders_values_again = Vec::new();
    for case in file["cases"].as_array().unwrap() {
        let template = case["template"].as_str().unwrap();
        let syntax = match case["mode"].as_str().unwrap() {
            "mixed" => Mixed,
            _ => Jinja,
        };
        let found = try_render(template, syntax, &case["params"]);
        let expected = case["result"].as_str();
        match (expected, &found) {
            (Some(expected), Ok(found)) if found.text() == expected => {}
            (None, Err(_)) => {}
            (Some(_), Ok(found)) if case["params"].to_string().contains(['{', '%']) => {
                renders_values_again.push((template, found.text()));
            }
            _ => panic!("{case}: {found:?}"),
        }
    }
    let expected = [
        ("{{a}}{{b}}", "{{b}}B"),
        ("{{a}}", "{{ 7*7 }}"),
        ("{{a}}", "{% if 1 %}X{% endif %}"),
        ("((v {{a}}))", "v {{ 2*3 }}"),
    ];
    let expected: Vec<_> = expected.map(|(template, text)| (template, text.to_owned())).into();
    assert_eq!(renders_values_again, expected);
}

#[test]
fn formats_become_jinja_as_in_dataknobs() {
    let Some(file) = shared::json("cases/dataknobs/prompts/p03_syntax.json") else { return };
    for case in file["cases"].as_array().unwrap() {
        let text = case["in"].as_str().unwrap();
        assert_eq!(format_to_jinja(text), case["format_to_jinja2"].as_str().unwrap(), "{text}");
    }
}

#[test]
#[allow(clippy::too_many_lines)] // A table of cases is no easier to read in two.
fn a_prompt_says_where_its_parts_come_from() {
    let fields = json!({
        "name": "Ann", "city": "Rome", "none": null, "list": ["x", "y"], "user": {"id": "u1"}, "empty": "", "n": 3,
    });
    type Case = (&'static str, PromptSyntax, &'static [(&'static str, &'static str)]);
    let cases: &[Case] = &[
        ("Hi {{name}}!", Mixed, &[("Hi ", ""), ("Ann", "name"), ("!", "")]),
        ("Hi {{ name }}!", Mixed, &[("Hi  ", ""), ("Ann", "name"), (" !", "")]),
        ("(({{ name }}in {{city}}))", Mixed, &[(" ", ""), ("Ann", "name"), (" in ", ""), ("Rome", "city")]),
        ("Hi {name}", Format, &[("Hi ", ""), ("Ann", "name")]),
        ("Hi {{name}}\r\n", Plain, &[("Hi {{name}}\r\n", "")]),
        ("{{ name|upper }}", Jinja, &[("ANN", "name")]),
        ("{{ 'x' ~ name ~ city }}", Jinja, &[("xAnnRome", "name")]),
        ("{{ 'Dear ' + name }}", Jinja, &[("Dear Ann", "name")]),
        ("{{ 'yes' if name else 'no' }}", Jinja, &[("yes", "")]),
        ("{{ name if city == 'Rome' else 'x' }}", Jinja, &[("Ann", "name")]),
        ("{{ empty or city }}", Jinja, &[("Rome", "city")]),
        ("{{ other|default(name) }}", Jinja, &[("Ann", "name")]),
        ("{{ other|default('x') }}", Jinja, &[("x", "")]),
        ("{{ user.id }}{{ user['id'] }}", Jinja, &[("u1u1", "user")]),
        ("{{ list }}{{ n }}", Jinja, &[("['x', 'y']", "list"), ("3", "n")]),
        ("{{ list|join('-') }}", Jinja, &[("x-y", "list")]),
        (
            "{% for x in list %}{{ loop.index }}{{ x }}{% endfor %}",
            Jinja,
            &[("1", ""), ("x", "list"), ("2", ""), ("y", "list")],
        ),
        (
            "{% for name in list %}{{ name }}{% else %}{% endfor %}{{ name }}",
            Jinja,
            &[("xy", "list"), ("Ann", "name")],
        ),
        ("{% for x in [] %}{% else %}{{ name }}{% endfor %}", Jinja, &[("Ann", "name")]),
        (
            "{% for k, v in user.items() %}{{ k }}={{ v }}{% endfor %}",
            Jinja,
            &[("id", "user"), ("=", ""), ("u1", "user")],
        ),
        ("{% set x = name|lower %}{{ x }}", Jinja, &[("ann", "name")]),
        ("{% set x %}<{{ name }}>{% endset %}{{ x }}", Jinja, &[("<Ann>", "name")]),
        ("{% set x %}fixed{% endset %}{{ x }}", Jinja, &[("fixed", "")]),
        (
            "{% set ns = namespace(t='') %}{% for x in list %}{% set ns.t = ns.t ~ x %}{% endfor %}{{ ns.t }}",
            Jinja,
            &[("xy", "list")],
        ),
        ("{% if true %}{% set name = city %}{% endif %}{{ name }}", Jinja, &[("Rome", "city")]),
        ("{% with x = city %}{{ x }}{% endwith %}{{ name }}", Jinja, &[("Rome", "city"), ("Ann", "name")]),
        ("{% macro m(x) %}<{{ x }}>{% endmacro %}{{ m(city) }}", Jinja, &[("<Rome>", "city")]),
        (
            "{% macro m() %}[{{ caller() }}]{% endmacro %}{% call m() %}{{ city }}{% endcall %}",
            Jinja,
            &[("[Rome]", "city")],
        ),
        ("{% filter upper %}a {{ city }}{% endfilter %} b", Jinja, &[("A ROME", "city"), (" b", "")]),
        ("{% filter upper %}a{% endfilter %}{{ city }}", Jinja, &[("A", ""), ("Rome", "city")]),
        ("{{ prompt_ref('none', a=name) }}|{{ city }}", Jinja, &[("|", ""), ("Rome", "city")]),
        ("{% raw %}{{name}}((x)){% endraw %}{# ((x)) #}", Mixed, &[("{{name}}((x))", "")]),
        ("{(({{name}}))} {((x))% if", Mixed, &[("{", ""), ("Ann", "name"), ("} {x% if", "")]),
    ];
    for (text, syntax, expected) in cases {
        let rendered = rendered(text, *syntax, &fields);
        assert_eq!(spans(&rendered), *expected, "{text}");
    }
}

#[test]
fn sections_depend_on_their_variables() {
    let fields = json!({"x": "X", "y": "", "xs": ["a", "", "b"], "false": false});
    let cases = [
        ("((a {{x}} ((no variables)) {{y}}))", "a X no variables "),
        ("((a {{y}} ((no variables))))", ""),
        ("((a {{y}} (({{x}}))))|(({{x}} ((b {{y}}))))", "a  X|X "),
        ("{% for i in xs %}(({{i}};)){% endfor %}", "a;b;"),
        ("(( {{ x }} {{ y }} {{ z }} ))", "  X      "),
        ("((a (b {{x}})))", "a (b X)"),
        ("((a ) ( {{x}}))", "a ) ( X"),
        ("((a ) {{x}}))", "((a ) X))"),
        ("((\n {{y}}))\n {{x}}", "\n X"),
        ("((a\n))\n  ((b {{x}}\n))\nc", "a\n\n  b X\n\nc"),
    ];
    for (text, expected) in cases {
        assert_eq!(rendered(text, Mixed, &fields).text(), expected, "{text}");
    }
}

#[test]
fn variables_missing_and_unknown_values_are_reported() {
    let text =
        PromptText::new("{{b}} {{ b }} {{a.x|upper}} {% if c %}{{d}}{% endif %}(({{e}}))", Mixed).unwrap();
    assert_eq!(text.variables().collect::<Vec<_>>(), ["a", "b", "c", "d", "e"]);
    let rendered = text.render(&values(&json!({"a": {"x": "y"}, "z": 1, "f": 2})), &NoReferences).unwrap();
    assert_eq!(rendered.text(), "{{b}}  {{b}}  Y ");
    assert_eq!(rendered.missing, ["b"]);
    assert_eq!(rendered.unknown, ["f", "z"]);
    let text = PromptText::new(
        "{% for x in xs if x.y is divisibleby z %}{{ f(k=x)[m:n] }}{% endfor %}{{ dict(a=range(q)) }}",
        Jinja,
    );
    assert_eq!(text.unwrap().variables().collect::<Vec<_>>(), ["f", "m", "n", "q", "xs", "z"]);
}

#[test]
fn defaults_of_the_author_have_no_source() {
    let defaults = json!({"a": "A", "b": "B"});
    let values = Values::new().set("b", "user").or_defaults(defaults.as_object().unwrap());
    let text = PromptText::new("{{a}}{{b}}{{ a ~ b }}{{ b ~ a }}", Jinja).unwrap();
    let rendered = text.render(&values, &NoReferences).unwrap();
    assert_eq!(spans(&rendered), [("A", ""), ("userAuseruserA", "b")]);
}

#[test]
fn invalid_texts_are_refused_with_their_line() {
    let deep = format!("{{{{ {}1{} }}}}", "(".repeat(500), ")".repeat(500));
    let blocks = format!("{}{}", "{% if a %}".repeat(2000), "{% endif %}".repeat(2000));
    let cases = [
        ("{{", "line 1"),
        ("{{}}", "line 1"),
        ("a\n{{ b c }}", "line 2"),
        ("a\n\n{% if %}", "line 3"),
        ("{% if a %}", "line 1"),
        ("a\n{% endfor %}", "line 2"),
        ("a\n{% nothing %}", "line 2"),
        ("a {# b", "line 1"),
        ("((a\n{{b|upper}}))", "line 2"),
        ("((a {% if a %}b{% endif %}))", "line 1"),
        (&deep, "line 1"),
        (&blocks, "line 1"),
    ];
    for (text, line) in cases {
        let error = PromptText::new(text, Mixed).unwrap_err();
        let shown: String = text.chars().take(40).collect();
        assert_eq!(error.kind(), ErrorKind::Invalid, "{shown}: {error}");
        assert!(error.to_string().contains(line), "{shown}: {error}");
    }
    let long = "x".repeat(2 << 20);
    assert_eq!(PromptText::new(&long, Plain).unwrap_err().kind(), ErrorKind::Invalid);
}

#[test]
fn failing_renders_are_errors() {
    let cases = [
        ("a\n{{ user.name }}", "line 2 of the prompt"),
        ("{% for i in range(100000) %}{% for j in range(100000) %}{% endfor %}{% endfor %}", "steps"),
        ("a\n{{ a|nothing }}", "line 2 of the prompt"),
        ("{{ raise_exception('no') }}", "no"),
    ];
    for (text, expected) in cases {
        let error = try_render(text, Jinja, &json!({})).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Template);
        assert!(error.to_string().contains(expected), "{error}");
    }
}

#[test]
fn values_that_nest_too_deeply_are_refused() {
    let mut deep = json!(1);
    for _ in 0..1000 {
        deep = Value::Array(vec![deep]);
    }
    let text = PromptText::new("{{a}}", Mixed).unwrap();
    let error = text.render(&Values::new().set("a", deep), &NoReferences).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
}

#[test]
fn references_render_with_their_own_values() {
    let library = Library::default()
        .with("def", "{{a}} {{b}}", Mixed, json!({"a": "A", "b": "B"}))
        .with("format", "<{a}>", Format, json!({}))
        .with("outer", "{{ prompt_ref('def', b=x) }}{{ prompt_ref('nope') }}{{y}}", Mixed, json!({}));
    type Case = (&'static str, &'static [(&'static str, &'static str)]);
    let cases: &[Case] = &[
        ("[{{ prompt_ref('def') }}]", &[("[A B]", "")]),
        ("[{{ prompt_ref('def', a='X') }}]", &[("[X B]", "")]),
        ("[{{ prompt_ref('def', a=u) }}]", &[("[", ""), ("U", "u"), (" B]", "")]),
        ("{{ prompt_ref('def', a=u, b=v) }}", &[("U", "u"), (" ", ""), ("V", "v")]),
        ("{{ prompt_ref('def', a=u)|upper }}", &[("U B", "u")]),
        ("{{ prompt_ref('d' ~ 'ef', a=u) }}", &[("U", "u"), (" B", "")]),
        ("{{ prompt_ref(name, a=u) }}", &[("<", ""), ("U", "u"), (">", "")]),
        ("{{ prompt_ref('outer', x=v) }}", &[("A ", ""), ("V", "v"), ("{{y}}", "")]),
        ("{% set p = prompt_ref('def', a=u) %}{{p}}", &[("U B", "u")]),
        (
            "{% for x in list %}{{ prompt_ref('format', a=x) }}{% endfor %}",
            &[("<", ""), ("1", "list"), ("><", ""), ("2", "list"), (">", "")],
        ),
        ("[{{ prompt_ref('nope') }}]", &[("[]", "")]),
    ];
    let fields = json!({"a": "outer", "u": "U", "v": "V", "name": "format", "list": [1, 2]});
    for (text, expected) in cases {
        let rendered = referring(text, &fields, &library).unwrap();
        assert_eq!(spans(&rendered), *expected, "{text}");
    }
    let rendered = referring("{{ prompt_ref('outer', x=v) }}{{z}}", &fields, &library).unwrap();
    assert_eq!(rendered.missing_prompts, ["nope"]);
    assert_eq!(rendered.missing, ["y", "z"]);
}

#[test]
fn circles_of_references_are_refused() {
    let library = Library::default()
        .with("a", "{{ prompt_ref('b') }}", Mixed, json!({}))
        .with("b", "{{ prompt_ref('a') }}", Mixed, json!({}))
        .with("computed", "{{ prompt_ref('comp' ~ 'uted') }}", Mixed, json!({}));
    for (text, chain) in
        [("{{ prompt_ref('a') }}", "a -> b -> a"), ("{{ prompt_ref('computed') }}", "computed -> computed")]
    {
        let error = referring(text, &json!({}), &library).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
        assert!(error.to_string().contains(chain), "{error}");
    }
    // What is not called is not an error.
    let rendered = referring("{% if false %}{{ prompt_ref('a') }}{% endif %}ok", &json!({}), &library);
    assert_eq!(rendered.unwrap().text(), "ok");
}

/// Each prompt refers to the next one twice, so that rendering all takes exponential time.
#[derive(Debug)]
struct Endless;

impl PromptReferences for Endless {
    fn prompt(&self, name: &str) -> Result<Option<PromptReference>> {
        let next =
            name.parse::<u64>().map_err(|error| Error::new(ErrorKind::NotFound, error.to_string()))? + 1;
        let text = format!("{{{{ prompt_ref('{next}') }}}}{{{{ prompt_ref('{next}') }}}}");
        Ok(Some(PromptReference { text: PromptText::new(&text, Jinja)?, defaults: Map::new() }))
    }
}

#[test]
fn endless_references_end_in_an_error() {
    let text = PromptText::new("{{ prompt_ref('1') }}", Jinja).unwrap();
    let error = text.render(&Values::new(), &Endless).unwrap_err();
    assert!(error.to_string().contains("levels deep"), "{error}");
    let text = PromptText::new("{{ prompt_ref('unreadable') }}", Jinja).unwrap();
    assert_eq!(text.render(&Values::new(), &Endless).unwrap_err().kind(), ErrorKind::NotFound);
    let text = PromptText::new("{% if a %}{{ prompt_ref('unreadable') }}{% endif %}", Jinja).unwrap();
    assert_eq!(text.render(&Values::new(), &Endless).unwrap().text(), "");
}

#[test]
fn hostile_texts_take_linear_time() {
    let many = 100_000;
    let prints = 10_000;
    let numbered: String = (0..10_000).map(|number| format!("((a{{{{x{number}}}}}")).collect();
    let texts = [
        "((".repeat(many),
        format!("{}{}", "((".repeat(many), "))".repeat(many)),
        format!("{}{{{{a}}}}{}", "((".repeat(many), "))".repeat(many)),
        format!("{}{}", "((a{{x}}".repeat(prints), "))".repeat(prints)),
        numbered.clone() + &"))".repeat(10_000),
        numbered,
        "((a".repeat(many) + &")".repeat(many),
        "{{".repeat(many),
        format!("{}a{}", "{{".repeat(many), "}}".repeat(many)),
        format!("{{{{ {} }}}}", "(".repeat(many)),
        "{{a}}".repeat(prints),
        "{%".repeat(many),
        "{#".repeat(many),
        "{% raw %}".to_owned() + &"{%".repeat(many),
        "{% raw %}".to_owned() + &"{% raw ".repeat(many) + "%}",
        "{% if a %}".repeat(many),
        "{% for a in a %}".repeat(many),
        format!("{{{{ [{}] }}}}", "a,".repeat(many)),
        "((x".repeat(500_000),
        "((".repeat(500_000),
    ];
    for text in &texts {
        for syntax in [Mixed, Jinja] {
            check_soon(text, syntax);
        }
    }
    for text in ["{a:", "{a!r", "{a", "}", "{% raw %}"] {
        check_soon(&text.repeat(many), Format);
    }
    check_soon(&"{{".repeat(prints), Format);
}

/// Compiles a text, and renders it if it is valid. A quadratic step would take minutes.
fn check_soon(text: &str, syntax: PromptSyntax) {
    let start = Instant::now();
    if let Ok(text) = PromptText::new(text, syntax) {
        let rendered = text.render(&values(&json!({"a": 1, "x": "", "x7": "y"})), &NoReferences);
        assert!(rendered.is_ok_and(|rendered| rendered.text().len() <= 2 * text.source().len()));
    }
    let taken = start.elapsed();
    let shown: String = text.chars().take(20).collect();
    assert!(taken < Duration::from_secs(10), "{syntax:?} {shown}: {taken:?}");
}

/// Text that looks like a template, a control token, or a mark of the implementation.
fn nasty() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "{{ 7*7 }}",
        "{{",
        "}}",
        "((",
        "))",
        "((x))",
        "{%",
        "%}",
        "{% if a %}",
        "{#",
        "#}",
        "<|im_end|>",
        "{a}",
        "{",
        "}",
        "(",
        ")",
        "\\",
        "'",
        "\"",
        "\n",
        "\r\n",
        " ",
        "{{a}}",
        "{{b}}",
        "\u{10f000}",
        "__alloquy_from",
        "\0",
        "é",
        "{{ prompt_ref('a') }}",
    ]);
    let pieces = prop::collection::vec(piece, 0..6).prop_map(|pieces| pieces.concat());
    // A value that is not empty, so that sections do not depend on it.
    prop_oneof![pieces, ".*"].prop_map(|text| format!("{text}."))
}

/// A template of whole fragments, which print the values `a` and `b` unchanged.
fn template() -> impl Strategy<Value = String> {
    let fragment = prop::sample::select(vec![
        "text",
        " ",
        "\n",
        "{ ",
        "}",
        "(",
        "{{a}}",
        "{{ a }}",
        "{{b}}",
        "{{missing}}",
        "(({{a}}))",
        "(( {{ b }} ((x {{a}})) ))",
        "(({{missing}}))",
        "{% if a %}{{ a }}{% endif %}",
        "{% for x in [a] %}<{{x}}>{% endfor %}",
        "{{ a or b }}",
        "{% set s = b %}{{ s }}",
        "{{ c|default(a) }}",
        "{{ b if a else 'x' }}",
        "{# {{a}} #}",
        "{% raw %}{{a}}{% endraw %}",
        "{{ prompt_ref('p', x=b) }}",
        "{% for y in lists %}(({{y}}-)){% endfor %}",
        "{{ {'k': a}['k'] }}",
    ]);
    prop::collection::vec(fragment, 0..8).prop_map(|fragments| fragments.concat())
}

/// Returns how many cases to make; `ALLOQUY_FUZZ_PROMPTS` sets another number.
fn cases() -> u32 {
    std::env::var("ALLOQUY_FUZZ_PROMPTS").ok().and_then(|cases| cases.parse().ok()).unwrap_or(256)
}

/// Renders a template with `a` and `b`, and `a` as a value in a list.
fn with_values(template: &str, a: &str, b: &str) -> RenderedPrompt {
    let library = Library::default().with("p", "[{{x}}]((y {{x}}))", Mixed, json!({}));
    referring(template, &json!({"a": a, "b": b, "lists": ["l"]}), &library).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: cases(), ..ProptestConfig::default() })]

    #[test]
    fn values_are_printed_byte_for_byte_with_their_source(template in template(), a in nasty(), b in nasty()) {
        let harmless = with_values(&template, "AAA", "BBB");
        let rendered = with_values(&template, &a, &b);
        let mut expected = RenderedPrompt::default();
        for span in &harmless.spans {
            let text = match &span.source {
                Some(Source::Value(name)) if name == "a" => {
                    prop_assert_eq!(span.text.replace("AAA", ""), "");
                    span.text.replace("AAA", &a)
                }
                Some(Source::Value(name)) if name == "b" => {
                    prop_assert_eq!(span.text.replace("BBB", ""), "");
                    span.text.replace("BBB", &b)
                }
                _ => span.text.clone(),
            };
            expected.push(&text, span.source.clone());
        }
        prop_assert_eq!(&rendered.spans, &expected.spans);
        prop_assert_eq!(&rendered.missing, &harmless.missing);
        let joined: String = rendered.spans.iter().map(|span| span.text.as_str()).collect();
        prop_assert_eq!(joined, rendered.text());
        let author = rendered.spans.iter().filter(|span| span.source.is_none());
        let author: String = author.map(|span| span.text.as_str()).collect();
        prop_assert!(!author.contains("AAA") && !author.contains("BBB"));
    }

    #[test]
    fn no_text_makes_it_panic(pieces in prop::collection::vec(nasty(), 0..5), a in nasty()) {
        for syntax in [Mixed, Jinja, Format, Plain] {
            let Ok(text) = PromptText::new(&pieces.concat(), syntax) else { continue };
            if let Ok(rendered) = text.render(&values(&json!({"a": a})), &NoReferences) {
                prop_assert!(rendered.spans.iter().all(|span| !span.text.is_empty()));
            }
        }
    }

    #[test]
    fn a_plain_text_is_printed_as_it_is(text in nasty()) {
        let rendered = rendered(&text, Plain, &json!({"a": "x"}));
        prop_assert_eq!(rendered.text(), text);
        prop_assert_eq!(rendered.spans.iter().filter(|span| span.source.is_some()).count(), 0);
    }
}
