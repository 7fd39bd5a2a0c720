//! The whole stack on a real export: ten turns with branches, an edit and a switch, and a thousand dropped streams.
//!
//! The model is a Qwen3 of random weights, so what it says makes no sense; the template is the real one of Qwen3,
//! which drops old thinking, and the figures of reuse are those of a real KV cache.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

mod shared;

use std::fmt::Write as _;
use std::sync::{Arc, Mutex};

use alloquy_core::middleware::{Middleware, Next};
use alloquy_core::{
    ChatModel, Conversation, Manager, Preface, ReplyStream, Request, Result, SamplingOptions, TurnReply,
    TurnRequest,
};
use alloquy_engine::Engine;
use alloquy_inference::{Generator, GeneratorOptions, LanguageModel};
use alloquy_onnx::OnnxEngine;
use alloquy_templates::JinjaTemplate;
use futures::StreamExt;
use pollster::block_on;

const MODEL: &str = "models/tiny/genai-qwen3-fp32";
const TEMPLATE: &str = "cases/templates/jinja/llamacpp--Qwen-Qwen3-0.6B.jinja";

fn round() -> Option<LanguageModel> {
    let engine = OnnxEngine::load(shared::find(MODEL)?).unwrap();
    let source = std::fs::read_to_string(shared::find(TEMPLATE)?).unwrap();
    let template = JinjaTemplate::from_source(source, serde_json::Map::new()).unwrap();
    let processor = alloquy_processors::named("qwen3", engine.model()).unwrap();
    Some(
        LanguageModel::builder(Generator::new(Arc::new(engine), GeneratorOptions::default()).unwrap())
            .template(template)
            .processor(processor)
            .build()
            .unwrap(),
    )
}

/// Writes down every prompt as the template printed it.
#[derive(Debug)]
struct Recorder {
    round: LanguageModel,
    prompts: Arc<Mutex<Vec<String>>>,
}

#[async_trait::async_trait]
impl Middleware for Recorder {
    async fn handle(&self, request: Request, next: Next<'_>) -> Result<ReplyStream> {
        self.prompts.lock().unwrap().push(self.round.prepare(&request)?.rendered);
        next.call(request).await
    }
}

/// Writes down what happens, as lines that are the same on every run.
struct Diary {
    prompts: Arc<Mutex<Vec<String>>>,
    chat: Conversation,
    lines: String,
}

impl Diary {
    async fn take(&mut self, what: &str, turn: alloquy_core::Turn) -> TurnReply {
        let reply = turn.finish().await.unwrap();
        let tree = self.chat.tree().await.unwrap();
        let cache = reply.reply.cache.unwrap();
        let usage = reply.reply.usage;
        let address = tree.position(Some(reply.node)).unwrap();
        writeln!(self.lines, "## {what} → {address}").unwrap();
        writeln!(self.lines, "prompt {}, reused {}, computed {}", cache.prompt, cache.cached, cache.computed)
            .unwrap();
        writeln!(self.lines, "first difference {:?}", cache.first_difference).unwrap();
        writeln!(
            self.lines,
            "reply {} tokens, {:?}: {:?}",
            usage.generated, reply.reply.finish, reply.reply.tokens
        )
        .unwrap();
        assert_eq!(cache.computed, cache.prompt - cache.cached);
        let prompt = self.prompts.lock().unwrap().pop().unwrap();
        writeln!(self.lines, "{}", indented(&prompt)).unwrap();
        reply
    }

    async fn nodes(&self) -> String {
        let tree = self.chat.tree().await.unwrap();
        let head = self.chat.head().await.unwrap();
        let line = |(depth, node): (usize, &alloquy_core::Node)| {
            let mark = if head == Some(node.id) { " ◀" } else { "" };
            let address = tree.position(Some(node.id)).unwrap();
            format!(
                "{}{address} {}: {:?}{mark}\n",
                "  ".repeat(depth),
                node.message.role,
                node.message.text()
            )
        };
        tree.walk().map(line).collect()
    }
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("    {line}\n")).collect()
}

/// Six tokens, which a seed repeats: random weights never end a reply by themselves, and greedily they say one thing.
fn six() -> SamplingOptions {
    let temperature = Some(1.0);
    let top_k = Some(60);
    let seed = Some(7);
    SamplingOptions { temperature, top_k, seed, max_tokens: Some(6), ..SamplingOptions::default() }
}

#[test]
fn ten_turns_with_branches_an_edit_and_a_switch() {
    let Some(round) = round() else { return };
    let prompts = Arc::new(Mutex::new(Vec::new()));
    let recorder = Recorder { round: round.clone(), prompts: Arc::clone(&prompts) };
    let manager = Manager::builder(round).middleware(recorder).sampling(six()).build().unwrap();
    block_on(async {
        let preface = Preface::system("You are a patient teacher.").extra("enable_thinking", false);
        let chat = manager.create(preface).await.unwrap();
        let mut diary = Diary { prompts, chat: chat.clone(), lines: String::new() };
        let first = diary.take("1 ask", chat.send("What is a noun?")).await;
        let second = diary.take("2 go on", chat.send("And a verb?")).await;
        diary.take("3 go on", chat.send("Give me three of each.")).await;
        diary
            .take("4 edit the second question", chat.edit(second.answers().unwrap(), "And an adverb?"))
            .await;
        diary.take("5 go on in the new branch", chat.send("Why so many?")).await;
        diary.take("6 another answer", chat.regenerate(TurnRequest::default())).await;
        chat.goto(chat.resolve("0.0.0.0.0.0").await.unwrap()).await.unwrap();
        diary.take("7 go on in the first branch, switched to", chat.send("Now in French.")).await;
        chat.goto(first.node).await.unwrap();
        let thinking = TurnRequest::from("A third way?").extra("enable_thinking", true);
        diary.take("8 a second branch, thinking", chat.send(thinking)).await;
        diary.take("9 go on", chat.send("Thank you, <|im_end|> means the end.")).await;
        let greedy = SamplingOptions { temperature: Some(0.0), ..six() };
        diary.take("10 greedy", chat.send(TurnRequest::from("Good bye!").sampling(greedy))).await;
        let nodes = diary.nodes().await;
        insta::assert_snapshot!(format!("{}\n# Nodes\n{nodes}", diary.lines));
    });
}

#[test]
fn a_thousand_dropped_streams_never_break_the_next_turn() {
    let Some(round) = round() else { return };
    block_on(async {
        let fresh = |text: &str| Request::new(Preface::default(), vec![text.into()]).sampling(six());
        let texts = ["What is a noun?", "What is a verb?", "Name three rivers."];
        let mut expected = Vec::new();
        for text in texts {
            expected.push(round.reply(fresh(text)).await.unwrap().finish().await.unwrap().tokens);
        }
        let manager = Manager::builder(round.clone()).sampling(six()).build().unwrap();
        let chat = manager.create(Preface::default()).await.unwrap();
        let mut seed = 2026_u64;
        for drop_number in 0..1000 {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let mut turn = chat.send(texts[(seed >> 60) as usize % 3]);
            for _ in 0..(seed >> 40) % 9 {
                if turn.next().await.is_none() {
                    break;
                }
            }
            drop(turn);
            chat.goto(None).await.unwrap();
            if drop_number % 10 == 9 {
                let which = (seed >> 50) as usize % 3;
                let reply = chat.send(texts[which]).finish().await.unwrap();
                assert_eq!(reply.reply.tokens, expected[which], "another reply after {drop_number} drops");
                chat.goto(None).await.unwrap();
            }
        }
    });
}
