//! The commands with `curl` in docs/server.md, run in their order against a server.
//!
//! A command may use `$COMPLETION`, `$RESPONSE`, `$CONVERSATION`, `$ITEM`, `$APPROVAL`, `$NODE`, `$HEAD` and `$DIGEST`, which are those of
//! the answers before it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

mod shared;

use std::collections::BTreeMap;
use std::process::{Command, Output};
use std::sync::Arc;

use alloquy_core::chat_model::ReplyBeginning;
use alloquy_core::media::Digest;
use alloquy_core::message::ToolCall;
use alloquy_core::prompt::PreparedPrompt;
use alloquy_core::report::{CacheReport, TextScore};
use alloquy_core::sampling::{TokenLogprob, TokenLogprobs};
use alloquy_core::tool::Toolbox;
use alloquy_core::{ChatModel, Content, Message, Reply, ReplyStream, Request, Result, Role, Tool, ToolSpec};
use alloquy_flows::Flow;
use alloquy_retrieval::{NgramEmbedder, Passage, Reranker};
use alloquy_server::{OpenedModel, ServedEmbedder, ServedModel, ServedReranker, ServedTools, Server};
use alloquy_storage::SnapshotBucket;
use alloquy_testing::{EchoModel, ScriptedModel, ScriptedReply};
use async_trait::async_trait;
use serde_json::{Value, json};

use shared::prompts::Greeting;
use shared::saved::CountedSnapshots;
use shared::{TestServer, replying};

/// The address in the documentation.
const ADDRESS: &str = "http://127.0.0.1:8080";

/// The flow in the documentation.
const ORDER: &str = "
name: order
variables: {cups: integer}
states:
  drink: {wait: {say: Tea or coffee?}, to: thanks}
  thanks: {say: 'Here: {{last}}.'}
";

/// What begins each command: silent, but with errors.
const PREAMBLE: &str =
    "set -euo pipefail; curl() { command curl -sS --fail-with-body --max-time 60 \"$@\"; echo; };";

/// Variables, and how the ids begin that are put into them.
const VARIABLES: [(&str, &str); 5] = [
    ("COMPLETION", "chatcmpl-"),
    ("RESPONSE", "resp_"),
    ("CONVERSATION", "conv_"),
    ("ITEM", "msg_"),
    ("APPROVAL", "mcpr_"),
];

/// Variables, and the fields of numbers or texts that are put into them.
const FIELDS: [(&str, &str); 3] = [("NODE", "node"), ("HEAD", "head"), ("DIGEST", "digest")];

/// Repeats what it is asked after what the reply begins with, in tokens that are bytes, reports its prompts, and scores texts.
#[derive(Debug)]
struct Echo(ScriptedModel);

#[async_trait]
impl ChatModel for Echo {
    fn name(&self) -> &str {
        "echo"
    }

    async fn reply(&self, request: Request) -> Result<ReplyStream> {
        let beginning = match request.beginning.clone() {
            Some(ReplyBeginning::Text(text)) => text,
            Some(ReplyBeginning::Tokens(ids)) => ids.into_iter().filter_map(char::from_u32).collect(),
            _ => String::new(),
        };
        let mut reply = EchoModel.reply(request.clone()).await?.finish().await?;
        let forced: String =
            request.sampling.logit_bias.keys().filter_map(|id| char::from_u32(*id)).collect();
        let text = beginning.clone() + if forced.is_empty() { reply.text() } else { forced }.as_str();
        reply.tokens = text.bytes().map(u32::from).collect();
        reply.begun = beginning.len();
        if request.sampling.logprobs.is_some() {
            let likely = |token: &u32| TokenLogprob::new(*token, -0.5);
            let rest = reply.tokens.iter().skip(reply.begun);
            reply.logprobs =
                rest.map(|token| TokenLogprobs::new(likely(token), vec![likely(token)])).collect();
        }
        reply.message = Message::assistant(text);
        ScriptedModel::replying([ScriptedReply::from(reply)]).reply(request).await
    }

    fn takes_beginnings(&self) -> bool {
        true
    }

    async fn score(&self, _: Request, targets: &[String]) -> Result<Vec<TextScore>> {
        Ok(targets.iter().map(|text| TextScore::new(text, vec![TokenLogprob::new(1, -0.5)])).collect())
    }

    fn prompt(&self, request: &Request) -> Result<Option<PreparedPrompt>> {
        self.0.prompt(request)
    }

    async fn warm(&self, request: Request) -> Result<Option<CacheReport>> {
        EchoModel.warm(request).await
    }
}

/// Says the time.
#[derive(Debug)]
struct Clock;

#[async_trait]
impl Tool for Clock {
    fn spec(&self) -> ToolSpec {
        ToolSpec::new("time", "Returns the time", json!({"type": "object", "properties": {}}))
    }

    async fn call(&self, _: &Value) -> Result<Value> {
        Ok("noon".into())
    }
}

