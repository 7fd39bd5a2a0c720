//! Official clients for Node as the judges, one script each in `node/`. `ALLOQUY_CLIENTS_NODE` is a folder whose `node_modules` has the packages of
//! `node/package.json`; without it, the tests print that they are skipped.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

mod shared;

use std::process::Command;

use alloquy_server::{KeyFile, KeyLimits, ServedModel, Server};

use shared::host_tools::sums;
use shared::{ObedientModel, TestServer};

/// Runs a script against a server whose model does what the script's messages say.
async fn judge(script: &str) {
    let Some(packages) = std::env::var_os("ALLOQUY_CLIENTS_NODE") else {
        eprintln!(
            "skipped: set ALLOQUY_CLIENTS_NODE to a folder where `npm ci` has installed server/tests/node/package.json"
        );
        return;
    };
    let mut keys = KeyFile::default();
    let secret = keys.add("ann".parse().unwrap(), KeyLimits::default()).unwrap();
    let model = ServedModel::loaded("tea", ObedientModel);
    let server = TestServer::start(Server::builder().model(model).tools(sums().0).keys(keys)).await;
    let mut command = Command::new("node");
    command.arg(format!("{}/tests/node/{script}.mjs", env!("CARGO_MANIFEST_DIR")));
    command.args([server.url.clone(), secret]).env("ALLOQUY_CLIENTS_NODE", packages);
    let output = tokio::task::spawn_blocking(move || command.output()).await.unwrap().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{script}: {errors}");
    assert!(output.stdout.ends_with(b"done\n"), "{script}: {errors}");
}

#[tokio::test(flavor = "multi_thread")]
async fn openai_for_chat_completions() {
    judge("chat").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_ai_sdk_for_chat_completions() {
    judge("ai_sdk").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn openai_for_responses_and_conversations() {
    judge("responses").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_ai_sdk_for_responses() {
    judge("ai_sdk_responses").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn anthropic_for_messages() {
    judge("anthropic").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn ollama_for_chats() {
    judge("ollama").await;
}
