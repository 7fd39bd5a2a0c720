//! Where no tool is offered or calls are forbidden, no call begins, in every family that marks calls.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

use std::sync::Arc;

use alloquy_constraints::LlguidanceEngine;
use alloquy_core::grammar::Grammar;
use alloquy_core::model_info::ModelInfo;
use alloquy_core::output::{OutputConstraints, ToolChoice};
use alloquy_core::report::{FinishReason, Warning};
use alloquy_core::tokenizer::Tokenizer;
use alloquy_core::{ChatModel, Message, Preface, Reply, Request, SamplingOptions, ToolSpec};
use alloquy_engine::Engine;
use alloquy_engine::decoder::{DecodeRequest, Decoder, ExcludedTexts, GrammarSupport, TokenStream};
use alloquy_inference::{Drafting, Generator, GeneratorOptions, LanguageModel, PromptLookup};
use alloquy_processors::{DataProcessorConfig, Family};
use alloquy_testing::{ScriptedEngine, TaggedTemplate, laws};
use pollster::block_on;
use serde_json::json;

/// A call of `add` with `{"a": 1}` for each way in which a family marks calls, and the control tokens of its models.
const CALLS: &[(&str, &[&str], &[&str])] = &[
    (
        "deepseek",
        &[
            "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>add<｜tool▁sep｜>{\"a\": 1}<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
            "<｜DSML｜function_calls><｜DSML｜invoke name=\"add\"><｜DSML｜parameter name=\"a\" string=\"false\">1\
             </｜DSML｜parameter></｜DSML｜invoke></｜DSML｜function_calls>",
        ],
        &["<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>", "｜DSML｜"],
    ),
    (
        "function_gemma",
        &["<start_function_call>call:add{a:1}<end_function_call>"],
        &["<start_function_call>"],
    ),
    ("gemma3", &["```tool_code\nadd(a=1)\n```"], &[]),
    ("gemma4", &["<|tool_call>call:add{a:1}<tool_call|>"], &["<|tool_call>", "<tool_call|>"]),
    (
        "gpt_oss",
        &[
            "<|channel|>commentary to=functions.add <|constrain|>json<|message|>{\"a\": 1}<|call|>",
            "<|channel|>analysis to=functions.add <|constrain|>json<|message|>{\"a\": 1}<|call|>",
            "<|start|>assistant to=functions.add<|channel|>commentary json<|message|>{\"a\": 1}<|call|>",
            " to=functions.add<|channel|>commentary json<|message|>{\"a\": 1}<|call|>",
        ],
        &["<|channel|>", "<|start|>", "<|message|>", "<|constrain|>", "<|call|>"],
    ),
    (
        "lfm2",
        &["<|tool_call_start|>[add(a=1)]<|tool_call_end|>"],
        &["<|tool_call_start|>", "<|tool_call_end|>"],
    ),
    (
        "llama3",
        &[
            "<|python_tag|>{\"name\": \"add\", \"parameters\": {\"a\": 1}}",
            "<|python_start|>[add(a=1)]<|python_end|>",
        ],
        &["<|python_tag|>", "<|python_start|>", "<|python_end|>"],
    ),
    (
        "minicpm",
        &[
            "<|tool_call_start|>\n```python\nadd(a=1)\n```\n<|tool_call_end|>",
            "<function name=\"add\"><param name=\"a\">1</param></function>",
        ],
        &["<|tool_call_start|>", "<|tool_call_end|>"],
    ),
    ("ministral", &["[TOOL_CALLS]add[ARGS]{\"a\": 1}"], &["[TOOL_CALLS]", "[ARGS]"]),
    ("mistral", &["[TOOL_CALLS] [{\"name\": \"add\", \"arguments\": {\"a\": 1}}]"], &["[TOOL_CALLS]"]),
    (
        "phi4",
        &[
            "<|tool_call|>[{\"name\": \"add\", \"arguments\": {\"a\": 1}}]<|/tool_call|>",
            "functools[{\"name\": \"add\", \"arguments\": {\"a\": 1}}]",
        ],
        &["<|tool_call|>", "<|/tool_call|>"],
    ),
    ("qwen2_5", &[JSON], &["<tool_call>", "</tool_call>"]),
    ("qwen3", &[JSON], &["<tool_call>", "</tool_call>"]),
    (
        "qwen3_5",
        &[
            "<tool_call>\n<function=add>\n<parameter=a>\n1\n</parameter>\n</function>\n</tool_call>",
            "<function=add>\n<parameter=a>\n1\n</parameter>\n</function>",
        ],
        &["<tool_call>", "</tool_call>"],
    ),
    ("smollm3", &[JSON], &["<tool_call>", "</tool_call>"]),
];

const JSON: &str = "<tool_call>\n{\"name\": \"add\", \"arguments\": {\"a\": 1}}\n</tool_call>";

/// Families whose calls have no marker, or that have no calls.
const WITHOUT: [&str; 2] = ["generic", "vicuna"];

fn request() -> Request {
    let parameters = json!({"type": "object", "properties": {"a": {"type": "integer"}}});
    let preface = Preface::default().tool(ToolSpec::new("add", "Adds", parameters));
    Request::new(preface, vec![Message::user("Go!")])
}

