//! How long replies took: what is counted is what was computed, and no node remembers it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

use std::sync::Arc;
use std::time::Duration;

use alloquy_core::report::ReplyTiming;
use alloquy_core::{
    Conversation, Manager, Preface, Reply, SamplingOptions, Tool, ToolSpec, TurnReply, TurnRequest,
};
use alloquy_inference::{Benchmark, Generator, GeneratorOptions, LanguageModel};
use alloquy_testing::{EchoModel, ScriptedEngine, TaggedProcessor, TaggedTemplate};
use pollster::block_on;
use serde_json::json;

fn round(script: &[(&str, &str)]) -> LanguageModel {
    let engine = ScriptedEngine::new(script.iter().copied());
    LanguageModel::builder(Generator::new(Arc::new(engine), GeneratorOptions::default()).unwrap())
        .template(TaggedTemplate)
        .processor(TaggedProcessor)
        .build()
        .unwrap()
}

fn check(reply: &Reply) -> ReplyTiming {
    let timing = reply.timing.unwrap();
    assert_eq!(timing.prefill_tokens, reply.cache.unwrap().computed);
    assert_eq!(timing.decode_tokens, reply.usage.generated - 1);
    let first = timing.first_token.unwrap();
    assert!(first >= timing.waiting + timing.prefill, "{timing:?}");
    assert_eq!(timing.prefill_rate().is_some(), timing.prefill > Duration::ZERO);
    timing
}

#[test]
fn a_reply_says_how_long_its_prompt_and_its_tokens_took() {
    let conversation = Conversation::new(round(&[("<assistant>", "Hello!")]));
    let first = conversation.ask("Hi").unwrap().reply;
    let second = conversation.ask("Hi").unwrap().reply;
    assert_eq!(check(&first).prefill_tokens, first.usage.prompt);
    assert_eq!(check(&second).prefill_tokens, second.usage.prompt - second.usage.cached);
    assert!(second.usage.cached > 0);
    let limit = SamplingOptions { max_tokens: Some(1), ..SamplingOptions::default() };
    let short = conversation.ask(TurnRequest::from("Hi").sampling(limit)).unwrap().reply;
    assert_eq!((check(&short).decode_tokens, check(&short).decode_rate()), (0, None));
}

#[test]
fn who_does_not_know_says_nothing() {
    assert_eq!(Conversation::new(EchoModel).ask("Hi").unwrap().reply.timing, None);
}

#[derive(Debug)]
struct Clock;

#[async_trait::async_trait]
impl Tool for Clock {
    fn spec(&self) -> ToolSpec {
        ToolSpec::new("clock", "The time.", json!({}))
    }

    async fn call(&self, _: &serde_json::Value) -> alloquy_core::Result<serde_json::Value> {
        Ok("noon".into())
    }
}

#[test]
fn a_turn_says_it_of_each_call_and_its_nodes_do_not() {
    let round = round(&[("Now?<end><assistant>", "call:clock {}"), ("noon<end><assistant>", "Noon.")]);
    block_on(async {
        let manager = Manager::builder(round).tool(Clock).build().unwrap();
        let conversation = manager.create(Preface::default()).await.unwrap();
        let turn: TurnReply = conversation.send("Now?").finish().await.unwrap();
        assert_eq!((turn.model_calls, turn.timings.len()), (2, 2));
        assert_eq!(turn.timings[1], check(&turn.reply));
        for node in conversation.history().await.unwrap() {
            assert!(!serde_json::to_string(&node).unwrap().contains("timing"), "{node:?}");
        }
    });
}

#[test]
fn a_benchmark_opens_sessions_and_counts_tokens() {
    let benchmark = Benchmark { prompts: vec![10], history: 7, generated: 4, together: vec![3], repeats: 2 };
    let report = benchmark.run(&ScriptedEngine::new([]), &mut |_| {}).unwrap();
    let run = report.runs[0];
    assert_eq!((run.prompt, run.decode_tokens(), run.first_token()), (10, 12, run.prefill));
    assert!(report.session < Duration::from_secs(60));
}
