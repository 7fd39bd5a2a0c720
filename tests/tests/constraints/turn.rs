//! A turn with tools of a pretrained model that nobody makes say anything: its calls are demanded, what they are is its
//! own choice, and so is its answer.

use std::sync::Arc;

use alloquy_constraints::LlguidanceEngine;
use alloquy_core::message::{ToolCall, ToolResult};
use alloquy_core::output::{OutputConstraints, ParallelCalls, ToolChoice};
use alloquy_core::tool::{ApprovalDecision, ToolApproval, ToolContext, Toolbox};
use alloquy_core::turn::TurnEnd;
use alloquy_core::{
    Content, Error, ErrorKind, Manager, Node, Preface, Role, SamplingOptions, Tool, ToolSpec, TurnRequest,
};
use alloquy_engine::Engine;
use alloquy_inference::{Generator, GeneratorOptions, LanguageModel};
use alloquy_onnx::OnnxEngine;
use alloquy_testing::TaggedTemplate;
use pollster::block_on;
use serde_json::{Value, json};

use crate::shared;

/// Knows the weather of one city.
#[derive(Debug)]
struct Weather;

#[async_trait::async_trait]
impl Tool for Weather {
    fn spec(&self) -> ToolSpec {
        let cities = json!({"type": "string", "enum": ["Oslo", "Atlantis"]});
        ToolSpec::new(
            "weather",
            "",
            json!({"type": "object", "properties": {"city": cities}, "required": ["city"]}),
        )
    }
    async fn call(&self, arguments: &Value) -> alloquy_core::Result<Value> {
        match arguments["city"].as_str() {
            Some("Oslo") => Ok(json!({"celsius": -3})),
            city => Err(Error::new(ErrorKind::Tool, format!("unknown city {city:?}, one of: \"Oslo\""))),
        }
    }
}

/// Takes notes, of a kind that is never wanted.
#[derive(Debug)]
struct Notes;

#[async_trait::async_trait]
impl Tool for Notes {
    fn spec(&self) -> ToolSpec {
        let text = json!({"type": "string", "maxLength": 8});
        ToolSpec::new(
            "note",
            "",
            json!({"type": "object", "properties": {"text": text}, "required": ["text"]}),
        )
    }
    async fn call(&self, _: &Value) -> alloquy_core::Result<Value> {
        panic!("it was refused")
    }
}

#[derive(Debug)]
struct NoNotes;

#[async_trait::async_trait]
impl ToolApproval for NoNotes {
    async fn approve(&self, call: &ToolCall, _: &ToolSpec, _: &ToolContext) -> ApprovalDecision {
        if call.name == "note" {
            ApprovalDecision::Refuse("no notes".to_owned())
        } else {
            ApprovalDecision::Allow
        }
    }
}

fn manager() -> Option<Manager> {
    let engine = OnnxEngine::load(shared::find("models/stories260k")?).unwrap();
    let processor = alloquy_processors::named("qwen3", engine.model()).unwrap();
    let round =
        LanguageModel::builder(Generator::new(Arc::new(engine), GeneratorOptions::default()).unwrap())
            .template(TaggedTemplate)
            .processor(processor);
    let round = round.grammars(LlguidanceEngine::default()).build().unwrap();
    let toolbox = Toolbox::default().tool(Weather).tool(Notes).approval(NoNotes);
    Some(Manager::builder(round).toolbox(toolbox).build().unwrap())
}

/// What became of a call: the result that the model read.
fn reported(result: &ToolResult) -> String {
    let words = result.content.as_str().map_or_else(|| result.content.to_string(), str::to_owned);
    format!("{}{}: {words}", result.name, if result.is_error { " failed" } else { "" })
}

fn results(history: &[Node]) -> Vec<String> {
    history.iter().flat_map(|node| node.message.tool_results()).map(reported).collect()
}

/// Every call has its result, in order and directly below, and the turn ends in an answer.
fn check(history: &[Node]) {
    for (node, below) in history.iter().zip(&history[1..]) {
        let calls: Vec<_> = node.message.tool_calls().map(|call| &call.id).collect();
        let answered: Vec<_> = below.message.tool_results().map(|result| &result.id).collect();
        assert_eq!(calls, answered, "{:?} and {:?}", node.message, below.message);
        assert_eq!(below.parent, Some(node.id));
    }
    let last = history.last().unwrap();
    assert_eq!(last.message.role, Role::Assistant);
    let is_text = |part: &Content| matches!(part, Content::Text(_));
    assert!(last.message.parts.iter().all(|part| is_text(&part.content)), "{:?}", last.message);
}

const SEEDS: u64 = 12;

#[test]
fn a_turn_has_a_call_that_fails_and_one_that_is_refused_and_ends_in_an_answer() {
    let Some(manager) = manager() else { return };
    let mut seen = std::collections::BTreeSet::new();
    let mut answered = 0;
    for seed in 0..SEEDS {
        let sampling = SamplingOptions {
            temperature: Some(1.0),
            seed: Some(seed),
            max_tokens: Some(400),
            ..SamplingOptions::default()
        };
        let ask = TurnRequest::from("Go!").sampling(sampling).output(
            OutputConstraints::default()
                .tool_choice(ToolChoice::Required)
                .parallel_calls(ParallelCalls::Allowed)
                .thinking_budget(4),
        );
        let (history, turn) = block_on(async {
            let chat = manager.create(Preface::default()).await.unwrap();
            let turn = chat.send(ask).finish().await.unwrap();
            (chat.history().await.unwrap(), turn)
        });
        if turn.end != TurnEnd::Answered || history.len() < 4 {
            continue;
        }
        check(&history);
        answered += 1;
        if history[1].message.tool_calls().count() > 1 {
            seen.extend(results(&history[2..3]));
        }
    }
    println!("{answered} turns of {SEEDS} ended in an answer");
    let expected = [
        "note failed: this call was refused: no notes",
        "weather failed: unknown city Some(\"Atlantis\"), one of: \"Oslo\"",
        "weather: {\"celsius\":-3}",
    ];
    assert_eq!(seen.iter().map(String::as_str).collect::<Vec<_>>(), expected);
}
