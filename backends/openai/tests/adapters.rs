//! Adapters: each dialect names one in its own way, and none shares our memory of prompts with another.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

mod stub;

use alloquy_core::ErrorKind;
use alloquy_core::report::{CacheReport, MissReason};
use alloquy_engine::decoder::{DecodeEventKind, DecodeRequest, Decoder};
use alloquy_openai::Dialect;
use futures::TryStreamExt;
use serde_json::{Value, json};
use stub::{Stub, prompt};

/// Sends a prompt, and returns the last report of its cache.
fn ask(decoder: &dyn Decoder, text: &str) -> CacheReport {
    let events = decoder.decode(DecodeRequest::new(prompt(text), 2)).try_collect::<Vec<_>>();
    let mut last = None;
    for event in pollster::block_on(events).unwrap() {
        if let DecodeEventKind::Prefilled(report) | DecodeEventKind::Cached(report) = event.kind {
            last = Some(report);
        }
    }
    last.unwrap()
}

#[test]
fn requests_name_the_adapter() {
    let cases: [(Dialect, &str, &str, Value); 4] = [
        (Dialect::Vllm, "poet", "/model", json!("poet")),
        (Dialect::Sglang, "poet", "/lora_path", json!("poet")),
        (Dialect::LlamaCpp, "poet.gguf", "/lora", json!([{"id": 1, "scale": 1.0}])),
        (Dialect::TensorRtLlm, "/models/poet", "/lora_request/lora_path", json!("/models/poet")),
    ];
    for (dialect, name, place, expected) in cases {
        let stub = Stub::new(dialect);
        let base = stub.decoder();
        let adapted = pollster::block_on(base.for_adapter(name)).unwrap();
        ask(&base, "a");
        assert_ne!(stub.last_request().pointer(place), Some(&expected), "{dialect:?} without an adapter");
        ask(&adapted, "a");
        assert_eq!(stub.last_request().pointer(place), Some(&expected), "{dialect:?}");
    }
}

#[test]
fn an_adapter_that_is_not_listed_is_refused() {
    for dialect in [Dialect::Vllm, Dialect::Sglang, Dialect::LlamaCpp, Dialect::Dynamo] {
        let stub = Stub::new(dialect);
        let refused = pollster::block_on(stub.decoder().for_adapter("painter")).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::NotFound, "{dialect:?}: {refused:#}");
        assert!(refused.to_string().contains("painter"), "{refused:#}");
    }
    let refused = pollster::block_on(Stub::new(Dialect::Completions).decoder().for_adapter("poet"));
    assert_eq!(refused.unwrap_err().kind(), ErrorKind::Unsupported);
}

/// What another adapter has computed is no reason to expect a cache.
#[test]
fn adapters_share_no_memory_of_prompts() {
    let stub = Stub::new(Dialect::LlamaCpp);
    let base = stub.decoder();
    let poet = pollster::block_on(base.for_adapter("poet.gguf")).unwrap();
    let critic = pollster::block_on(base.for_adapter("critic.gguf")).unwrap();
    assert_eq!(ask(&poet, "once upon a time").miss, None);
    assert_eq!(ask(&critic, "once upon a time").miss, None, "another adapter's prompt is not this one's");
    assert_eq!(ask(&base, "once upon a time").miss, None);
    assert_eq!(ask(&poet, "once upon a time").miss, Some(MissReason::Evicted));
}
