//! A conversation that another template goes on with: the reply says so.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

use std::sync::Arc;

use alloquy_core::media::Digest;
use alloquy_core::report::Warning;
use alloquy_core::store::{ConversationStore, MemoryStore};
use alloquy_core::template::{PromptTemplate, TemplateInput};
use alloquy_core::{
    ChatModel, Conversation, ConversationManager, Manager, Node, Preface, Result, Tool, ToolSpec, TurnRequest,
};
use alloquy_inference::{Generator, GeneratorOptions, LanguageModel};
use alloquy_testing::{EchoModel, ScriptedEngine, TaggedProcessor, TaggedTemplate};
use pollster::block_on;
use serde_json::{Value, json};

/// It is always noon.
#[derive(Debug)]
struct Clock;

#[async_trait::async_trait]
impl Tool for Clock {
    fn spec(&self) -> ToolSpec {
        ToolSpec::new("clock", "Does clock", json!({"type": "object"}))
    }

    async fn call(&self, _: &Value) -> Result<Value> {
        Ok("noon".into())
    }
}

/// Renders as the tagged template does, but is another.
#[derive(Debug)]
struct Another;

impl PromptTemplate for Another {
    fn render(&self, input: &TemplateInput) -> Result<String> {
        TaggedTemplate.render(input)
    }

    fn digest(&self) -> Digest {
        Digest::of(b"another")
    }
}

const SCRIPT: [(&str, &str); 4] = [
    ("<user>Hi<end><assistant>", "Hello!"),
    ("<user>And now?<end><assistant>", "Now we talk."),
    ("<user>What time is it?<end><assistant>", "call:clock {\"zone\":\"UTC\"}"),
    ("<tool>noon<end><assistant>", "It is noon."),
];

fn round(template: impl PromptTemplate + 'static) -> Arc<dyn ChatModel> {
    let engine = Arc::new(ScriptedEngine::new(SCRIPT));
    Arc::new(
        LanguageModel::builder(Generator::new(engine, GeneratorOptions::default()).unwrap())
            .template(template)
            .processor(TaggedProcessor)
            .build()
            .unwrap(),
    )
}

/// A conversation in one store, held through one model after another.
struct Held {
    store: Arc<MemoryStore>,
    conversation: Conversation,
}

impl Held {
    async fn new() -> Self {
        let store = Arc::new(MemoryStore::default());
        let conversation = manager(&store, round(TaggedTemplate)).create(Preface::default()).await.unwrap();
        Self { store, conversation }
    }

    async fn through(&self, model: Arc<dyn ChatModel>) -> Conversation {
        manager(&self.store, model).open(self.conversation.id()).await.unwrap()
    }
}

fn manager(store: &Arc<MemoryStore>, model: Arc<dyn ChatModel>) -> Manager {
    let store: Arc<dyn ConversationStore> = store.clone();
    Manager::builder(model).store(store).tool(Clock).build().unwrap()
}

fn changed() -> Warning {
    Warning::TemplateChanged { before: TaggedTemplate.digest(), now: Another.digest() }
}

#[test]
fn a_template_that_changed_is_told_once() {
    block_on(async {
        let held = Held::new().await;
        let first = held.conversation.send("Hi").finish().await.unwrap();
        assert_eq!((first.reply.template, first.reply.warnings), (Some(TaggedTemplate.digest()), vec![]));
        let conversation = held.through(round(Another)).await;
        let second = conversation.send("And now?").finish().await.unwrap();
        assert_eq!(second.reply.warnings, [changed()]);
        let third = conversation.send("Hi").finish().await.unwrap();
        assert_eq!(third.reply.warnings, []);
        let history = conversation.history().await.unwrap();
        let facts = history[3].reply.as_ref().unwrap();
        assert_eq!(facts.template, Some(Another.digest()));
        insta::assert_json_snapshot!(facts.warnings);
    });
}

#[test]
fn another_answer_to_the_first_question_has_nothing_to_differ_from() {
    block_on(async {
        let held = Held::new().await;
        held.conversation.send("Hi").finish().await.unwrap();
        held.conversation.send("And now?").finish().await.unwrap();
        let conversation = held.through(round(Another)).await;
        let second = conversation.regenerate(TurnRequest::default()).finish().await.unwrap();
        assert_eq!(second.reply.warnings, [changed()], "the first answer was rendered otherwise");
        conversation.goto(None).await.unwrap();
        let first = conversation.send("Hi").finish().await.unwrap();
        assert_eq!(first.reply.warnings, []);
    });
}

#[test]
fn every_round_of_a_turn_tells_it_for_the_last_is_what_the_caller_gets() {
    block_on(async {
        let held = Held::new().await;
        held.conversation.send("Hi").finish().await.unwrap();
        let conversation = held.through(round(Another)).await;
        let reply = conversation.send("What time is it?").finish().await.unwrap();
        assert_eq!((reply.model_calls, reply.reply.warnings), (2, vec![changed()]));
        let history = conversation.history().await.unwrap();
        let replies = history.iter().filter_map(|node| node.reply.as_ref());
        let reported: Vec<_> =
            replies.map(|reply| &reply.warnings).filter(|reported| !reported.is_empty()).collect();
        assert_eq!(reported, [&[changed()], &[changed()]]);
        assert_eq!(conversation.send("Hi").finish().await.unwrap().reply.warnings, []);
    });
}

#[test]
fn a_model_without_a_template_is_looked_past() {
    block_on(async {
        let held = Held::new().await;
        held.conversation.send("Hi").finish().await.unwrap();
        let echo = held.through(Arc::new(EchoModel)).await;
        let echoed = echo.send("Well?").finish().await.unwrap();
        assert_eq!((echoed.reply.template, echoed.reply.warnings), (None, vec![]));
        assert_eq!(echo.history().await.unwrap()[3].reply.as_ref().unwrap().template, None);
        let same = held.conversation.send("Hi").finish().await.unwrap();
        assert_eq!(same.reply.warnings, []);
        let conversation = held.through(round(Another)).await;
        assert_eq!(conversation.send("And now?").finish().await.unwrap().reply.warnings, [changed()]);
    });
}

#[test]
fn nodes_from_before_this_was_remembered_have_no_template() {
    let stored = json!({"id": "019aa3c5-0000-7000-8000-000000000000",
        "message": {"role": "assistant", "parts": [{"text": "Hello!"}]}, "metadata": {"model": "old"}});
    let node: Node = serde_json::from_value(stored).unwrap();
    assert_eq!(node.reply.unwrap().template, None);
}
