//! What holds for every conversation.

// Helpers of tests count as tests.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::print_stderr)]

use alloquy_core::template::{PromptEnd, PromptTemplate, TemplateInput};
use alloquy_templates::{JinjaTemplate, NowSource};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

/// Text that looks like template code as often as not.
fn content() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("{{ 7 * 7 }}".to_owned()),
        Just("{% for x in messages %}".to_owned()),
        Just("{% endfor %}{# ".to_owned()),
        Just("{{ raise_exception('no') }}".to_owned()),
        Just("{% raw %}".to_owned()),
        ".*",
    ];
    prop::collection::vec(piece, 0..4).prop_map(|pieces| pieces.concat())
}

fn conversation() -> impl Strategy<Value = Vec<(String, String)>> {
    let role = prop_oneof![Just("user"), Just("assistant"), Just("system")].prop_map(str::to_owned);
    prop::collection::vec((role, content()), 1..5)
}

fn input(messages: &[(String, String)]) -> TemplateInput {
    let messages = messages.iter().map(|(role, content)| json!({"role": role, "content": content})).collect();
    TemplateInput { messages, ..TemplateInput::default() }
}

const CHATML: &str = "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}";

fn chatml(messages: &[(String, String)]) -> String {
    let turns = messages.iter().map(|(role, content)| format!("<|im_start|>{role}\n{content}<|im_end|>\n"));
    turns.collect::<String>()
}

/// JSON of any shape, a few levels deep.
fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        prop::sample::select(vec![0.5, -0.0, 1e16, 1e-5, 123_456.75, -2.5e300]).prop_map(Value::from),
        content().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 20, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((".*", inner), 0..4).prop_map(|fields| fields.into_iter().collect()),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn content_is_never_run(messages in conversation()) {
        let template = JinjaTemplate::from_source(CHATML, Map::new()).unwrap();
        let mut input = input(&messages);
        prop_assert_eq!(template.render(&input).unwrap(), chatml(&messages) + "<|im_start|>assistant\n");
        input.ending = PromptEnd::Closed;
        prop_assert_eq!(template.render(&input).unwrap(), chatml(&messages));
    }

    #[test]
    fn the_same_input_gives_the_same_prompt(messages in conversation()) {
        let source = "{% set ns = namespace(n=0) %}{% for m in messages %}{% set ns.n = ns.n + 1 %}{{ ns.n }}{{ m.content }}{% endfor %}{{ strftime_now('%c %f') }}";
        let template = JinjaTemplate::builder(source).clock(NowSource::fixed()).build().unwrap();
        let input = input(&messages);
        let before = input.clone();
        let first = template.render(&input);
        prop_assert_eq!(first.unwrap(), template.render(&input).unwrap());
        prop_assert_eq!(input, before);
    }

    #[test]
    fn a_message_is_continued_where_it_ends(messages in conversation()) {
        let template = JinjaTemplate::from_source(CHATML, Map::new()).unwrap();
        let input = TemplateInput { ending: PromptEnd::Continuation, ..input(&messages) };
        let closed = chatml(&messages);
        prop_assert_eq!(template.render(&input).unwrap(), closed.strip_suffix("<|im_end|>\n").unwrap());
    }

    #[test]
    fn tojson_reads_back(value in value(), indent in 0..4_usize) {
        let source = format!("{{{{ value | tojson(indent={indent}) }}}}\n{{{{ value | tojson(ensure_ascii=true) }}}}");
        let template = JinjaTemplate::from_source(source, Map::new()).unwrap();
        let mut input = input(&[("user".to_owned(), String::new())]);
        input.extra.insert("value".to_owned(), value.clone());
        let printed = template.render(&input).unwrap();
        let (indented, ascii) = printed.rsplit_once('\n').unwrap();
        prop_assert_eq!(&serde_json::from_str::<Value>(indented).unwrap(), &value);
        prop_assert_eq!(&serde_json::from_str::<Value>(ascii).unwrap(), &value);
        prop_assert!(ascii.is_ascii());
    }

    #[test]
    fn any_source_is_a_template_or_an_error(pieces in prop::collection::vec(source_piece(), 0..12)) {
        let template = JinjaTemplate::from_source(pieces.concat(), Map::new());
        let _ = template.and_then(|template| template.render(&input(&[("user".to_owned(), "Hello".to_owned())])));
    }
}

fn source_piece() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "{% for m in messages %}",
        "{%- for c in 'abc' -%}",
        "{% endfor %}",
        "{% if loop.last %}",
        "{% else %}",
        "{% endif %}",
        "{% with x = 1 %}",
        "{% endwith %}",
        "{% break %}",
        "{% continue %}",
        "{% generation %}",
        "{% endgeneration %}",
        "{% raw %}",
        "{% endraw %}",
        "{% set x %}",
        "{% endset %}",
        "{% set x = [x, 'a' ~ x] %}",
        "{% filter upper %}",
        "{% endfilter %}",
        "{% macro f(a, b=1) %}",
        "{% endmacro %}",
        "{{ f(x) }}",
        "{{ x | tojson }}",
        "{{ 'é' * 3 }}",
        "{{",
        "}}",
        "{%",
        "%}",
        "{#",
        "#}",
        "'",
        "\"",
        "(",
        ")",
        "{",
        "}",
        "\r\n",
        "text",
        "🍵",
        "{{ messages[0]['content'][::-1] }}",
        "{% set ns = namespace(a=1) %}",
        "{% set ns.a = [ns] %}",
    ])
}