fn engine(reply: &str, specials: &[&str]) -> ScriptedEngine {
    ScriptedEngine::new([("<assistant>", reply)]).specials(specials.iter().copied()).ends_otherwise()
}

fn model_info(family: &str, specials: &[&str]) -> ModelInfo {
    let mut model = engine("", specials).model().clone();
    model.name = family.to_owned();
    model
}

fn over(family: &Family, decoder: impl Decoder + 'static, specials: &[&str]) -> LanguageModel {
    let processor =
        family.processor(&model_info(&family.name, specials), &DataProcessorConfig::default()).unwrap();
    let builder = LanguageModel::builder(decoder).template(TaggedTemplate).processor(processor);
    builder.grammars(LlguidanceEngine::default()).build().unwrap()
}

fn model(family: &str, reply: &str, specials: &[&str]) -> LanguageModel {
    let options = GeneratorOptions {
        lookup: Some(PromptLookup::default()),
        drafting: Drafting::Always,
        ..GeneratorOptions::default()
    };
    let generator = Generator::new(Arc::new(engine(reply, specials)), options).unwrap();
    over(&Family::named(family).unwrap(), generator, specials)
}

fn ask(model: &LanguageModel, request: Request) -> Reply {
    block_on(async { model.reply(request).await.unwrap().finish().await.unwrap() })
}

/// The texts that a model of a family must not write.
fn starts(family: &str) -> Vec<String> {
    let calls = Family::named(family).unwrap().calls;
    calls.iter().map(|markers| format!("{}{}", markers.start, markers.followed_by)).collect()
}

#[test]
fn every_family_with_markers_is_here() {
    for family in alloquy_processors::families() {
        let case = CALLS.iter().find(|(name, ..)| *name == family);
        let Some((_, calls, _)) = case else {
            assert!(WITHOUT.contains(&family), "{family} has no case");
            assert!(starts(family).is_empty(), "{family} marks calls");
            continue;
        };
        for start in starts(family) {
            assert!(calls.iter().any(|call| call.starts_with(&start)), "{family}: {start:?} has no case");
        }
    }
}

#[test]
fn no_call_begins_where_none_is_wanted() {
    for (family, calls, specials) in CALLS {
        let starts = starts(family);
        let starts: Vec<_> = starts.iter().map(String::as_str).collect();
        for call in *calls {
            // With markers that are control tokens, and with markers of ordinary text; with text before them, and without.
            for specials in [*specials, &[]] {
                for before in ["", "Sure, and hm <fun <tool_ca [TOOL func "] {
                    let reply = format!("{before}{call}");
                    let model = model(family, &reply, specials);
                    block_on(laws::chat_model::calls_begin_only_where_wanted(&model, &request(), &starts));
                }
            }
        }
    }
}

#[test]
fn the_text_before_an_unwanted_call_is_the_reply() {
    let mut without = request();
    without.preface.tools.clear();
    for specials in [&["<tool_call>"][..], &[]] {
        let reply = ask(&model("qwen3", &format!("Sure.{JSON}"), specials), without.clone());
        assert_eq!(reply.finish, FinishReason::Stop);
        assert_eq!(reply.warnings, []);
        let text = if specials.is_empty() { "Sure.<tool_call" } else { "Sure." };
        assert_eq!(reply.message.text(), text, "with {specials:?}");
    }
    // A head that a model cannot complete is not begun: of `<|channel|>commentary to=` the word `to` is missing.
    let (_, calls, specials) = CALLS.iter().find(|(family, ..)| *family == "gpt_oss").unwrap();
    let reply = ask(&model("gpt_oss", calls[0], specials), without);
    assert_eq!(reply.message.text(), "<|channel|>commentary t");
}

#[test]
fn nothing_ends_a_call_that_was_not_begun() {
    let mut without = request();
    without.preface.tools.clear();
    for (specials, text) in [(&["</tool_call>"][..], "Sure."), (&[], "Sure.</tool_call> Done.")] {
        let reply = ask(&model("qwen3", "Sure.</tool_call> Done.", specials), without.clone());
        assert_eq!(reply.message.text(), text, "with {specials:?}");
    }
}

#[test]
fn thinking_has_no_call_either() {
    let thinking = format!("<think>\nHm.{JSON}\n</think>\n\n{JSON}");
    for (specials, shown) in [(&["<tool_call>", "</tool_call>"][..], "Hm."), (&[], "Hm.<tool_call")] {
        let mut request = request();
        request.preface.tools.clear();
        let reply = ask(&model("qwen3", &thinking, specials), request);
        assert_eq!(reply.message.thinking().as_deref(), Some(shown), "{reply:?}");
    }
}

