//! What the client adds, against a server that has every token at once. It measures, so it runs only when it is asked for:
//! `cargo test -p alloquy-openai --test overhead -- --ignored --nocapture`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

mod stub;

use std::time::{Duration, Instant};

use alloquy_engine::decoder::{DecodeEventKind, DecodeRequest, Decoder};
use alloquy_openai::Dialect;
use futures::StreamExt;
use futures::future::join_all;
use serde_json::json;
use stub::{Answer, Stub, prompt, sse};

/// Returns a reply of so many tokens.
fn reply(tokens: usize) -> Vec<u8> {
    let mut events = Vec::new();
    for token in 1..=tokens {
        let reason = if token == tokens { json!("length") } else { json!(null) };
        let choice = json!({"index": 0, "text": "?", "token_ids": [97], "logprobs": null, "finish_reason": reason, "stop_reason": null});
        events.push(json!({"id": "cmpl-1", "object": "text_completion", "created": 1, "model": "script", "choices": [choice]}));
    }
    sse(Dialect::Vllm, &events)
}

async fn tokens(decoder: &dyn Decoder, limit: usize) -> usize {
    let mut stream = decoder.decode(DecodeRequest::new(prompt("Tell me: "), limit));
    let mut tokens = 0;
    while let Some(event) = stream.next().await {
        if let DecodeEventKind::Token { .. } = event.unwrap().kind {
            tokens += 1;
        }
    }
    tokens
}

#[test]
#[ignore = "measures"]
fn a_token_and_a_reply_cost_microseconds() {
    let stub = Stub::new(Dialect::Vllm);
    let decoder = stub.decoder();
    for (what, length, times) in [("short replies", 1, 200), ("long replies", 10_000, 5)] {
        let body = reply(length);
        let mut all = Duration::ZERO;
        for _ in 0..times {
            stub.plan([Answer::Raw(body.clone())]);
            let begun = Instant::now();
            assert_eq!(pollster::block_on(tokens(&decoder, length)), length);
            all += begun.elapsed();
        }
        let each = all / times;
        eprintln!("{what}: {each:?} a reply, {:?} a token", each / u32::try_from(length).unwrap());
    }
}

#[test]
#[ignore = "measures"]
fn five_hundred_streams_at_once() {
    let stub = Stub::new(Dialect::Vllm);
    let decoder = stub.decoder();
    let body = reply(200);
    stub.plan((0..500).map(|_| Answer::Raw(body.clone())));
    let begun = Instant::now();
    let counts = pollster::block_on(join_all((0..500).map(|_| tokens(&decoder, 200))));
    assert!(counts.iter().all(|count| *count == 200));
    eprintln!("500 streams of 200 tokens: {:?}, {:?} a token", begun.elapsed(), begun.elapsed() / 100_000);
}
