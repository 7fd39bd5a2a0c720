//! What holds of every family with a grammar: it takes the calls that the family writes, and whatever it allows, the
//! family reads as calls that the tools' schemas accept.
#![allow(clippy::indexing_slicing)] // a test may panic

mod draw;

use alloquy_constraints::Llguidance;
use alloquy_core::testing::NoiseEngine;
use alloquy_core::{
    Constraint, ConstraintCompiler, Constraints, Ending, Engine, Message, ModelInfo, ParallelCalls, Part,
    Piece, Preface, Progress, PromptSource, ToolChoice, ToolSpec, Vocabulary,
};
use proptest::prelude::*;
use serde_json::{Map, Value};

use super::{Layout, Style, Writer, has_names_before_arguments, layout, of, style};
use crate::calls::{Call, JSON_LIST, Syntax};
use crate::families::FAMILIES;
use crate::family::Family;
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

const STEPS: usize = 4000;

/// A family, with and without control tokens and with each of its templates.
struct Case {
    family: &'static Family,
    template: &'static str,
    engine: NoiseEngine,
    compiler: std::sync::Arc<dyn ConstraintCompiler>,
}

impl Case {
    fn all() -> Vec<Self> {
        let families = FAMILIES.iter().filter(|family| !SILENT.contains(&family.name));
        let plain = families.clone().map(|family| (*family, ""));
        let shown = TEMPLATES.iter().flat_map(|(name, template)| {
            families
                .clone()
                .filter(move |family| family.name == *name)
                .map(move |family| (*family, *template))
        });
        let with = |tokens: &'static [&'static str]| {
            move |(family, template)| Self::new(family, template, NoiseEngine::new(tokens.iter().copied()))
        };
        let cases: Vec<_> = plain.chain(shown).collect();
        cases.iter().copied().map(with(&TOKENS)).chain(cases.iter().copied().map(with(&[]))).collect()
    }

    fn new(family: &'static Family, template: &'static str, engine: NoiseEngine) -> Self {
        let compiler = Llguidance::default().prepare(&Vocabulary::of(&engine)).unwrap();
        Self { family, template, engine, compiler }
    }

    fn model(&self) -> &ModelInfo {
        self.engine.model()
    }

    fn writer(&self) -> Writer<'_> {
        let ModelInfo { specials, stop_tokens, .. } = self.model();
        Writer { family: self.family, specials, stop_tokens, template: self.template }
    }

    fn constraint(
        &self,
        tools: &[ToolSpec],
        choice: &ToolChoice,
        parallel: ParallelCalls,
    ) -> Box<dyn Constraint> {
        let grammar = of(self.writer(), tools, choice, parallel).unwrap().expect("the family has a grammar");
        self.compiler.compile(&grammar).unwrap_or_else(|error| panic!("{self:?}: {error:#}\n{grammar:#?}"))
    }

    /// What the family's templates print for calls.
    fn written(&self, calls: &[Call]) -> String {
        let style = style(self.writer()).unwrap();
        let Style { open, close, syntax } = style;
        let marked = |calls: &[Call]| format!("{open}{}{close}", syntax.write(calls));
        match (syntax, layout(style, self.writer())) {
            (Syntax::Harmony, _) => format!(" to={}{close}", syntax.write(&calls[..1])),
            (Syntax::DeepSeek, _) if self.template.contains("```json") => {
                let fence = |call: &Call| {
                    let arguments = crate::calls::spaced(&call.arguments.clone().into());
                    format!(
                        "<｜tool▁call▁begin｜>function<｜tool▁sep｜>{}\n```json\n{arguments}\n```<｜tool▁call▁end｜>",
                        call.name
                    )
                };
                format!("{open}{}{close}", calls.iter().map(fence).collect::<Vec<_>>().join("\n"))
            }
            (Syntax::Mistral, _) if !has_names_before_arguments(self.writer()) => {
                format!("{open} {}", JSON_LIST.write(calls))
            }
            (_, Layout::List | Layout::Together(_)) => marked(calls),
            (_, Layout::Alone) => marked(&calls[..1]),
            (_, Layout::Apart(_)) => calls.chunks(1).map(marked).collect(),
        }
    }

    /// Goes where the mask lets it.
    fn walk(&self, mut constraint: Box<dyn Constraint>, draw: &mut Draw) -> String {
        let (mut said, stops) = (Vec::new(), &self.model().stop_tokens);
        for _ in 0..STEPS {
            let mut logits = vec![0.0_f32; self.model().vocabulary];
            constraint.mask(&mut logits).unwrap();
            let allowed: Vec<_> = (0_u32..).zip(&logits).filter(|(_, logit)| logit.is_finite()).collect();
            let token = allowed[draw.below(allowed.len())].0;
            if stops.contains(&token) {
                break;
            }
            said.extend(self.engine.tokenizer().bytes(token).unwrap());
            constraint.accept(token).unwrap();
            if constraint.progress().unwrap() == Progress::Complete {
                break;
            }
        }
        String::from_utf8(said).unwrap_or_else(|error| panic!("{self:?}: {error}"))
    }

    fn read(&self, reply: &str, tools: &[ToolSpec]) -> Message {
        let processor = crate::named(self.family.name, self.model()).unwrap();
        let preface = Preface { tools: tools.to_vec(), ..Preface::default() };
        let mut parser = processor.reply_parser("", PromptSource::new(&preface, &[], Ending::Answer));
        let _ = parser.push(reply);
        parser.finish().1
    }
}

