//! Coding agents as the judges: Codex and Claude Code run a command that the model calls, and show its answer. `ALLOQUY_CODEX` and
//! `ALLOQUY_CLAUDE_CODE` are their programs; without them, the tests print that they are skipped.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

mod shared;

use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};

use alloquy_core::message::{ToolCall, ToolResult};
use alloquy_core::report::{CacheReport, FinishReason};
use alloquy_core::{ChatModel, Content, Message, Reply, ReplyStream, Request, Result, Role};
use alloquy_server::{ServedModel, Server};
use alloquy_testing::{ScriptedModel, ScriptedReply};
use async_trait::async_trait;
use serde_json::{Value, json};

use shared::TestServer;

/// Calls a tool until it has a result, and then says what the result was. To a request without this tool it answers with JSON.
#[derive(Clone, Debug)]
struct Agent {
    tool: &'static str,
    arguments: Value,
    results: Arc<Mutex<Vec<String>>>,
}

#[async_trait]
impl ChatModel for Agent {
    fn name(&self) -> &str {
        "agent"
    }

    async fn reply(&self, request: Request) -> Result<ReplyStream> {
        let results: Vec<String> =
            request.path.iter().flat_map(Message::tool_results).map(ToolResult::text).collect();
        let is_offered = request.preface.tools.iter().any(|tool| tool.name == self.tool);
        let reply = match results.first() {
            _ if !is_offered => Reply::new(Message::assistant("{\"title\": \"List the files\"}")),
            Some(result) => {
                let text = format!("The tool has answered: {result}");
                self.results.lock().unwrap().push(result.clone());
                Reply::new(Message::assistant(text))
            }
            None => {
                let call = Content::ToolCall(ToolCall::new("call_1", self.tool, self.arguments.clone()));
                let parts = vec![Content::Thinking("I look.".to_owned()), call];
                let mut reply = Reply::new(Message::new(Role::Assistant, parts));
                reply.finish = FinishReason::ToolCalls;
                reply
            }
        };
        ScriptedModel::replying([ScriptedReply::from(reply)]).reply(request).await
    }

    async fn warm(&self, _: Request) -> Result<Option<CacheReport>> {
        Ok(None)
    }
}

/// A folder with one file.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("tea.rs"), "").unwrap();
    folder
}

/// The command of a program in a folder, without the variables of this process.
fn command(program: &OsString, folder: &Path, home: &Path) -> Command {
    let mut command = Command::new(program);
    command.env_clear().env("HOME", home).current_dir(folder).stdin(Stdio::null());
    command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command
}

/// Runs a program against a server with this model, and checks that its last words are the answer.
async fn judge(agent: Agent, command: impl FnOnce(&TestServer) -> Command) {
    let results = Arc::clone(&agent.results);
    let server = TestServer::start(Server::builder().model(ServedModel::loaded("tea", agent))).await;
    let mut command = command(&server);
    let output = tokio::task::spawn_blocking(move || command.output()).await.unwrap().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}\n{errors}");
    assert!(said.contains("The tool has answered: "), "{said}\n{errors}");
    let results = results.lock().unwrap().clone();
    assert!(results.iter().all(|result| result.contains("tea.rs")), "{results:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn codex_runs_a_command() {
    let Some(program) = std::env::var_os("ALLOQUY_CODEX") else {
        eprintln!("skipped: set ALLOQUY_CODEX to the program codex");
        return;
    };
    let (folder, home) = (folder(), folder());
    let agent = Agent { tool: "exec_command", arguments: json!({"cmd": "ls"}), results: Arc::default() };
    judge(agent, |server| {
        let config = format!(
            "model = \"tea\"\nmodel_provider = \"alloquy\"\nweb_search = \"disabled\"\n[model_providers.alloquy]\n\
             name = \"Alloquy\"\nbase_url = \"{}/v1\"\nwire_api = \"responses\"\n",
            server.url
        );
        std::fs::create_dir(home.path().join(".codex")).unwrap();
        std::fs::write(home.path().join(".codex/config.toml"), config).unwrap();
        let mut command = command(&program, folder.path(), home.path());
        command.args(["exec", "--skip-git-repo-check", "Which files are there?"]);
        command
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn claude_code_runs_a_command() {
    let Some(program) = std::env::var_os("ALLOQUY_CLAUDE_CODE") else {
        eprintln!("skipped: set ALLOQUY_CLAUDE_CODE to the program claude");
        return;
    };
    let (folder, home) = (folder(), folder());
    let arguments = json!({"command": "ls", "description": "Lists the files"});
    let agent = Agent { tool: "Bash", arguments, results: Arc::default() };
    judge(agent, |server| {
        let mut command = command(&program, folder.path(), home.path());
        command.env("ANTHROPIC_BASE_URL", &server.url).env("ANTHROPIC_API_KEY", "none");
        command.env("ANTHROPIC_MODEL", "tea").env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1");
        command.args(["--print", "--allowedTools", "Bash", "--", "Which files are there?"]);
        command
    })
    .await;
}
