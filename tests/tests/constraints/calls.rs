//! What holds of every family with a grammar: it takes the calls that the family writes, and whatever it allows, the
//! family reads as calls that the tools' schemas accept.

mod draw;

use std::sync::Arc;

use alloquy_constraints::LlguidanceEngine;
use alloquy_core::grammar::{GrammarCompiler, GrammarEngine, GrammarMatcher, MatcherState};
use alloquy_core::message::ToolCall;
use alloquy_core::model_info::ModelInfo;
use alloquy_core::output::{ParallelCalls, ToolChoice};
use alloquy_core::processor::{DataProcessor, ProcessorInput};
use alloquy_core::template::PromptEnd;
use alloquy_core::tokenizer::TokenizerInput;
use alloquy_core::{Content, Message, Preface, ToolSpec};
use alloquy_engine::Engine;
use alloquy_processors::laws::written_calls;
use alloquy_testing::NoiseEngine;
use serde_json::Value;

use draw::Draw;

#[rustfmt::skip]
const TOKENS: [&str; 34] = [
    "<think>", "</think>", "<tool_call>", "</tool_call>", "<|tool_call|>", "<|/tool_call|>", "<|tool_call_start|>",
    "<|tool_call_end|>", "<|tool_call>", "<tool_call|>", "<|\"|>", "<start_function_call>", "<end_function_call>",
    "<escape>", "<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>", "<｜tool▁call▁begin｜>", "<｜tool▁call▁end｜>",
    "<｜tool▁sep｜>", "｜DSML｜", "[TOOL_CALLS]", "[ARGS]", "[CALL_ID]", "<|start|>", "<|channel|>", "<|message|>",
    "<|constrain|>", "<|end|>", "<|call|>", "<|return|>", "<function", "</function>", "<param", "</param>",
];

/// What of a template decides how calls are written, one after the other.
const TEMPLATES: [(&str, &str); 7] = [
    ("deepseek", "```json"),
    ("deepseek", "<｜DSML｜function_calls>"),
    ("minicpm", "<function name=\""),
    ("mistral", "[TOOL_CALLS] ["),
    ("mistral", "[TOOL_CALLS] + name + [ARGS]"),
    ("ministral", "[TOOL_CALLS] + name + [CALL_ID] + [ARGS]"),
    ("qwen3_5", "<function="),
];

/// Families without calls.
const SILENT: [&str; 2] = ["generic", "vicuna"];

const STEPS: usize = 2000;

/// How many random tools each family gets.
const SEEDS: u64 = 6;

/// A family, with or without control tokens, and with one of its templates.
struct Case {
    model: ModelInfo,
    engine: NoiseEngine,
    processor: Arc<dyn DataProcessor>,
    compiler: Arc<dyn GrammarCompiler>,
}

impl Case {
    fn all() -> Vec<Self> {
        let plain = alloquy_processors::families().filter(|family| !SILENT.contains(family));
        let cases: Vec<_> = plain.map(|family| (family, "")).chain(TEMPLATES).collect();
        let with = |tokens: &'static [&'static str]| {
            cases.iter().map(move |(family, template)| Self::new(family, template, tokens))
        };
        with(&TOKENS).chain(with(&[])).collect()
    }

    fn new(family: &str, template: &str, tokens: &[&'static str]) -> Self {
        let engine = NoiseEngine::new(tokens.iter().copied());
        let mut model = engine.model().clone();
        model.files.insert("chat_template.jinja".to_owned(), template.to_owned());
        let processor = alloquy_processors::named(family, &model).unwrap();
        let compiler = LlguidanceEngine::default().prepare(&engine.vocabulary()).unwrap();
        Self { model, engine, processor, compiler }
    }

    fn constraint(
        &self,
        tools: &[ToolSpec],
        choice: &ToolChoice,
        parallel: ParallelCalls,
    ) -> Box<dyn GrammarMatcher> {
        let preface = Preface { tools: tools.to_vec(), ..Preface::default() };
        let source = ProcessorInput::new(&preface, &[], PromptEnd::Generation);
        let grammar = self.processor.tool_grammar(source, choice, parallel).unwrap();
        let grammar = grammar.unwrap_or_else(|| panic!("{self:?} has no grammar"));
        self.compiler.compile(&grammar).unwrap_or_else(|error| panic!("{self:?}: {error:#}\n{grammar:#?}"))
    }

    fn written(&self, calls: &[ToolCall]) -> String {
        written_calls(self.processor.name(), &self.model, calls).unwrap().unwrap()
    }

    /// Goes where the mask lets it, to the end of a reply; free text need not end in time.
    fn walk(&self, mut constraint: Box<dyn GrammarMatcher>, draw: &mut Draw) -> Option<String> {
        let mut said = Vec::new();
        let stops = &self.model.stop_tokens;
        for _ in 0..STEPS {
            let mut logits = vec![0.0_f32; self.model.vocabulary];
            constraint.mask(&mut logits).unwrap();
            let allowed: Vec<_> = (0_u32..).zip(&logits).filter(|(_, logit)| logit.is_finite()).collect();
            let token = allowed[draw.below(allowed.len())].0;
            let stops = stops.contains(&token);
            if !stops {
                said.extend(self.engine.tokenizer().bytes(token).unwrap());
                constraint.accept(token).unwrap();
            }
            if stops || constraint.progress().unwrap() == MatcherState::Complete {
                return Some(String::from_utf8(said).unwrap_or_else(|error| panic!("{self:?}: {error}")));
            }
        }
        None
    }

    fn read(&self, reply: &str, tools: &[ToolSpec]) -> Message {
        let preface = Preface { tools: tools.to_vec(), ..Preface::default() };
        let source = ProcessorInput::new(&preface, &[], PromptEnd::Generation);
        let mut parser = self.processor.reply_parser("", source);
        let _ = parser.push(reply);
        parser.finish().1
    }
}

