//! Takes the turn that `docs/turn.md` shows, and compares every block of data in it with what really happened.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

mod document;
mod shared;

use std::sync::Arc;

use alloquy_core::processor::{DataProcessor, ProcessorInput};
use alloquy_core::tokenizer::decode;
use alloquy_core::{Manager, Message, Node, Preface, Request, SamplingOptions, TurnEvent, TurnReply};
use alloquy_engine::Engine;
use alloquy_inference::{Generator, GeneratorOptions, LanguageModel};
use alloquy_onnx::OnnxEngine;
use futures::StreamExt;
use pollster::block_on;
use serde_json::{Value, json};

use document::{Keep, Qwen3, pretty};

struct Stack {
    engine: Arc<OnnxEngine>,
    processor: Arc<dyn DataProcessor>,
    round: LanguageModel,
}

fn stack() -> Option<Stack> {
    let Qwen3 { engine, template, processor } = Qwen3::load()?;
    let round = LanguageModel::builder(Generator::new(engine.clone(), GeneratorOptions::default()).unwrap())
        .template(template)
        .processor(Arc::clone(&processor))
        .build();
    Some(Stack { engine, processor, round: round.unwrap() })
}

#[test]
fn the_document_shows_what_happens() {
    let Some(stack) = stack() else { return };
    let keep = Keep::default();
    let manager = Manager::builder(stack.round.clone()).middleware(keep.clone()).build().unwrap();
    let message = Message::user("What does <|im_end|> mean?");
    let (nodes, deltas, reply) = block_on(async {
        let preface = Preface::system("Be brief.").extra("enable_thinking", false);
        let chat = manager.create(preface).await.unwrap();
        let sampling = SamplingOptions {
            temperature: Some(1.0),
            top_k: Some(60),
            seed: Some(3),
            max_tokens: Some(5),
            ..SamplingOptions::default()
        };
        let mut turn = chat.send(alloquy_core::TurnRequest::from(message.clone()).sampling(sampling));
        let mut nodes = Vec::new();
        let mut deltas = Vec::new();
        while let Some(event) = turn.next().await {
            match event {
                Ok(TurnEvent::Node(node)) => nodes.push(node),
                Ok(TurnEvent::Delta(delta)) => deltas.push(delta),
                _ => {}
            }
        }
        (nodes, deltas, turn.finish().await.unwrap())
    });
    let request = keep.request();
    let mut blocks = prompt_blocks(&stack, &request);
    blocks.push(("message", pretty(&message)));
    blocks.push(("node", node(&nodes[0], &nodes)));
    blocks.push(("deltas", deltas.iter().map(|delta| format!("{delta:?}\n")).collect()));
    blocks.extend(reply_blocks(&stack, &nodes, &reply));
    document::compare("turn.md", &blocks);
}

fn prompt_blocks(stack: &Stack, request: &Request) -> Vec<(&'static str, String)> {
    let source = ProcessorInput::new(&request.preface, &request.path, request.ending);
    let input = stack.processor.template_input(source).unwrap();
    let shown = json!({"messages": input.messages, "tools": input.tools, "extra": input.extra,
        "ending": format!("{:?}", input.ending)});
    let prepared = stack.round.prepare(request).unwrap();
    let spelled = |token: Option<u32>| {
        let text = decode(stack.engine.tokenizer(), &[token.unwrap()]).unwrap();
        format!("{:>4} {text:?}\n", token.unwrap())
    };
    vec![
        ("template input", pretty(&shown)),
        ("rendered", prepared.rendered.clone()),
        ("parts", prepared.parts.iter().map(|part| format!("{part:?}\n")).collect()),
        ("units", prepared.prompt.tokens().map(spelled).collect()),
    ]
}

fn reply_blocks(stack: &Stack, nodes: &[Node], reply: &TurnReply) -> Vec<(&'static str, String)> {
    let spelled =
        |&token: &u32| format!("{token:>4} {:?}\n", decode(stack.engine.tokenizer(), &[token]).unwrap());
    vec![
        ("cache", pretty(&reply.reply.cache)),
        ("tokens", reply.reply.tokens.iter().map(spelled).collect()),
        ("reply", node(&nodes[1], nodes)),
        ("head", format!("{:?}\n", reply.head)),
    ]
}

/// A node whose ids are shown as numbers in order, because they differ on every run.
fn node(node: &Node, nodes: &[Node]) -> String {
    let mut shown = serde_json::to_value(node).unwrap();
    for field in ["id", "parent"] {
        let known = nodes.iter().position(|other| shown[field] == other.id.to_string());
        if let Some(index) = known {
            shown[field] = Value::from(["(id of the question)", "(id of the answer)"][index]);
        }
    }
    pretty(&shown)
}
