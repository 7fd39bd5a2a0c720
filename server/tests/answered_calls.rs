//! Calls that the server itself has answered, since no tool of that name was offered: no protocol shows them to a client, whole or
//! streamed. A client sees those of its own tools, and those that the turn has left open.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

mod shared;

use alloquy_core::message::ToolCall;
use alloquy_core::report::FinishReason;
use alloquy_core::{Content, Message, Reply, Role};
use alloquy_server::Server;
use alloquy_testing::ScriptedReply;
use serde_json::{Value, json};

use shared::{Answer, TestServer, asking, replying};

/// A protocol: its address, its request with one tool, `weather`, and how the names of calls are read from its answers.
struct Protocol {
    path: &'static str,
    request: Value,
    whole: fn(&Value) -> Vec<String>,
    streamed: fn(&Answer) -> Vec<String>,
}

fn calling(names: &[&str]) -> ScriptedReply {
    let mut parts = Vec::new();
    for (index, name) in names.iter().enumerate() {
        parts.push(Content::ToolCall(ToolCall::new(format!("call_{index}"), *name, json!({}))));
    }
    let mut reply = Reply::new(Message::new(Role::Assistant, parts));
    reply.finish = FinishReason::ToolCalls;
    reply.into()
}

fn names(list: &Value, read: fn(&Value) -> &Value) -> Vec<String> {
    let mut names = Vec::new();
    for item in list.as_array().into_iter().flatten() {
        names.extend(read(item).as_str().map(str::to_owned));
    }
    names
}

fn function_name(call: &Value) -> &Value {
    &call["function"]["name"]
}

fn chunk_names(answer: &Answer) -> Vec<String> {
    let chunks = answer.chunks();
    let deltas = chunks.iter().map(|chunk| &chunk["choices"][0]["delta"]["tool_calls"]);
    deltas.flat_map(|calls| names(calls, function_name)).collect()
}

fn line_names(answer: &Answer) -> Vec<String> {
    let lines = answer.text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines.flat_map(|line| names(&line["message"]["tool_calls"], function_name)).collect()
}

fn block_names(answer: &Answer) -> Vec<String> {
    let mut names = Vec::new();
    for event in answer.events() {
        let event: Value = serde_json::from_str(&event).unwrap();
        names.extend(event["content_block"]["name"].as_str().map(str::to_owned));
    }
    names
}

fn protocols() -> [Protocol; 3] {
    let function =
        json!([{"type": "function", "function": {"name": "weather", "parameters": {"type": "object"}}}]);
    let own = json!([{"name": "weather", "input_schema": {"type": "object"}}]);
    [
        Protocol {
            path: "/v1/chat/completions",
            request: asking(json!({"tools": function})),
            whole: |body| names(&body["choices"][0]["message"]["tool_calls"], function_name),
            streamed: chunk_names,
        },
        Protocol {
            path: "/v1/messages",
            request: asking(json!({"tools": own, "max_tokens": 100})),
            whole: |body| names(&body["content"], |block| &block["name"]),
            streamed: block_names,
        },
        Protocol {
            path: "/api/chat",
            request: asking(json!({"tools": function})),
            whole: |body| names(&body["message"]["tool_calls"], function_name),
            streamed: line_names,
        },
    ]
}

/// Sends the request of each protocol twice, whole and streamed, to a model with these replies, and checks which calls are shown.
async fn shows<const N: usize>(replies: impl Fn() -> [ScriptedReply; N], expected: &[&str], text: &str) {
    for protocol in protocols() {
        for is_streamed in [false, true] {
            let server = TestServer::start(Server::builder().model(replying("tea", replies()))).await;
            let mut request = protocol.request.clone();
            request["stream"] = is_streamed.into();
            let answer = server.post(protocol.path, &request).await;
            assert_eq!(answer.status, 200, "{}", answer.text);
            let shown =
                if is_streamed { (protocol.streamed)(&answer) } else { (protocol.whole)(&answer.json()) };
            assert_eq!(shown, expected, "{} {is_streamed}: {}", protocol.path, answer.text);
            assert!(answer.text.contains(text), "{} {is_streamed}: {}", protocol.path, answer.text);
            assert!(answer.text.contains("unknown_tool_called"), "{}", answer.text);
        }
    }
}

#[tokio::test]
async fn a_call_that_the_server_answered_is_not_shown() {
    shows(|| [calling(&["oven"]), ScriptedReply::text("Hello!")], &[], "Hello!").await;
}

#[tokio::test]
async fn of_several_calls_the_client_sees_those_of_its_own_tools() {
    shows(|| [calling(&["oven", "weather"])], &["weather"], "tool").await;
}

#[tokio::test]
async fn calls_that_are_left_open_are_shown() {
    shows(|| [calling(&["oven"]), calling(&["oven"]), calling(&["oven"])], &["oven"], "tool").await;
}

#[tokio::test]
async fn a_stored_completion_shows_what_its_answer_showed() {
    let server =
        TestServer::start(Server::builder().model(replying("tea", [calling(&["oven", "weather"])]))).await;
    let protocol = &protocols()[0];
    let mut request = protocol.request.clone();
    request["store"] = true.into();
    let answer = server.post(protocol.path, &request).await.json();
    let stored = server.get(&format!("{}/{}", protocol.path, answer["id"].as_str().unwrap())).await.json();
    assert_eq!((protocol.whole)(&stored), ["weather"]);
    assert_eq!(stored["choices"], answer["choices"]);
}
