//! The arguments that a processor gets from calls, conversations and prefaces, and its warnings, which are in the reply.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

use std::sync::{Arc, Mutex};

use alloquy_core::arguments::{
    InjectionPolicy, ProcessorArguments, TextSource, ThinkingHistory, ThinkingSwitch,
};
use alloquy_core::media::Digest;
use alloquy_core::processor::{DataProcessor, ProcessorInput, PromptPart, ReplyParser};
use alloquy_core::report::Warning;
use alloquy_core::template::{PromptTemplate, TemplateInput};
use alloquy_core::{Conversation, Manager, Preface, Request, Result, TurnRequest};
use alloquy_inference::{Generator, GeneratorOptions, LanguageModel};
use alloquy_testing::{ScriptedEngine, TaggedProcessor, TaggedTemplate};
use pollster::block_on;

/// Records its arguments, and reports one warning.
#[derive(Clone, Debug, Default)]
struct Listening(Arc<Mutex<Vec<ProcessorArguments>>>);

impl DataProcessor for Listening {
    fn name(&self) -> &str {
        "listening"
    }

    fn template_input(&self, source: ProcessorInput<'_>) -> Result<TemplateInput> {
        self.0.lock().unwrap().push(source.arguments.clone());
        TaggedProcessor.template_input(source)
    }

    fn prompt_parts(&self, rendered: &str, source: ProcessorInput<'_>) -> Result<Vec<PromptPart>> {
        self.0.lock().unwrap().push(source.arguments.clone());
        TaggedProcessor.prompt_parts(rendered, source)
    }

    fn reply_parser(&self, rendered: &str, source: ProcessorInput<'_>) -> Box<dyn ReplyParser> {
        self.0.lock().unwrap().push(source.arguments.clone());
        TaggedProcessor.reply_parser(rendered, source)
    }

    fn stop_strings(&self) -> Vec<String> {
        Vec::new()
    }

    fn warnings(&self, rendered: &str, _: ProcessorInput<'_>) -> Vec<Warning> {
        vec![Warning::ThinkingLeftOut { messages: rendered.len() }]
    }
}

impl Listening {
    /// Returns its arguments, which are the same in every call of a reply.
    fn reported(&self) -> ProcessorArguments {
        let mut reported = std::mem::take(&mut *self.0.lock().unwrap());
        reported.dedup();
        assert_eq!(reported.len(), 1, "{reported:?}");
        reported.remove(0)
    }

    fn round(&self) -> LanguageModel {
        let engine = Arc::new(ScriptedEngine::new([("<user>Hi<end><assistant>", "Hello!")]));
        LanguageModel::builder(Generator::new(engine, GeneratorOptions::default()).unwrap())
            .template(TaggedTemplate)
            .processor(self.clone())
            .build()
            .unwrap()
    }
}

/// Each level says something that the one before does not, and something that it does.
fn levels() -> [ProcessorArguments; 3] {
    let nothing = ProcessorArguments::default;
    [
        nothing().thinking(ThinkingSwitch::Off).extra("a", "call"),
        nothing().thinking(ThinkingSwitch::On).history(ThinkingHistory::Strip).extra("b", "conversation"),
        nothing()
            .history(ThinkingHistory::Keep)
            .injection(InjectionPolicy::trust([TextSource::System]))
            .extra("a", "preface")
            .extra("c", "preface"),
    ]
}

fn joined() -> ProcessorArguments {
    ProcessorArguments::default()
        .thinking(ThinkingSwitch::Off)
        .history(ThinkingHistory::Strip)
        .injection(InjectionPolicy::trust([TextSource::System]))
        .extra("a", "call")
        .extra("b", "conversation")
        .extra("c", "preface")
}

#[test]
fn a_turn_is_told_by_the_call_then_the_conversation_then_the_preface() {
    let listening = Listening::default();
    let [call, conversation, preface] = levels();
    let manager = Manager::new(listening.round());
    block_on(async {
        let chat = manager.create(Preface::default().arguments(preface.clone())).await.unwrap();
        chat.send("Hi").finish().await.unwrap();
        assert_eq!(listening.reported(), preface);
        let chat = chat.with_arguments(conversation.clone());
        chat.send(TurnRequest::from("Hi").arguments(call)).finish().await.unwrap();
        assert_eq!(listening.reported(), joined());
        chat.warm(TurnRequest::default()).await.unwrap();
        assert_eq!(listening.reported(), conversation.clone().or(&preface));
        chat.fork().await.unwrap().send("Hi").finish().await.unwrap();
        assert_eq!(listening.reported(), conversation.or(&preface));
        assert_eq!(chat.record().await.unwrap().preface.arguments, preface, "the preface does not change");
    });
}

#[test]
fn a_conversation_in_memory_is_told_before_its_preface() {
    let listening = Listening::default();
    let [_, conversation, preface] = levels();
    let held = Conversation::with_preface(listening.round(), Preface::default().arguments(preface.clone()));
    held.with_arguments(conversation.clone()).ask("Hi").unwrap();
    assert_eq!(listening.reported(), conversation.or(&preface));
}

#[test]
fn what_the_processor_tells_stands_with_the_reply_and_its_node() {
    let round = Listening::default().round();
    let prompt = "<user>Hi<end><assistant>".len();
    let left_out = Warning::ThinkingLeftOut { messages: prompt };
    let prepared = round.prepare(&Request::new(Preface::default(), vec!["Hi".into()])).unwrap();
    assert_eq!((prepared.warnings, prepared.template_name), (vec![left_out.clone()], None));
    block_on(async {
        let manager = Manager::new(round);
        let chat = manager.create(Preface::default()).await.unwrap();
        let reply = chat.send("Hi").finish().await.unwrap();
        assert_eq!(reply.reply.warnings, [left_out]);
        let node = chat.history().await.unwrap().pop().unwrap();
        assert_eq!(node.reply.unwrap().warnings, [Warning::ThinkingLeftOut { messages: prompt }]);
    });
}

/// Prints nothing but the switch that it looks at.
#[derive(Debug)]
struct Switched(&'static [&'static str]);

impl PromptTemplate for Switched {
    fn render(&self, input: &TemplateInput) -> Result<String> {
        Ok(format!("{:?}", self.0.iter().map(|name| input.extra.get(*name)).collect::<Vec<_>>()))
    }

    fn digest(&self) -> Digest {
        Digest::of(b"switched")
    }

    fn reads(&self, _: &TemplateInput, variable: &str) -> bool {
        self.0.contains(&variable)
    }
}

#[test]
fn a_switch_that_the_template_does_not_look_at_is_told_to_be_ignored() {
    let reported = |switches, arguments: ProcessorArguments| {
        let engine = Arc::new(ScriptedEngine::new([]));
        let round = LanguageModel::builder(Generator::new(engine, GeneratorOptions::default()).unwrap())
            .template(Switched(switches))
            .processor(TaggedProcessor)
            .build();
        let request = Request::new(Preface::default(), vec!["Hi".into()]).arguments(arguments);
        round.unwrap().prepare(&request).unwrap().warnings
    };
    let off = || ProcessorArguments::default().thinking(ThinkingSwitch::Off);
    assert_eq!(reported(&[], off()), [Warning::ThinkingSwitchIgnored]);
    assert_eq!(reported(&["enable_thinking"], off()), []);
    assert_eq!(reported(&["thinking"], off()), []);
    assert_eq!(reported(&[], ProcessorArguments::default()), []);
}
