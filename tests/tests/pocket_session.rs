//! Ten turns with the model within the program: memory, sums, a tool with the real time, branches and a switch back.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use alloquy_core::{Conversation, Manager, Preface, Result, Tool, ToolSpec, Turn, TurnReply, TurnRequest};
use alloquy_engine::Engine;
use alloquy_inference::{Generator, GeneratorOptions, LanguageModel};
use alloquy_onnx::OnnxEngine;
use alloquy_templates::JinjaTemplate;
use pollster::block_on;
use serde_json::{Value, json};

/// Tells the time of day, which is as many tokens whatever it is.
#[derive(Debug)]
struct NowSource;

#[async_trait::async_trait]
impl Tool for NowSource {
    fn spec(&self) -> ToolSpec {
        ToolSpec::new("clock", "Tells the time", json!({"type": "object", "properties": {}}))
    }

    async fn call(&self, _arguments: &Value) -> Result<Value> {
        let minutes = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs() / 60;
        let time = format!("{:02}:{:02}", minutes / 60 % 24, minutes % 60);
        Ok(json!({ "time": time }))
    }
}

fn manager() -> Manager {
    let engine = Arc::new(OnnxEngine::of_files(alloquy_pocket::files()).load().unwrap());
    let template = JinjaTemplate::of(engine.model()).unwrap();
    let processor = alloquy_processors::detect(engine.model()).processor;
    let model = LanguageModel::builder(Generator::new(engine, GeneratorOptions::default()).unwrap())
        .template(template)
        .processor(processor)
        .build()
        .unwrap();
    Manager::builder(model).tool(NowSource).build().unwrap()
}

/// Writes down what is asked, what is said, and what it cost.
struct Diary {
    conversation: Conversation,
    lines: String,
}

impl Diary {
    async fn take(&mut self, what: &str, turn: Turn) -> TurnReply {
        let reply = turn.finish().await.unwrap();
        let tree = self.conversation.tree().await.unwrap();
        let address = tree.position(Some(reply.node)).unwrap();
        let cache = reply.reply.cache.as_ref().unwrap();
        writeln!(self.lines, "{what} → {address}: {:?}", reply.text()).unwrap();
        write!(self.lines, "  prompt {}, reused {}", cache.prompt, cache.cached).unwrap();
        writeln!(self.lines, ", forwarded {}, {} model calls", cache.computed, reply.model_calls).unwrap();
        reply
    }

    async fn say(&mut self, text: &str) -> TurnReply {
        let turn = self.conversation.send(text);
        self.take(text, turn).await
    }
}

/// The text with each time of day as `hh:mm`.
fn timeless(text: &str) -> String {
    let is_time = |part: &[u8]| {
        part.iter().enumerate().all(|(i, byte)| if i == 2 { *byte == b':' } else { byte.is_ascii_digit() })
    };
    let mut text = text.as_bytes().to_vec();
    for start in 0..text.len().saturating_sub(4) {
        if is_time(&text[start..start + 5]) {
            text[start..start + 5].copy_from_slice(b"hh:mm");
        }
    }
    String::from_utf8(text).unwrap()
}

#[test]
fn ten_turns() {
    block_on(async {
        let preface = Preface::default().extra("enable_thinking", false);
        let conversation = manager().create(preface).await.unwrap();
        let mut diary = Diary { conversation: conversation.clone(), lines: String::new() };
        let first = diary.say("My name is Maro.").await;
        let sum = diary.say("What is 127 + 48?").await;
        diary.say("What is the capital of France?").await;
        diary.say("What time is it?").await;
        let name = diary.say("What is my name?").await;
        let turn = conversation.edit(sum.answers().unwrap(), "What is 500 - 123?");
        diary.take("edited: What is 500 - 123?", turn).await;
        diary.say("What is my name?").await;
        conversation.goto(first.node).await.unwrap();
        diary.say("Sorry, my name is Tovi.").await;
        diary.say("What is my name?").await;
        conversation.goto(name.node).await.unwrap();
        diary.take("switched back: Thank you!", conversation.send(TurnRequest::from("Thank you!"))).await;
        insta::assert_snapshot!(timeless(&diary.lines));
    });
}
