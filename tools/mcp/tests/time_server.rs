//! A published server: `mcp-server-time`, installed from its package in a virtual environment below the target folder.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)] // a test may panic

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use alloquy_core::Tool;
use alloquy_core::message::{ToolCall, ToolResult};
use alloquy_core::tool::{ToolProvider, Toolbox};
use alloquy_mcp::McpServer;
use futures::StreamExt;
use pollster::block_on;
use serde_json::{Value, json};

const PACKAGE: &str = "mcp-server-time==2026.10.19";

/// Installs the server once, and returns its Python. Prints why the test is skipped if that fails.
fn python() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("mcp-server-time");
    let python = folder.join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" });
    if has_server(&python) {
        return Some(python);
    }
    let is_installed = succeeds(Command::new("python3").args(["-m", "venv"]).arg(&folder))
        && succeeds(Command::new(&python).args(["-m", "pip", "install", "--quiet", PACKAGE]))
        && has_server(&python);
    if !is_installed {
        eprintln!("Skipping: {PACKAGE} cannot be installed: no python3 with venv and pip, or no network");
        return None;
    }
    Some(python)
}

fn has_server(python: &Path) -> bool {
    succeeds(Command::new(python).args(["-c", "import mcp_server_time"]))
}

fn succeeds(command: &mut Command) -> bool {
    let ended = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    ended.is_ok_and(|status| status.success())
}

#[test]
fn a_server_that_others_wrote_lists_answers_and_refuses() {
    let Some(python) = python() else { return };
    let mut program = Command::new(python);
    program.args(["-m", "mcp_server_time", "--local-timezone", "Europe/Oslo"]);
    let server = block_on(McpServer::program(program)).unwrap();
    let specs: Vec<_> = server.tools().iter().map(Tool::spec).collect();
    let names: Vec<_> = specs.iter().map(|spec| spec.name.as_str()).collect();
    assert_eq!(names, ["get_current_time", "convert_time"]);
    assert_eq!(specs[0].parameters["properties"]["timezone"]["type"], "string");

    let convert =
        |zone: &str| json!({"source_timezone": "Europe/Oslo", "time": "12:00", "target_timezone": zone});
    let calls = [
        ToolCall::new("call_0", "convert_time", convert("Asia/Tokyo")),
        ToolCall::new("call_1", "convert_time", convert("Atlantis/Capital")),
        ToolCall::new("call_2", "get_current_time", json!({"timezone": "UTC"})),
    ];
    let tools = Toolbox::default().source(server).now().unwrap();
    let results: Vec<ToolResult> = block_on(tools.answer(&calls, &[]).collect());
    let converted: Value = serde_json::from_str(&results[0].text()).unwrap();
    assert_eq!(converted["target"]["timezone"], "Asia/Tokyo");
    assert!(results[1].is_error && results[1].text().contains("Atlantis/Capital"), "{:?}", results[1]);
    let now: Value = serde_json::from_str(&results[2].text()).unwrap();
    assert_eq!(now["timezone"], "UTC");
}