impl std::fmt::Debug for Case {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let tokens = self.model.specials.len();
        let template = &self.model.files["chat_template.jinja"];
        write!(formatter, "{} with {tokens} tokens and {template:?}", self.processor.name())
    }
}

fn accepts(tool: &ToolSpec, arguments: &Value) -> bool {
    jsonschema::options().should_validate_formats(true).build(&tool.parameters).unwrap().is_valid(arguments)
}

/// Returns how many calls a reply has, after a look at each.
fn check(case: &Case, reply: &str, tools: &[ToolSpec]) -> usize {
    let message = case.read(reply, tools);
    let malformed = message.parts.iter().any(|part| matches!(part.content, Content::Malformed(_)));
    assert!(!malformed, "{case:?}: {reply:?}\n{message:#?}\n{tools:#?}");
    for call in message.tool_calls() {
        let tool = tools.iter().find(|tool| tool.name == call.name);
        let tool = tool.unwrap_or_else(|| panic!("{case:?}: {reply:?} calls {:?}", call.name));
        assert!(accepts(tool, &call.arguments), "{case:?}: {reply:?}\n{call:#?}\n{tool:#?}");
    }
    message.tool_calls().count()
}

fn call(tool: &ToolSpec, draw: &mut Draw) -> ToolCall {
    let arguments = draw.value(&tool.parameters, &tool.parameters);
    assert!(accepts(tool, &arguments), "{arguments} is not valid under {:?}", tool.parameters);
    ToolCall::new("", &tool.name, arguments)
}

/// Every case with some random tools.
fn each(mut law: impl FnMut(&Case, &[ToolSpec], &mut Draw)) {
    for (number, case) in (0..).zip(Case::all()) {
        for seed in 0..SEEDS {
            let mut draw = Draw::new(seed * 1000 + number);
            let tools = draw.tools();
            law(&case, &tools, &mut draw);
        }
    }
}

#[test]
fn what_a_family_writes_is_allowed() {
    each(|case, tools, draw| {
        let calls: Vec<_> = tools.iter().map(|tool| call(tool, draw)).collect();
        let written = case.written(&calls);
        let tokens = case.engine.tokenizer().encode(&[TokenizerInput::Text(&written)]).unwrap();
        for choice in [ToolChoice::Required, ToolChoice::Auto] {
            let mut constraint = case.constraint(tools, &choice, ParallelCalls::Allowed);
            for (at, token) in tokens.iter().enumerate() {
                let taken = constraint.accept(*token);
                assert!(taken.is_ok(), "{case:?}: token {at} of {written:?}\n{tools:#?}");
            }
            assert!(constraint.progress().unwrap() != MatcherState::Open, "{case:?}: {written:?}");
        }
    });
}

#[test]
fn what_is_allowed_is_read_as_calls_that_the_schemas_accept() {
    let mut replies = 0;
    each(|case, tools, draw| {
        let named = ToolChoice::Named(tools[0].name.clone());
        for choice in [ToolChoice::Required, named, ToolChoice::Auto, ToolChoice::None] {
            let parallel = [ParallelCalls::Allowed, ParallelCalls::Forbidden][draw.below(2)];
            let Some(reply) = case.walk(case.constraint(tools, &choice, parallel), draw) else {
                assert!(matches!(choice, ToolChoice::Auto | ToolChoice::None), "{case:?} goes on for ever");
                continue;
            };
            replies += 1;
            let calls = check(case, &reply, tools);
            let text = case.read(&reply, tools).text();
            match choice {
                ToolChoice::Required | ToolChoice::Named(_) => {
                    assert!(calls > 0 && text.is_empty(), "{case:?}: {reply:?}");
                }
                ToolChoice::None => assert_eq!(calls, 0, "{case:?}: {reply:?}"),
                _ => {}
            }
            assert!(calls < 2 || parallel == ParallelCalls::Allowed, "{case:?}: {reply:?}");
        }
    });
    assert!(replies > 900, "{replies} replies ended");
}
