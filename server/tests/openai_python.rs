//! OpenAI's own client for Python as the judge. `ALLOQUY_CLIENTS_PYTHON` is a Python that has the package `openai`; without it, the test
//! prints that it is skipped.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

mod shared;

use std::process::Stdio;

use alloquy_core::message::ToolCall;
use alloquy_core::report::{FinishReason, Usage};
use alloquy_core::{Content, Message, Reply, Role};
use alloquy_server::{KeyFile, KeyLimits, Server};
use serde_json::json;

use shared::{TestServer, replying};

fn hello() -> Reply {
    let mut reply = Reply::new(Message::assistant("Hello!"));
    reply.usage = Usage::new(12, 3);
    reply.usage.cached = 8;
    reply
}

fn call() -> Reply {
    let call = ToolCall::new("call_1", "weather", json!({"city": "Oslo"}));
    let mut reply = Reply::new(Message::new(Role::Assistant, vec![Content::ToolCall(call)]));
    reply.finish = FinishReason::ToolCalls;
    reply
}

#[tokio::test]
async fn the_client_reads_what_the_server_wrote() {
    let Some(python) = std::env::var_os("ALLOQUY_CLIENTS_PYTHON") else {
        eprintln!("skipped: set ALLOQUY_CLIENTS_PYTHON to a Python that has the package openai");
        return;
    };
    let mut keys = KeyFile::default();
    let secret = keys.add("ann".parse().unwrap(), KeyLimits::default()).unwrap();
    let model = replying("tea", [hello().into(), hello().into(), call().into(), hello().into()]);
    let server = TestServer::start(Server::builder().model(model).keys(keys)).await;
    let mut command = std::process::Command::new(python);
    command.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/python/chat.py"));
    command.args([format!("{}/v1", server.url), secret]).stderr(Stdio::piped());
    let output = tokio::task::spawn_blocking(move || command.output()).await.unwrap().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    assert!(output.stdout.ends_with(b"done\n"), "{errors}");
}
