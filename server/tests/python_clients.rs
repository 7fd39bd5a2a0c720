//! The clients of Anthropic and Ollama for Python, and OpenAI's for vectors, as judges. `ALLOQUY_CLIENTS_PYTHON` is a Python that has the
//! packages `anthropic`, `ollama` and `openai`; without it, the tests print that they are skipped.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

mod shared;

use std::process::Stdio;

use alloquy_core::message::ToolCall;
use alloquy_core::report::{FinishReason, Usage};
use alloquy_core::{Content, Message, Reply, Role};
use alloquy_retrieval::NgramEmbedder;
use alloquy_server::{KeyFile, KeyLimits, ServedEmbedder, ServedModel, Server};
use alloquy_testing::{ScriptedModel, ScriptedReply};
use serde_json::json;

use shared::TestServer;

fn hello() -> ScriptedReply {
    thoughtful(None)
}

fn thinking() -> ScriptedReply {
    thoughtful(Some("Hm."))
}

fn thoughtful(thinking: Option<&str>) -> ScriptedReply {
    let mut parts: Vec<Content> = Vec::new();
    parts.extend(thinking.map(|text| Content::Thinking(text.to_owned())));
    parts.push(Content::Text("Hello!".to_owned()));
    let mut reply = Reply::new(Message::new(Role::Assistant, parts));
    reply.usage = Usage::new(12, 3);
    reply.usage.cached = 8;
    reply.into()
}

fn call() -> ScriptedReply {
    let call = ToolCall::new("call_1", "weather", json!({"city": "Oslo"}));
    let mut reply = Reply::new(Message::new(Role::Assistant, vec![Content::ToolCall(call)]));
    reply.finish = FinishReason::ToolCalls;
    reply.into()
}

/// Runs a script with the address of a server, whose model answers with these replies, and a key.
async fn judge(script: &str, replies: Vec<ScriptedReply>) {
    let Some(python) = std::env::var_os("ALLOQUY_CLIENTS_PYTHON") else {
        eprintln!(
            "skipped: set ALLOQUY_CLIENTS_PYTHON to a Python that has the packages anthropic, ollama and openai"
        );
        return;
    };
    let mut keys = KeyFile::default();
    let secret = keys.add("ann".parse().unwrap(), KeyLimits::default()).unwrap();
    let builder = Server::builder()
        .model(ServedModel::loaded("tea", ScriptedModel::replying(replies)))
        .model(ServedModel::loaded("counting", ScriptedModel::new([("<assistant>", "Hello!")])))
        .embedder(ServedEmbedder::new("words", NgramEmbedder::new(16)).tokens(|_| 1));
    let server = TestServer::start(builder.keys(keys)).await;
    let mut command = std::process::Command::new(python);
    command.arg(format!("{}/tests/python/{script}", env!("CARGO_MANIFEST_DIR")));
    command.args([&server.url, &secret]).stderr(Stdio::piped());
    let output = tokio::task::spawn_blocking(move || command.output()).await.unwrap().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    assert!(output.stdout.ends_with(b"done\n"), "{errors}");
}

#[tokio::test]
async fn anthropics_client_reads_what_the_server_wrote() {
    judge("messages.py", vec![hello(), hello(), thinking(), call(), call(), hello()]).await;
}

#[tokio::test]
async fn ollamas_client_reads_what_the_server_wrote() {
    let replies = vec![hello(), hello(), thinking(), call(), hello(), hello(), hello()];
    judge("ollama_chat.py", replies).await;
}

#[tokio::test]
async fn openais_client_reads_vectors() {
    judge("embeddings.py", Vec::new()).await;
}