impl std::fmt::Debug for Case {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            formatter,
            "{} with {} tokens and {:?}",
            self.family.name,
            self.model().specials.len(),
            self.template
        )
    }
}

fn accepts(tool: &ToolSpec, arguments: &Value) -> bool {
    jsonschema::options().should_validate_formats(true).build(&tool.parameters).unwrap().is_valid(arguments)
}

/// Returns how many calls a reply has, after a look at each.
fn check(case: &Case, reply: &str, tools: &[ToolSpec]) -> usize {
    let message = case.read(reply, tools);
    let malformed = message.parts.iter().any(|part| matches!(part.content, Part::Malformed(_)));
    assert!(!malformed, "{case:?}: {reply:?}\n{message:#?}\n{tools:#?}");
    for call in message.tool_calls() {
        let tool = tools.iter().find(|tool| tool.name == call.name);
        let tool = tool.unwrap_or_else(|| panic!("{case:?}: {reply:?} calls {:?}", call.name));
        assert!(accepts(tool, &call.arguments), "{case:?}: {reply:?}\n{call:#?}\n{tool:#?}");
    }
    message.tool_calls().count()
}

fn arguments(tool: &ToolSpec, draw: &mut Draw) -> Map<String, Value> {
    let arguments = draw.value(&tool.parameters, &tool.parameters);
    assert!(accepts(tool, &arguments), "{arguments} is not valid under {:?}", tool.parameters);
    arguments.as_object().cloned().unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 6, max_shrink_iters: 4, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_a_family_writes_is_allowed(seed in any::<u64>()) {
        let mut draw = Draw::new(seed);
        for case in Case::all() {
            let tools = draw.tools();
            let mut calls = Vec::new();
            for tool in &tools {
                calls.push(Call { name: tool.name.clone(), arguments: arguments(tool, &mut draw) });
            }
            let written = case.written(&calls);
            for choice in [ToolChoice::Required, ToolChoice::Auto] {
                let mut constraint = case.constraint(&tools, &choice, ParallelCalls::Allowed);
                let tokens = case.engine.tokenizer().encode(&[Piece::Text(&written)]).unwrap();
                for (at, token) in tokens.iter().enumerate() {
                    let taken = constraint.accept(*token);
                    prop_assert!(taken.is_ok(), "{case:?}: token {at} of {written:?}\n{tools:#?}");
                }
                prop_assert!(constraint.progress().unwrap() != Progress::Open, "{case:?}: {written:?}");
            }
        }
    }

    #[test]
    fn what_is_allowed_is_read_as_calls_that_the_schemas_accept(seed in any::<u64>()) {
        let mut draw = Draw::new(seed);
        for case in Case::all() {
            let tools = draw.tools();
            let named = ToolChoice::Named(tools[0].name.clone());
            for choice in [ToolChoice::Required, named, ToolChoice::Auto, ToolChoice::None] {
                let parallel = [ParallelCalls::Allowed, ParallelCalls::Forbidden][draw.below(2)];
                let reply = case.walk(case.constraint(&tools, &choice, parallel), &mut draw);
                let calls = check(&case, &reply, &tools);
                let text = case.read(&reply, &tools).text();
                match choice {
                    ToolChoice::Required | ToolChoice::Named(_) => {
                        prop_assert!(calls > 0 && text.is_empty(), "{case:?}: {reply:?}");
                    }
                    ToolChoice::None => prop_assert_eq!(calls, 0, "{:?}: {:?}", case, reply),
                    ToolChoice::Auto => {}
                }
                prop_assert!(calls < 2 || parallel == ParallelCalls::Allowed, "{case:?}: {reply:?}");
            }
        }
    }
}
