//! Exchanges as files: what the model says, what is requested, and what is answered. A further case is a further file in `exchanges/`.
//!
//! An answer has at least the fields of the file. `"*"` is any value, and `"{id}"` is the id of the first answer.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

mod shared;

use alloquy_core::message::ToolCall;
use alloquy_core::report::{FinishReason, Usage};
use alloquy_core::{Content, Message, Reply, Role};
use alloquy_server::Server;
use alloquy_testing::{ScriptedModel, ScriptedReply};
use serde::Deserialize;
use serde_json::{Value, json};

use shared::TestServer;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    /// What the case is for.
    #[serde(rename = "purpose")]
    _purpose: String,
    replies: Vec<CaseReply>,
    exchanges: Vec<Exchange>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CaseReply {
    #[serde(default)]
    text: Option<String>,
    #[serde(default)]
    thinking: Option<String>,
    #[serde(default)]
    call: Option<ToolCall>,
    #[serde(default)]
    usage: Option<(usize, usize, usize)>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Exchange {
    method: String,
    path: String,
    #[serde(default)]
    body: Option<Value>,
    status: u16,
    #[serde(default)]
    answer: Option<Value>,
    /// The events of a stream, all of them.
    #[serde(default)]
    events: Option<Vec<Value>>,
    /// The lines of a stream, all of them.
    #[serde(default)]
    lines: Option<Vec<Value>>,
}

fn reply(case: CaseReply) -> ScriptedReply {
    let mut parts = Vec::new();
    parts.extend(case.thinking.map(Content::Thinking));
    parts.extend(case.text.map(Content::Text));
    let is_call = case.call.is_some();
    parts.extend(case.call.map(Content::ToolCall));
    let mut reply = Reply::new(Message::new(Role::Assistant, parts));
    if is_call {
        reply.finish = FinishReason::ToolCalls;
    }
    if let Some((prompt, cached, generated)) = case.usage {
        reply.usage = Usage::new(prompt, generated);
        reply.usage.cached = cached;
    }
    reply.into()
}

/// Checks that `value` has at least what is `expected`.
fn check(expected: &Value, value: &Value, id: &str, place: &str) {
    match (expected, value) {
        (Value::String(text), _) if text == "*" => assert!(!value.is_null(), "{place} is null"),
        (Value::String(text), _) if text.contains("{id}") => {
            assert_eq!(json!(text.replace("{id}", id)), *value, "{place}");
        }
        (Value::Object(fields), Value::Object(_)) => {
            for (name, expected) in fields {
                let place = format!("{place}.{name}");
                let found = value.get(name).unwrap_or_else(|| panic!("{place} is missing in {value}"));
                check(expected, found, id, &place);
            }
        }
        (Value::Array(items), Value::Array(found)) => {
            assert_eq!(items.len(), found.len(), "{place}: {value}");
            for (index, (expected, found)) in items.iter().zip(found).enumerate() {
                check(expected, found, id, &format!("{place}[{index}]"));
            }
        }
        _ => assert_eq!(expected, value, "{place}"),
    }
}

async fn run(name: &str, case: Case) {
    let model = ScriptedModel::replying(case.replies.into_iter().map(reply));
    let server =
        TestServer::start(Server::builder().model(alloquy_server::ServedModel::loaded("tea", model))).await;
    let mut id = String::new();
    for (index, exchange) in case.exchanges.into_iter().enumerate() {
        let place = format!("{name}[{index}]");
        let path = exchange.path.replace("{id}", &id);
        let request = match &exchange.body {
            Some(body) => server
                .request(&exchange.method, &path)
                .header("content-type", "application/json")
                .body(body.to_string().replace("{id}", &id)),
            None => server.request(&exchange.method, &path),
        };
        let answer = server.send(request).await;
        assert_eq!(answer.status, exchange.status, "{place}: {}", answer.text);
        if let Some(events) = exchange.events {
            let found =
                answer.events().into_iter().map(|event| serde_json::from_str(&event).unwrap_or(json!(event)));
            let found = Value::Array(found.collect());
            check(&Value::Array(events), &found, &id, &place);
        }
        if let Some(lines) = exchange.lines {
            let found = answer.text.lines().map(|line| serde_json::from_str(line).unwrap());
            let found = Value::Array(found.collect());
            check(&Value::Array(lines), &found, &id, &place);
        }
        let Some(expected) = exchange.answer else { continue };
        let body = answer.json();
        if id.is_empty() {
            id = body["id"].as_str().unwrap_or_default().to_owned();
        }
        check(&expected, &body, &id, &place);
    }
}

#[tokio::test]
async fn exchanges_are_as_in_their_files() {
    let mut count = 0;
    for file in std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/exchanges")).unwrap() {
        let path = file.unwrap().path();
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let case = serde_json::from_str(&std::fs::read_to_string(&path).unwrap());
        run(&name, case.unwrap_or_else(|error| panic!("{name}: {error}"))).await;
        count += 1;
    }
    assert!(count >= 9, "{count}");
}
