//! Random requests to all routes: no answer is a failure of the server, and every error has its body.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

mod shared;

use alloquy_retrieval::NgramEmbedder;
use alloquy_server::{ServedEmbedder, ServedModel, Server};
use alloquy_testing::{Draws, EchoModel};
use serde_json::{Map, Value, json};

use shared::TestServer;

const REQUESTS: usize = 1_000;

fn one_of<'a, T>(draws: &mut Draws, all: &'a [T]) -> &'a T {
    &all[draws.below(all.len())]
}

fn value(draws: &mut Draws, depth: usize) -> Value {
    match draws.below(if depth == 0 { 7 } else { 9 }) {
        0 => Value::Null,
        1 => json!(draws.below(2) == 0),
        2 => json!(draws.below(40) as i64 - 20),
        3 => json!(draws.below(1000) as f64 / 100.0),
        4 => json!(one_of(
            draws,
            &["user", "assistant", "tool", "auto", "", "text", "\u{0}", "Hi", "data:image/png;base64,AA=="]
        )),
        5 => json!("x".repeat(draws.below(600))),
        6 => json!(u64::MAX),
        7 => Value::Array((0..draws.below(4)).map(|_| value(draws, depth - 1)).collect()),
        _ => object(draws, depth - 1),
    }
}

fn object(draws: &mut Draws, depth: usize) -> Value {
    let names = [
        "role",
        "content",
        "type",
        "text",
        "name",
        "function",
        "id",
        "tool_calls",
        "image_url",
        "url",
        "parameters",
        "schema",
    ];
    let mut fields = Map::new();
    for _ in 0..draws.below(5) {
        let name = (*one_of(draws, &names)).to_owned();
        fields.insert(name, value(draws, depth));
    }
    Value::Object(fields)
}

fn request(draws: &mut Draws) -> Value {
    let names = [
        "model",
        "temperature",
        "top_p",
        "top_k",
        "n",
        "stop",
        "stream",
        "stream_options",
        "store",
        "metadata",
        "tools",
        "tool_choice",
        "response_format",
        "logprobs",
        "top_logprobs",
        "logit_bias",
        "seed",
        "max_tokens",
        "max_completion_tokens",
        "reasoning_effort",
        "parallel_tool_calls",
        "max_tokens",
        "system",
        "thinking",
        "stop_sequences",
        "context_management",
        "output_config",
        "options",
        "format",
        "think",
        "input",
        "prompt",
        "modalities",
        "user",
        "extra",
    ];
    let messages = if draws.below(2) == 0 {
        json!([{"role": "user", "content": "Hi"}])
    } else {
        json!([object(draws, 3)])
    };
    let mut fields = Map::from_iter([("messages".to_owned(), messages)]);
    // What some protocols require, and others refuse.
    if draws.below(2) == 0 {
        fields.insert("model".to_owned(), json!(one_of(draws, &["tea", "words", "coffee"])));
    }
    if draws.below(3) == 0 {
        fields.insert("max_tokens".to_owned(), json!(10));
    }
    for _ in 0..draws.below(3) {
        let name = (*one_of(draws, &names)).to_owned();
        fields.insert(name, value(draws, 3));
    }
    Value::Object(fields)
}

#[tokio::test]
async fn no_request_makes_the_server_fail() {
    let builder = Server::builder()
        .model(ServedModel::loaded("tea", EchoModel))
        .embedder(ServedEmbedder::new("words", NgramEmbedder::new(8)));
    let server = TestServer::start(builder).await;
    let mut draws = Draws::default();
    let paths = [
        "/v1/chat/completions",
        "/v1/chat/completions/chatcmpl-1",
        "/v1/chat/completions/x/messages",
        "/v1/models",
        "/v1/models/tea",
        "/v1/models/%FF",
        "/v1/messages/batches",
        "/api/tags",
        "/api/ps",
        "/api/version",
        "/api/pull",
        "/health",
        "/v1/chat/completions?limit=x",
        "/v1/chat/completions?after=chatcmpl-1",
        "/",
        "//",
        "/v1/%2e%2e/health",
    ];
    let posted = [
        "/v1/chat/completions",
        "/v1/chat/completions",
        "/v1/messages",
        "/v1/messages/count_tokens",
        "/api/chat",
        "/api/generate",
        "/api/embed",
        "/api/show",
        "/v1/embeddings",
    ];
    let mut answered = 0;
    for index in 0..REQUESTS {
        let is_chat = draws.below(4) > 0;
        let path = if is_chat { one_of(&mut draws, &posted) } else { one_of(&mut draws, &paths) };
        let method =
            if is_chat { "POST" } else { one_of(&mut draws, &["GET", "POST", "PUT", "DELETE", "PATCH"]) };
        let body = request(&mut draws);
        let sent =
            server.request(method, path).header("content-type", "application/json").body(body.to_string());
        let answer = server.send(sent).await;
        assert!(answer.status < 500, "{index}: {method} {path} {body}: {}", answer.text);
        if answer.status >= 400 && (path.starts_with("/v1/messages") || path.starts_with("/api/")) {
            assert!(!answer.json()["error"].is_null(), "{index}: {method} {path}: {}", answer.text);
        } else if answer.status >= 400 {
            answer.error();
        } else {
            answered += 1;
        }
    }
    assert!(answered > REQUESTS / 20, "only {answered} requests were valid");
}