/// A model that calls the clock and then answers, as often as the page asks it.
fn caller() -> ServedModel {
    let call = || {
        let call = Content::ToolCall(ToolCall::new("call_0", "time", json!({})));
        ScriptedReply::from(Reply::new(Message::new(Role::Assistant, vec![call])))
    };
    let noon = || ScriptedReply::text("It is noon.");
    replying("caller", [call(), noon(), call(), noon(), call(), noon(), call(), noon()])
}

/// Keeps the order of texts.
#[derive(Debug)]
struct Unchanged;

#[async_trait]
impl Reranker for Unchanged {
    fn digest(&self) -> Digest {
        Digest::of(b"unchanged")
    }

    async fn rerank(&self, _: &str, passages: Vec<Passage>) -> Result<Vec<Passage>> {
        Ok(passages)
    }
}

/// Returns the blocks of shell commands that begin with `curl`.
fn commands(text: &str) -> Vec<String> {
    let mut commands = Vec::new();
    let mut block: Option<String> = None;
    for line in text.lines() {
        match (&mut block, line) {
            (None, "```sh") => block = Some(String::new()),
            (Some(_), "```") => commands.extend(block.take()),
            (Some(lines), _) => {
                lines.push_str(line);
                lines.push('\n');
            }
            (None, _) => {}
        }
    }
    commands.retain(|command| command.starts_with("curl"));
    commands
}

/// Returns the last text in quotation marks that begins so.
fn last_id<'a>(answer: &'a str, prefix: &str) -> Option<&'a str> {
    let start = answer.rfind(&format!("\"{prefix}"))? + 1;
    answer[start..].split('"').next()
}

/// Returns the last value of a field that is a number or a text.
fn last_value<'a>(answer: &'a str, name: &str) -> Option<&'a str> {
    let name = format!("\"{name}\":");
    let start = answer.rfind(&name)? + name.len();
    let value = answer[start..].split([',', '}']).next()?.trim().trim_matches('"');
    (!value.is_empty() && !value.starts_with(['{', '[']) && value != "null").then_some(value)
}

fn run(command: &str, variables: &BTreeMap<&str, String>) -> Output {
    let script = format!("{PREAMBLE}\n{command}");
    Command::new("bash").args(["-c", &script]).envs(variables).output().expect("bash")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_command_of_the_page_succeeds() {
    if Command::new("curl").arg("--version").output().is_err() {
        eprintln!("skipped: there is no curl");
        return;
    }
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/server.md")).unwrap();
    let echo = OpenedModel::new(Echo(ScriptedModel::new([("", "")])));
    let echo = echo.tokens(|token| u8::try_from(token).ok().map(|byte| vec![byte]));
    let echo = echo.snapshots(CountedSnapshots);
    let builder = Server::builder()
        .model(ServedModel::opened("qwen", echo))
        .model(caller())
        .tools(ServedTools::new("clock", Toolbox::default().tool(Clock)))
        .embedder(ServedEmbedder::new("minilm", NgramEmbedder::default()))
        .reranker(ServedReranker::new("minilm-rank", Unchanged))
        .prompts(Arc::new(Greeting::new()))
        .flow("order", Flow::from_yaml(ORDER).unwrap())
        .snapshots(Arc::new(SnapshotBucket::in_memory().await.unwrap()));
    let server = TestServer::start(builder).await;
    let mut variables = BTreeMap::new();
    for command in commands(&page) {
        let command = command.replace(ADDRESS, &server.url);
        let known = variables.clone();
        let asked = command.clone();
        let output = tokio::task::spawn_blocking(move || run(&asked, &known)).await.unwrap();
        let answer = String::from_utf8_lossy(&output.stdout).into_owned();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{command}\n{errors}\n{answer}\nwith {variables:?}");
        assert!(!answer.trim().is_empty(), "{command}\nprints nothing");
        for (name, prefix) in VARIABLES {
            if let Some(id) = last_id(&answer, prefix) {
                variables.insert(name, id.to_owned());
            }
        }
        for (name, field) in FIELDS {
            if let Some(value) = last_value(&answer, field) {
                variables.insert(name, value.to_owned());
            }
        }
    }
    assert!(variables.contains_key("COMPLETION"), "no command stores a completion");
}

#[test]
fn the_versions_of_clients_are_those_that_are_tested() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
    let page = std::fs::read_to_string(format!("{root}/docs/server.md")).unwrap();
    let python = std::fs::read_to_string(format!("{root}/.ci/clients")).unwrap();
    let wanted = python.lines().find_map(|line| line.trim().strip_prefix("local wanted=")).unwrap();
    for client in wanted.trim_matches('\'').split(' ') {
        assert!(page.contains(&format!("`{client}`")), "docs/server.md does not name {client}");
    }
    let node = std::fs::read_to_string(format!("{root}/server/tests/node/package.json")).unwrap();
    let node: Value = serde_json::from_str(&node).unwrap();
    for (client, version) in node["dependencies"].as_object().unwrap() {
        let words = format!("`{client}` {}", version.as_str().unwrap());
        // `zod` is no client.
        assert!(client == "zod" || page.contains(&words), "docs/server.md does not name {words}");
    }
}