#[test]
fn concurrent_replies_have_rules_of_their_own() {
    let specials = ["<tool_call>", "</tool_call>"];
    let generator = Generator::new(Arc::new(engine(JSON, &specials)), 4).unwrap();
    let model = over(&Family::named("qwen3").unwrap(), generator, &specials);
    let mut without = request();
    without.preface.tools.clear();
    let replies = block_on(futures::future::join_all([request(), without.clone(), request(), without].map(
        |request| {
            let model = &model;
            async move { model.reply(request).await.unwrap().finish().await.unwrap() }
        },
    )));
    let calls: Vec<_> = replies.iter().map(|reply| reply.message.tool_calls().count()).collect();
    assert_eq!(calls, [1, 0, 1, 0]);
}

#[test]
fn log_probabilities_and_the_cache_are_those_of_the_model() {
    let specials = ["<tool_call>", "</tool_call>"];
    let model = model("qwen3", &format!("Sure.{JSON}"), &specials);
    let wanted = ask(&model, request());
    let mut forbidden = request();
    forbidden.output.tool_choice = Some(ToolChoice::None);
    forbidden.sampling = SamplingOptions { logprobs: Some(1), ..SamplingOptions::default() };
    let reply = ask(&model, forbidden);
    assert_eq!((reply.message.text().as_str(), reply.logprobs.len()), ("Sure.", 5));
    assert_eq!(reply.usage.cached, wanted.usage.prompt - 1, "the prompt is the same");
}

#[test]
fn a_grammar_decides_alone() {
    // Text that a schema demands is written in ordinary tokens. The control token is none of them.
    for (family, text) in [("qwen3", "<tool_call>"), ("phi4", "functools["), ("gemma3", "```tool_code\n")] {
        let specials = ["<tool_call>", "</tool_call>"];
        let model = model(family, "nothing", &specials);
        let mut request = request();
        request.preface.tools.clear();
        request.output = OutputConstraints::default().grammar(Grammar::JsonSchema(json!({"const": text})));
        let reply = ask(&model, request);
        assert_eq!(reply.message.text(), json!(text).to_string(), "{family}");
        assert!(reply.tokens.iter().all(|token| *token < 256), "{family}: {:?}", reply.tokens);
        assert_eq!(reply.warnings, [], "{family}");
    }
}

#[test]
fn a_family_of_ones_own_is_protected_too() {
    let family = Family::from_json(
        r#"{"name": "ada", "calls": [{"start": "<call>", "end": "</call>"}, {"start": "CALL:", "end": ";"}]}"#,
    )
    .unwrap();
    for call in [
        "<call>{\"name\": \"add\", \"arguments\": {}}</call>",
        "CALL:{\"name\": \"add\", \"arguments\": {}}\n",
    ] {
        let generator = Generator::new(Arc::new(engine(call, &["<call>"])), 1).unwrap();
        let model = over(&family, generator, &["<call>"]);
        block_on(laws::chat_model::calls_begin_only_where_wanted(&model, &request(), &["<call>", "CALL:"]));
    }
}

/// A server that generates what it likes.
#[derive(Debug)]
struct Remote(Generator, GrammarSupport);

impl Decoder for Remote {
    fn model(&self) -> &ModelInfo {
        self.0.model()
    }

    fn tokenizer(&self) -> &dyn Tokenizer {
        self.0.tokenizer()
    }

    fn grammar_support(&self) -> GrammarSupport {
        self.1
    }

    fn decode(&self, mut request: DecodeRequest) -> TokenStream {
        request.guided = Default::default();
        request.excluded = ExcludedTexts::default();
        self.0.decode(request)
    }
}

#[test]
fn a_decoder_that_excludes_nothing_has_its_calls_reported() {
    for (specials, family, call) in [
        (&["<tool_call>", "</tool_call>"][..], "qwen3", JSON),
        (&[], "qwen3", JSON),
        (&[], "phi4", "functools[{\"name\": \"add\", \"arguments\": {\"a\": 1}}]"),
    ] {
        let starts = starts(family);
        let starts: Vec<_> = starts.iter().map(String::as_str).collect();
        let generator = Generator::new(Arc::new(engine(call, specials)), 1).unwrap();
        let decoder = Remote(generator, GrammarSupport::None);
        let model = over(&Family::named(family).unwrap(), decoder, specials);
        block_on(laws::chat_model::calls_begin_only_where_wanted(&model, &request(), &starts));

        let mut without = request();
        without.preface.tools.clear();
        let reply = ask(&model, without);
        assert_eq!(reply.message.text(), call, "what was generated is kept");
        let start = starts.iter().find(|start| call.starts_with(**start)).unwrap();
        assert_eq!(reply.warnings, [Warning::UnwantedCall { marker: (*start).to_owned() }]);
        // An offered tool is called without a warning.
        assert_eq!(ask(&model, request()).warnings, []);
    }
    // A server that receives a grammar is sent one, and is checked.
    let generator = Generator::new(Arc::new(engine(JSON, &[])), 1).unwrap();
    let model = over(&Family::named("qwen3").unwrap(), Remote(generator, GrammarSupport::Unverified), &[]);
    let mut forbidden = request();
    forbidden.output.tool_choice = Some(ToolChoice::None);
    let reply = ask(&model, forbidden);
    assert!(matches!(reply.warnings[..], [Warning::GrammarViolated { .. }]), "{:?}", reply.warnings);
    assert_eq!(reply.message.tool_calls().count(), 0);
}
