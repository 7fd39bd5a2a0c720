//! Tool calls that are demanded of noise: whatever is drawn, the family's own parser reads calls that the tools'
//! schemas accept.

use std::sync::Arc;

use alloquy_constraints::LlguidanceEngine;
use alloquy_core::grammar::Grammar;
use alloquy_core::output::{OutputConstraints, ParallelCalls, ToolChoice};
use alloquy_core::report::{FinishReason, Warning};
use alloquy_core::template::PromptTemplate;
use alloquy_core::{
    ChatModel, Content, ErrorKind, Message, Preface, Reply, Request, Result, SamplingOptions, ToolSpec,
};
use alloquy_engine::Engine;
use alloquy_inference::{Generator, GeneratorOptions, LanguageModel};
use alloquy_testing::{NoiseEngine, TaggedTemplate};
use pollster::block_on;
use serde_json::{Value, json};

#[rustfmt::skip]
const TOKENS: [&str; 30] = [
    "<think>", "</think>", "<tool_call>", "</tool_call>", "<|tool_call|>", "<|/tool_call|>", "<|tool_call_start|>",
    "<|tool_call_end|>", "<|tool_call>", "<tool_call|>", "<|\"|>", "<start_function_call>", "<end_function_call>",
    "<escape>", "<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>", "<｜tool▁call▁begin｜>", "<｜tool▁call▁end｜>",
    "<｜tool▁sep｜>", "[TOOL_CALLS]", "[ARGS]", "[CALL_ID]", "[THINK]", "[/THINK]", "<|start|>", "<|channel|>",
    "<|message|>", "<|constrain|>", "<|end|>", "<|call|>",
];

/// Families with calls of every shape, and whether their marks are tokens.
const FAMILIES: [(&str, &[&str]); 17] = [
    ("deepseek", &TOKENS),
    ("function_gemma", &TOKENS),
    ("gemma3", &[]),
    ("gemma4", &TOKENS),
    ("gpt_oss", &TOKENS),
    ("gpt_oss", &[]),
    ("lfm2", &TOKENS),
    ("llama3", &[]),
    ("minicpm", &TOKENS),
    ("ministral", &TOKENS),
    ("mistral", &[]),
    ("phi4", &TOKENS),
    ("qwen3", &TOKENS),
    ("qwen3", &[]),
    ("qwen3_5", &TOKENS),
    ("qwen3_5", &[]),
    ("smollm3", &TOKENS),
];

const SEEDS: u64 = 12;

