//! Servers that are programs, spoken to through their standard input and output.

use std::process::{Command, Stdio};

use alloquy_core::{Error, ErrorKind, Result};
use rmcp::transport::TokioChildProcess;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::ChildStderr;

use crate::McpServer;

impl McpServer {
    /// Starts a program and connects to it. What it writes to standard error is traced.
    ///
    /// # Errors
    /// [`ErrorKind::Tool`] when it does not start, or does not speak the protocol.
    pub async fn program(command: Command) -> Result<Self> {
        let name = command.get_program().to_string_lossy().into_owned();
        Self::connect(name, async { start(command) }).await
    }
}

fn start(command: Command) -> Result<TokioChildProcess> {
    let name = command.get_program().to_string_lossy().into_owned();
    let mut command = tokio::process::Command::from(command);
    // A thread that ends leaves no time for goodbyes.
    command.kill_on_drop(true);
    let started = TokioChildProcess::builder(command).stderr(Stdio::piped()).spawn();
    let (transport, stderr) = started.map_err(|source| {
        Error::new(ErrorKind::Tool, format!("program {name:?} cannot be started")).with_source(source)
    })?;
    if let Some(stderr) = stderr {
        tokio::spawn(traced(name, stderr));
    }
    Ok(transport)
}

async fn traced(name: String, stderr: ChildStderr) {
    let mut lines = BufReader::new(stderr).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        tracing::info!(server = name, "{line}");
    }
}
