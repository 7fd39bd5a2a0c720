//! OpenAI's own client for Python as the judge. `ALLOQUY_CLIENTS_PYTHON` is a Python that has the package `openai`; without it, the test
//! prints that it is skipped.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

mod shared;

use std::process::Stdio;
use std::time::Duration;

use alloquy_core::message::ToolCall;
use alloquy_core::report::{FinishReason, Usage};
use alloquy_core::{Content, Message, Reply, Role};
use alloquy_server::{KeyFile, KeyLimits, ServedModel, Server};
use alloquy_testing::{EchoModel, ScriptedModel, ScriptedReply};
use serde_json::json;

use shared::host_tools::{calling, sums};
use shared::{Paced, TestServer, replying};

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

/// Runs a script with the client; `false` where there is none.
async fn run(script: &str, server: &TestServer, secret: String) -> bool {
    let Some(python) = std::env::var_os("ALLOQUY_CLIENTS_PYTHON") else {
        eprintln!("skipped: set ALLOQUY_CLIENTS_PYTHON to a Python that has the package openai");
        return false;
    };
    let mut command = std::process::Command::new(python);
    command.arg(format!("{}/tests/python/{script}", env!("CARGO_MANIFEST_DIR")));
    command.args([format!("{}/v1", server.url), secret]).stderr(Stdio::piped());
    let output = tokio::task::spawn_blocking(move || command.output()).await.unwrap().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    assert!(output.stdout.ends_with(b"done\n"), "{errors}");
    true
}

fn key() -> (KeyFile, String) {
    let mut keys = KeyFile::default();
    let secret = keys.add("ann".parse().unwrap(), KeyLimits::default()).unwrap();
    (keys, secret)
}

#[tokio::test]
async fn the_client_reads_what_the_server_wrote() {
    let (keys, secret) = key();
    let model = replying("tea", [hello().into(), hello().into(), call().into(), hello().into()]);
    let server = TestServer::start(Server::builder().model(model).keys(keys)).await;
    run("chat.py", &server, secret).await;
}

#[tokio::test]
async fn the_client_reads_responses_and_conversations() {
    let (keys, secret) = key();
    let cold = || Reply::new(Message::assistant("It is cold."));
    let caller = replying("caller", [call().into(), cold().into(), call().into(), cold().into()]);
    let city = || ScriptedReply::text("{\"name\": \"Oslo\"}");
    let thinking = vec![Content::Thinking("Hm.".to_owned()), Content::Text("Yes.".to_owned())];
    let thinker = Reply::new(Message::new(Role::Assistant, thinking));
    let counted = ScriptedModel::new([("<user>Hi<end><assistant>", "Hello!")]);
    let server = Server::builder()
        .model(ServedModel::loaded("echo", EchoModel))
        .model(caller)
        .model(replying("json", [city(), city()]))
        .model(replying("thinker", [thinker.into()]))
        .model(ServedModel::loaded("slow", Paced(Duration::from_millis(50))))
        .model(ServedModel::loaded("counted", counted))
        .keys(keys);
    let server = TestServer::start(server).await;
    run("responses.py", &server, secret).await;
}

#[tokio::test]
async fn the_client_reads_tools_of_the_host_and_approves_them() {
    let (keys, secret) = key();
    let add = || ScriptedReply::from(calling(&[("call_0", "add")]));
    let said = |words: &str| ScriptedReply::text(words);
    let fail = ScriptedReply::from(calling(&[("call_0", "fail")]));
    let replies = [
        add(),
        said("Five."),
        fail,
        said("Sorry."),
        add(),
        said("Five."),
        add(),
        said("Well."),
        said("A sum was refused."),
        said("Now tea."),
    ];
    let server = Server::builder().model(replying("tea", replies)).tools(sums().0).keys(keys);
    let server = TestServer::start(server).await;
    run("mcp.py", &server, secret).await;
}