pub(crate) fn round(family: &str, tokens: &[&'static str]) -> LanguageModel {
    round_with(family, tokens, TaggedTemplate)
}

pub(crate) fn round_with(
    family: &str,
    tokens: &[&'static str],
    template: impl PromptTemplate + 'static,
) -> LanguageModel {
    let engine = NoiseEngine::new(tokens.iter().copied());
    let processor = alloquy_processors::named(family, engine.model()).unwrap();
    let builder =
        LanguageModel::builder(Generator::new(Arc::new(engine), GeneratorOptions::default()).unwrap())
            .template(template)
            .processor(processor);
    builder.grammars(LlguidanceEngine::default()).build().unwrap()
}

fn tools() -> Vec<ToolSpec> {
    let tool = |name: &str, parameters: Value| {
        serde_json::from_value(json!({"name": name, "description": "", "parameters": parameters})).unwrap()
    };
    vec![
        tool(
            "get_weather",
            json!({
                "type": "object",
                "properties": {
                    "city": {"type": "string", "minLength": 1, "maxLength": 8},
                    "unit": {"type": "string", "enum": ["celsius", "fahrenheit"]},
                    "days": {"type": "integer", "minimum": 1, "maximum": 14},
                    "hourly": {"type": "boolean"},
                },
                "required": ["city"],
            }),
        ),
        tool(
            "find",
            json!({
                "type": "object",
                "properties": {
                    "words": {"type": "array", "items": {"type": "string", "maxLength": 4}, "maxItems": 3},
                    "place": {
                        "type": "object",
                        "properties": {"x": {"type": "number"}, "y": {"type": ["number", "null"]}},
                        "required": ["x", "y"],
                        "additionalProperties": false,
                    },
                },
                "required": ["words", "place"],
            }),
        ),
        tool("now", json!({"type": "object", "properties": {}})),
    ]
}

pub(crate) fn request(seed: u64, constraints: OutputConstraints) -> Request {
    let preface = Preface { tools: tools(), ..Preface::default() };
    let sampling = SamplingOptions {
        temperature: Some(1.0),
        seed: Some(seed),
        max_tokens: Some(3000),
        ..SamplingOptions::default()
    };
    Request::new(preface, vec![Message::user("Go!")])
        .sampling(sampling)
        .output(constraints.thinking_budget(16))
}

pub(crate) fn ask(round: &LanguageModel, request: Request) -> Result<Reply> {
    block_on(async { round.reply(request).await?.finish().await })
}

fn replies(choice: &ToolChoice, parallel: ParallelCalls) -> impl Iterator<Item = (String, Reply)> {
    let constraints = OutputConstraints::default().tool_choice(choice.clone()).parallel_calls(parallel);
    let rounds = FAMILIES.iter().map(|(family, tokens)| (family, round(family, tokens)));
    rounds.flat_map(move |(family, round)| {
        let constraints = constraints.clone();
        (0..SEEDS).map(move |seed| {
            let reply = ask(&round, request(seed, constraints.clone()));
            (format!("{family}, seed {seed}"), reply.unwrap_or_else(|error| panic!("{family}: {error:#}")))
        })
    })
}

/// Returns the names of the calls, after a look at their arguments.
fn called(place: &str, reply: &Reply) -> Vec<String> {
    let known = tools();
    let malformed = reply.message.parts.iter().any(|part| matches!(part.content, Content::Malformed(_)));
    assert!(!malformed, "{place}: {:?}", reply.message);
    let check = |call: &alloquy_core::message::ToolCall| {
        let tool = known.iter().find(|tool| tool.name == call.name).expect(place);
        let validator = jsonschema::validator_for(&tool.parameters).unwrap();
        assert!(validator.is_valid(&call.arguments), "{place}: {call:?}");
        call.name.clone()
    };
    reply.message.tool_calls().map(check).collect()
}

#[test]
fn required_calls_are_made_and_nothing_else_is_said() {
    let mut several = 0;
    for (place, reply) in replies(&ToolChoice::Required, ParallelCalls::Allowed) {
        assert_eq!(reply.finish, FinishReason::ToolCalls, "{place}: {:?}", reply.message);
        assert_eq!(reply.message.text(), "", "{place}");
        several += usize::from(called(&place, &reply).len() > 1);
    }
    assert!(several > 0, "no reply has two calls");
}

#[test]
fn one_call_is_made_where_more_are_forbidden() {
    for (place, reply) in replies(&ToolChoice::Required, ParallelCalls::Forbidden) {
        assert_eq!(called(&place, &reply).len(), 1, "{place}: {:?}", reply.message);
    }
}

#[test]
fn a_named_tool_is_called_and_no_other() {
    for (place, reply) in replies(&ToolChoice::Named("find".to_owned()), ParallelCalls::Allowed) {
        let names = called(&place, &reply);
        assert!(!names.is_empty() && names.iter().all(|name| name == "find"), "{place}: {names:?}");
    }
}

#[test]
fn forbidden_calls_are_not_made() {
    for (place, reply) in replies(&ToolChoice::None, ParallelCalls::Allowed) {
        assert!(called(&place, &reply).is_empty(), "{place}: {:?}", reply.message);
    }
}

#[test]
fn free_calls_are_well_formed_and_some_replies_are_text() {
    let mut calls = 0;
    let mut texts = 0;
    for (place, reply) in replies(&ToolChoice::Auto, ParallelCalls::Allowed) {
        calls += called(&place, &reply).len();
        texts += usize::from(!reply.message.text().is_empty());
    }
    assert!(calls > 0 && texts > 0, "{calls} calls, {texts} texts");
}

#[test]
fn a_choice_of_tools_goes_with_a_form_of_the_answer() {
    let round = round("qwen3", &TOKENS);
    let constraints =
        OutputConstraints::default().tool_choice(ToolChoice::Auto).grammar(Grammar::choice(["yes", "no"]));
    let mut calls = 0;
    let mut answers = 0;
    for seed in 0..SEEDS {
        let reply = ask(&round, request(seed, constraints.clone())).unwrap();
        match called("both", &reply).len() {
            0 => {
                assert!(["yes", "no"].contains(&reply.message.text().as_str()), "{:?}", reply.message);
                answers += 1;
            }
            _ => calls += 1,
        }
    }
    assert!(calls > 0 && answers > 0, "{calls} calls, {answers} answers");
}

/// Nobody chose between a form and tools: the form wins, and the reply says so.
#[test]
fn a_form_without_a_choice_shuts_tools_out_and_says_so() {
    let round = round("qwen3", &TOKENS);
    let reported = |choice: Option<ToolChoice>, offered: bool| {
        let mut constraints = OutputConstraints::default().grammar(Grammar::choice(["yes", "no"]));
        constraints.tool_choice = choice;
        let mut request = request(1, constraints);
        request.preface.tools.retain(|_| offered);
        let reply = ask(&round, request).unwrap();
        reply.warnings.into_iter().find(|found| matches!(found, Warning::ToolsExcluded { .. }))
    };
    assert_eq!(reported(None, true), Some(Warning::ToolsExcluded { tools: 3 }));
    assert_eq!(reported(None, false), None);
    assert_eq!(reported(Some(ToolChoice::Auto), true), None);
    assert_eq!(reported(Some(ToolChoice::None), true), None);
}

#[test]
fn what_cannot_be_demanded_is_said_before_anything_is_generated() {
    let qwen = round("qwen3", &TOKENS);
    let named = |name: &str| OutputConstraints::default().tool_choice(ToolChoice::Named(name.to_owned()));
    let mut without = request(0, OutputConstraints::default().tool_choice(ToolChoice::Required));
    without.preface.tools.clear();
    let mut unique = request(0, named("now"));
    unique.preface.tools[2].parameters = json!({"properties": {"a": {"type": "array", "uniqueItems": true}}});
    let mut pythonic = unique.clone();
    pythonic.preface.tools[2].parameters = json!({"properties": {"a": {"not": {}}}});
    let gemma = round("gemma3", &[]);
    let vicuna = round("vicuna", &[]);
    let refused = [
        (&qwen, request(0, named("later")), ErrorKind::Invalid),
        (&qwen, without, ErrorKind::Invalid),
        (&qwen, unique, ErrorKind::Unsupported),
        (&gemma, pythonic, ErrorKind::Unsupported),
        (&vicuna, request(0, named("now")), ErrorKind::Unsupported),
    ];
    let mut sentences = Vec::new();
    for (round, request, kind) in refused {
        let error = block_on(round.reply(request)).expect_err("it cannot be demanded");
        assert_eq!(error.kind(), kind, "{error:#}");
        sentences.push(error.to_string());
    }
    insta::assert_snapshot!(sentences.join("\n"));
}
