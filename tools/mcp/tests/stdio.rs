//! A program as a server: what its tools answer, how they change, and what remains after it exits.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

mod server;

use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use alloquy_core::message::{ToolCall, ToolResult};
use alloquy_core::tool::{ToolProvider, Toolbox};
use alloquy_core::{Result, Tool};
use alloquy_mcp::McpServer;
use alloquy_testing::laws;
use futures::{FutureExt, StreamExt};
use pollster::block_on;
use rmcp::ServiceExt;
use serde_json::{Value, json};

/// The environment variable that makes this program a server.
const SERVE: &str = "ALLOQUY_MCP_TRIAL_SERVER";

/// This test program is also the server: it is started again for this test alone, with the variable set. What the test
/// runner prints is not a message, and is skipped.
#[test]
fn serves_when_asked() {
    if std::env::var_os(SERVE).is_none() {
        return;
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let streams = (tokio::io::stdin(), tokio::io::stdout());
        server::Server::default().serve(streams).await.unwrap().waiting().await.unwrap();
    });
}

fn connect() -> McpServer {
    let mut program = Command::new(std::env::current_exe().unwrap());
    program.args(["--exact", "serves_when_asked", "--nocapture", "--test-threads=2"]).env(SERVE, "1");
    block_on(McpServer::program(program)).unwrap()
}

fn tool(server: &McpServer, name: &str) -> Arc<dyn Tool> {
    server.tools().into_iter().find(|tool| tool.spec().name == name).unwrap()
}

fn call(server: &McpServer, name: &str, arguments: &Value) -> Result<Value> {
    block_on(tool(server, name).call(arguments))
}

#[test]
fn tools_are_offered_as_the_server_describes_them() {
    let server = connect();
    assert_eq!((server.name(), server.instructions().as_deref()), ("trial", Some("Try everything.")));
    let specs: Vec<_> = server.tools().iter().map(Tool::spec).collect();
    insta::assert_json_snapshot!(specs);
    let prefixed = server.clone().prefixed("trial_");
    let toolbox = Toolbox::default().source(server).source(prefixed);
    assert_eq!(toolbox.now().unwrap().specs().filter(|spec| spec.name.ends_with("add")).count(), 2);
}

#[test]
fn answers_and_errors_are_what_a_model_can_read() {
    let server = connect();
    let calls = [
        ("add", json!({"a": 2, "b": 3})),
        ("add", json!({"a": "two"})),
        ("add", json!("2 and 3")),
        ("fail", json!({})),
        ("picture", Value::Null),
    ];
    let answers: Vec<_> = calls
        .iter()
        .map(|(name, arguments)| match call(&server, name, arguments) {
            Ok(answer) => json!({"answer": answer}),
            Err(error) => json!({"error": format!("{error:#}")}),
        })
        .collect();
    insta::assert_json_snapshot!(answers);
}

#[test]
fn a_servers_tools_obey_the_laws() {
    let server = connect();
    laws::tool::all(&*tool(&server, "add"), &json!({"a": 2, "b": 3}));
}

#[test]
#[cfg(target_os = "linux")]
fn a_program_ends_with_its_connection() {
    let server = connect();
    let status = format!("/proc/{}/stat", call(&server, "process", &json!({})).unwrap());
    assert!(std::fs::exists(&status).unwrap());
    drop(server);
    // A zombie has ended, too.
    eventually("the end", || std::fs::read_to_string(&status).map_or(true, |status| status.contains(") Z ")));
}

#[test]
fn calls_run_at_once() {
    let server = connect();
    let calls: Vec<_> =
        (0..20).map(|a| ToolCall::new(a.to_string(), "add", json!({"a": a, "b": 1}))).collect();
    let tools = Toolbox::default().source(server).now().unwrap();
    let results: Vec<ToolResult> = block_on(tools.answer(&calls, &[]).collect());
    let sums: Vec<_> = results.iter().map(|result| result.content["sum"].as_i64().unwrap()).collect();
    assert_eq!(sums, (1..21).collect::<Vec<_>>());
}

/// Waits until `done` holds, which takes the other process a moment.
fn eventually(what: &str, done: impl Fn() -> bool) {
    let start = Instant::now();
    while !done() {
        assert!(start.elapsed() < Duration::from_secs(20), "{what} does not come true");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_tool_that_appears_is_offered_and_answers() {
    let server = connect();
    let before = Toolbox::default().source(server.clone()).now().unwrap();
    call(&server, "grow", &json!({})).unwrap();
    eventually("the new tool", || server.tools().len() == 9);
    assert_eq!(call(&server, "grown", &json!({})).unwrap(), "hello");
    assert!(!before.has("grown"), "what a turn offers does not change under it");
}

#[test]
fn a_dropped_call_is_given_up_on_the_other_side_too() {
    let server = connect();
    let wait = tool(&server, "wait");
    let arguments = json!({});
    let mut waiting = wait.call(&arguments);
    assert!((&mut waiting).now_or_never().is_none());
    std::thread::sleep(Duration::from_millis(200));
    drop(waiting);
    eventually("the withdrawal", || call(&server, "given_up", &json!({})).unwrap() == json!(1));
}

#[test]
fn a_server_that_dies_leaves_errors_and_nothing_worse() {
    let server = connect();
    let message = "the server \"trial\" is gone, and its tools with it";
    let error = call(&server, "die", &json!({})).unwrap_err();
    assert_eq!(error.to_string(), message);
    eventually("the end", || server.is_closed());
    assert_eq!(call(&server, "add", &json!({"a": 1, "b": 1})).unwrap_err().to_string(), message);
    assert_eq!(server.tools().len(), 8, "what was offered stays on offer");
}

#[test]
fn a_program_that_is_none_and_one_that_does_not_speak_the_protocol_say_so() {
    let error = block_on(McpServer::program(Command::new("no-such-program"))).unwrap_err();
    assert_eq!(error.to_string(), "program \"no-such-program\" cannot be started");
    let mut silent = Command::new(std::env::current_exe().unwrap());
    silent.arg("--list");
    let error = block_on(McpServer::program(silent)).unwrap_err();
    assert!(error.to_string().starts_with("cannot connect to the server"), "{error:#}");
}

#[test]
fn it_works_inside_a_runtime_and_may_be_dropped_there() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let server = connect();
        assert_eq!(tool(&server, "add").call(&json!({"a": 1, "b": 1})).await.unwrap()["sum"], 2);
    });
}
