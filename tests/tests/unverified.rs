//! A decoder that is asked for a form and holds no reply to it, such as a server: its ids are checked as they come.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

use std::sync::Arc;

use alloquy_constraints::LlguidanceEngine;
use alloquy_core::grammar::Grammar;
use alloquy_core::model_info::ModelInfo;
use alloquy_core::output::OutputConstraints;
use alloquy_core::processor::{Channel, DataProcessor, ProcessorInput, PromptPart, ReplyParser};
use alloquy_core::report::{FinishReason, Warning};
use alloquy_core::template::TemplateInput;
use alloquy_core::tokenizer::Tokenizer;
use alloquy_core::{ChatModel, ErrorKind, Message, Preface, Reply, Request, Result, SamplingOptions};
use alloquy_engine::decoder::{DecodeRequest, Decoder, GrammarSupport, GuidedDecoding, TokenStream};
use alloquy_inference::{Generator, LanguageModel};
use alloquy_testing::{ScriptedEngine, TaggedProcessor, TaggedTemplate};
use pollster::block_on;
use serde_json::json;

/// Says what it would say without a grammar.
#[derive(Debug)]
struct Careless {
    generator: Generator,
    support: GrammarSupport,
}

impl Decoder for Careless {
    fn model(&self) -> &ModelInfo {
        self.generator.model()
    }

    fn tokenizer(&self) -> &dyn Tokenizer {
        self.generator.tokenizer()
    }

    fn grammar_support(&self) -> GrammarSupport {
        self.support
    }

    fn ignored(&self, sampling: &SamplingOptions) -> Vec<&'static str> {
        if sampling.min_p.is_some() { vec!["min_p"] } else { Vec::new() }
    }

    fn decode(&self, mut request: DecodeRequest) -> TokenStream {
        request.guided = GuidedDecoding::default();
        self.generator.decode(request)
    }
}

/// The plain processor, of a model that thinks.
#[derive(Debug)]
struct Thinker([Channel; 1]);

impl DataProcessor for Thinker {
    fn name(&self) -> &str {
        "thinker"
    }

    fn template_input(&self, source: ProcessorInput<'_>) -> Result<TemplateInput> {
        TaggedProcessor.template_input(source)
    }

    fn prompt_parts(&self, rendered: &str, source: ProcessorInput<'_>) -> Result<Vec<PromptPart>> {
        TaggedProcessor.prompt_parts(rendered, source)
    }

    fn reply_parser(&self, rendered: &str, source: ProcessorInput<'_>) -> Box<dyn ReplyParser> {
        TaggedProcessor.reply_parser(rendered, source)
    }

    fn stop_strings(&self) -> Vec<String> {
        Vec::new()
    }

    fn channels(&self) -> &[Channel] {
        &self.0
    }
}

fn careless(support: GrammarSupport, said: &str) -> Arc<Careless> {
    let engine = ScriptedEngine::new([("<user>Go!<end><assistant>", said)]);
    Arc::new(Careless { generator: Generator::new(Arc::new(engine), 1).unwrap(), support })
}

fn ask(support: GrammarSupport, said: &str, grammar: Grammar, sampling: SamplingOptions) -> Result<Reply> {
    let channel = Channel {
        name: Channel::THINKING.to_owned(),
        start: "<think>\n".to_owned(),
        end: "\n</think>\n\n".to_owned(),
    };
    let builder = LanguageModel::builder(careless(support, said))
        .template(TaggedTemplate)
        .processor(Thinker([channel]));
    let round = builder.grammars(LlguidanceEngine::default()).build()?;
    let request = Request::new(Preface::default(), vec![Message::user("Go!")]);
    let request = request.output(OutputConstraints::default().grammar(grammar)).sampling(sampling);
    block_on(async { round.reply(request).await?.finish().await })
}

fn boolean() -> Grammar {
    Grammar::JsonSchema(json!({"type": "boolean"}))
}

#[test]
fn a_reply_that_matches_is_a_reply() {
    let reply = ask(GrammarSupport::Unverified, "true", boolean(), SamplingOptions::default()).unwrap();
    assert_eq!((reply.finish, reply.message.text().as_str()), (FinishReason::Stop, "true"));
    assert_eq!(reply.warnings, []);
}

#[test]
fn a_reply_that_breaks_its_form_says_where() {
    for (said, tokens) in [("fa lse", 2), ("no", 0), ("true!", 4), ("tr", 2)] {
        let reply = ask(GrammarSupport::Unverified, said, boolean(), SamplingOptions::default()).unwrap();
        assert_eq!(reply.message.text(), said, "what was said is kept");
        assert_eq!(reply.warnings, [Warning::GrammarViolated { tokens }], "{said}");
    }
}

#[test]
fn thinking_is_no_part_of_the_form() {
    for said in
        ["<think>\nno?\n</think>\n\ntrue", "<think>a < b</think>false", " <think></thin </think> \n true"]
    {
        let reply = ask(GrammarSupport::Unverified, said, boolean(), SamplingOptions::default()).unwrap();
        assert_eq!(reply.warnings, [], "{said}");
    }
    let said = "<think>\ntrue\n</think>\n\ntruth";
    let reply = ask(GrammarSupport::Unverified, said, boolean(), SamplingOptions::default()).unwrap();
    assert_eq!(reply.warnings, [Warning::GrammarViolated { tokens: 3 }]);
}

#[test]
fn what_begins_as_thinking_does_may_be_the_answer() {
    let tag = || Grammar::Regex("<t[a-z]+>".to_owned());
    let reply = ask(GrammarSupport::Unverified, "<thing>", tag(), SamplingOptions::default()).unwrap();
    assert_eq!(reply.warnings, []);
    let reply = ask(GrammarSupport::Unverified, "<th", tag(), SamplingOptions::default()).unwrap();
    assert_eq!(reply.warnings, [Warning::GrammarViolated { tokens: 3 }], "it ends too early");
    let reply = ask(GrammarSupport::Unverified, "<thin!", tag(), SamplingOptions::default()).unwrap();
    assert_eq!(reply.warnings, [Warning::GrammarViolated { tokens: 5 }]);
}

#[test]
fn a_reply_that_is_cut_is_only_cut() {
    let two = SamplingOptions { max_tokens: Some(2), ..SamplingOptions::default() };
    let reply = ask(GrammarSupport::Unverified, "true", boolean(), two).unwrap();
    assert_eq!((reply.finish, reply.warnings), (FinishReason::Length, vec![Warning::GrammarCut]));
}

#[test]
fn without_any_support_a_form_is_refused() {
    let error = ask(GrammarSupport::None, "true", boolean(), SamplingOptions::default()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.to_string().contains("send the request without one"), "{error}");
}

#[test]
fn an_option_without_effect_is_reported() {
    let sampling = SamplingOptions { min_p: Some(0.5), ..SamplingOptions::default() };
    let reply = ask(GrammarSupport::Unverified, "true", boolean(), sampling).unwrap();
    assert_eq!(reply.warnings, [Warning::OptionIgnored { name: "min_p".to_owned() }]);
}
