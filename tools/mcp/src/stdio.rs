//! Starts servers that are programs, and connects to them through their standard input and output.

use std::process::Command;
use std::time::Duration;

use alloquy_core::{Error, ErrorKind, Result};
use tokio::io::{AsyncReadExt, BufReader};
use tokio::process::{ChildStderr, ChildStdin, ChildStdout};

use crate::pipes::Pipes;
use crate::process::{Process, Streams};
use crate::{McpLimits, McpServer};

/// How many bytes of a line of standard error are traced.
const TRACED: usize = 4 << 10;

/// How many bytes of standard error are read in a second. A program that writes more is blocked meanwhile.
const ERRORS: usize = 1 << 20;

impl McpServer {
    /// Starts a program and connects to it, within the default limits. Its standard error is traced.
    ///
    /// The program has a process group of its own, which ends with the connection. A process that leaves the group, as a daemon
    /// does, is not ended.
    ///
    /// # Errors
    /// [`ErrorKind::Tool`] when the program does not start, does not speak the protocol, or exceeds a limit.
    pub async fn program(command: Command) -> Result<Self> {
        Self::program_within(command, McpLimits::default()).await
    }

    /// Starts a program as [`McpServer::program`] does, within other limits.
    ///
    /// # Errors
    /// As [`McpServer::program`].
    pub async fn program_within(command: Command, limits: McpLimits) -> Result<Self> {
        let name = command.get_program().to_string_lossy().into_owned();
        let (process, streams) = Process::start(command).map_err(|source| {
            Error::new(ErrorKind::Tool, format!("program {name:?} cannot be started")).with_source(source)
        })?;
        let named = name.clone();
        Self::connect(name, limits, Some(Box::new(process)), async move { pipes(named, streams, limits) })
            .await
    }
}

fn pipes(name: String, streams: Streams, limits: McpLimits) -> Result<Pipes<ChildStdout, ChildStdin>> {
    let input = ChildStdin::from_std(streams.input).map_err(|source| unusable(&name, source))?;
    let output = ChildStdout::from_std(streams.output).map_err(|source| unusable(&name, source))?;
    let errors = ChildStderr::from_std(streams.errors).map_err(|source| unusable(&name, source))?;
    tokio::spawn(traced(name, errors));
    Ok(Pipes::new(output, input, limits.message))
}

fn unusable(name: &str, source: std::io::Error) -> Error {
    Error::new(ErrorKind::Tool, format!("the streams of program {name:?} cannot be used")).with_source(source)
}

/// Traces the lines of standard error, of long ones the beginning, at a limited rate.
async fn traced(name: String, errors: ChildStderr) {
    let mut errors = BufReader::new(errors);
    let mut line = Vec::new();
    let mut bytes = vec![0; 1 << 13];
    let mut read = 0;
    while let Ok(count @ 1..) = errors.read(&mut bytes).await {
        for byte in bytes.iter().take(count) {
            if *byte == b'\n' {
                tracing::info!(server = name, "{}", String::from_utf8_lossy(&line));
                line.clear();
            } else if line.len() < TRACED {
                line.push(*byte);
            }
        }
        read += count;
        if read >= ERRORS {
            tokio::time::sleep(Duration::from_secs(1)).await;
            read = 0;
        }
    }
}
