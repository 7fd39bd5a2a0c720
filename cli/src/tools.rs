//! Tools of a conversation: the servers that offer them, and the rules under which they run.

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::time::Duration;

use alloquy::core::message::ToolCall;
use alloquy::core::tool::{ApprovalDecision, ToolApproval, ToolContext, Toolbox};
use alloquy::core::{Error, ErrorKind, Result, ToolSpec};
use async_trait::async_trait;
use serde::Serialize;

use crate::arguments::{Approve, ToolArguments};
use crate::asking;
use crate::notes::Notes;
use crate::visible::on_one_line;

/// How many seconds a call may take by default.
pub(crate) const TIMEOUT: u64 = 60;

/// How often a model may call tools in one turn by default.
pub(crate) const ROUNDS: usize = 8;

/// A tool that a server lists and that is not offered.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Refused {
    server: String,
    name: String,
    reason: String,
}

/// Connects to the servers that are named, and notes which of their tools are offered and which are not.
pub(crate) async fn toolbox(arguments: &ToolArguments, notes: Notes) -> Result<Toolbox> {
    toolbox_with_refused(arguments, notes).await.map(|(toolbox, _)| toolbox)
}

/// As [`toolbox`], and returns the tools that are not offered.
pub(crate) async fn toolbox_with_refused(
    arguments: &ToolArguments,
    notes: Notes,
) -> Result<(Toolbox, Vec<Refused>)> {
    let toolbox = Toolbox::default().timeout(longest(arguments), futures_timer::Delay::new);
    let toolbox = toolbox.approval(Rule::of(arguments.approve.unwrap_or_default(), notes));
    let mut refused = Vec::new();
    let toolbox = servers::connect(toolbox, arguments, notes, &mut refused).await?;
    // Names that clash are reported before a model is loaded.
    toolbox.now().map_err(|error| error.context("two servers offer the same tool"))?;
    Ok((toolbox, refused))
}

/// A server whose tools requests may name.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ToolServer<'a> {
    /// A command that starts it.
    Program(&'a str),
    /// Its address.
    Url(&'a str),
}

/// Connects to a server. Whether its tools run is decided for each request, and a call may take as long as in a conversation.
pub(crate) async fn served(
    server: ToolServer<'_>,
    arguments: &ToolArguments,
    notes: Notes,
) -> Result<Toolbox> {
    let (mcp, mcp_url) = match server {
        ToolServer::Program(command) => (vec![command.to_owned()], Vec::new()),
        ToolServer::Url(url) => (Vec::new(), vec![url.to_owned()]),
    };
    let arguments = ToolArguments { mcp, mcp_url, ..arguments.clone() };
    let toolbox = Toolbox::default().timeout(longest(&arguments), futures_timer::Delay::new);
    servers::connect(toolbox, &arguments, notes, &mut Vec::new()).await
}

/// Returns how long a call may take, and a connection to a server.
fn longest(arguments: &ToolArguments) -> Duration {
    Duration::from_secs(arguments.tool_timeout.unwrap_or(TIMEOUT))
}

/// The rule that decides on a call.
#[derive(Debug)]
struct Rule {
    approve: Approve,
    notes: Notes,
    /// Tools of which a person has allowed every call.
    allowed: Mutex<BTreeSet<String>>,
}

/// The answer of a person.
#[derive(Debug, PartialEq, Eq)]
enum Answer {
    Once,
    Always,
    No,
}

impl Answer {
    fn read(line: &str) -> Self {
        match line.trim().to_lowercase().as_str() {
            "y" | "yes" => Self::Once,
            "a" | "always" => Self::Always,
            // Anything but a clear yes is a no.
            _ => Self::No,
        }
    }
}

impl Rule {
    fn of(approve: Approve, notes: Notes) -> Self {
        Self { approve, notes, allowed: Mutex::default() }
    }

    fn ask(&self, call: &ToolCall) -> ApprovalDecision {
        if !asking::can_ask() {
            self.notes.say(format_args!(
                "{} did not run: there is no terminal to ask for approval; --approve always lets every tool run",
                on_one_line(&call.name)
            ));
            return ApprovalDecision::Refuse("there was no person to approve it".to_owned());
        }
        let mut allowed = self.allowed.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if allowed.contains(&call.name) {
            return ApprovalDecision::Allow;
        }
        match decided(call) {
            Answer::Once => ApprovalDecision::Allow,
            Answer::Always => {
                allowed.insert(call.name.clone());
                ApprovalDecision::Allow
            }
            Answer::No => ApprovalDecision::Refuse("the user does not want it".to_owned()),
        }
    }
}

#[async_trait]
impl ToolApproval for Rule {
    async fn approve(&self, call: &ToolCall, _tool: &ToolSpec, _: &ToolContext) -> ApprovalDecision {
        match self.approve {
            Approve::Always => ApprovalDecision::Allow,
            Approve::Never => ApprovalDecision::Refuse("tools do not run here".to_owned()),
            Approve::Ask => self.ask(call),
        }
    }
}

/// Shows a call to the person at the terminal, with all of its arguments: what is not shown cannot be approved.
fn decided(call: &ToolCall) -> Answer {
    // Arguments are one line of JSON; only control characters are replaced, by the screen.
    let name = on_one_line(&call.name);
    let arguments = &call.arguments;
    let question = format!("run {name}({arguments})? [y]es, [a]lways this tool, [N]o: ");
    asking::ask(&question).map_or(Answer::No, |line| Answer::read(&line))
}

#[cfg(feature = "mcp")]
mod servers {
    //! Servers of the Model Context Protocol.

    use std::pin::pin;

    use alloquy::core::tool::ToolProvider as _;
    use alloquy::mcp::{McpServer, RefusedTool};
    use futures::future::{Either, select};
    use futures_timer::Delay;

    use super::{Duration, Error, ErrorKind, Notes, Refused, Result, ToolArguments, Toolbox, longest};

    pub(super) async fn connect(
        mut toolbox: Toolbox,
        arguments: &ToolArguments,
        notes: Notes,
        refused: &mut Vec<Refused>,
    ) -> Result<Toolbox> {
        let longest = longest(arguments);
        for command in &arguments.mcp {
            toolbox = introduced(toolbox, in_time(command, program(command), longest).await?, notes, refused);
        }
        for url in &arguments.mcp_url {
            let server = in_time(url, McpServer::http(url.as_str()), longest).await?;
            toolbox = introduced(toolbox, server, notes, refused);
        }
        Ok(toolbox)
    }

    /// Fails when a server does not answer in time.
    async fn in_time(
        server: &str,
        connecting: impl Future<Output = Result<McpServer>>,
        longest: Duration,
    ) -> Result<McpServer> {
        match select(pin!(connecting), Delay::new(longest)).await {
            Either::Left((connected, _)) => connected,
            Either::Right(_) => {
                let message = format!("server {server:?} did not answer within {longest:?}");
                Err(Error::new(ErrorKind::Tool, message))
            }
        }
    }

    fn introduced(toolbox: Toolbox, server: McpServer, notes: Notes, refused: &mut Vec<Refused>) -> Toolbox {
        let names: Vec<_> = server.tools().iter().map(|tool| tool.spec().name).collect();
        notes.say(format_args!("tools of {}: {}", server.name(), names.join(", ")));
        for RefusedTool { name, reason, .. } in server.refused() {
            notes.say(format_args!("tool {name:?} of {} is not offered: {reason}", server.name()));
            refused.push(Refused { server: server.name().to_owned(), name, reason });
        }
        toolbox.source(server)
    }

    /// Starts a program that is named as in a shell; no shell runs.
    async fn program(command: &str) -> Result<McpServer> {
        let words = shlex::split(command).unwrap_or_default();
        let Some((name, arguments)) = words.split_first() else {
            return Err(Error::new(ErrorKind::Invalid, format!("--mcp {command:?} is no command")));
        };
        let mut program = std::process::Command::new(name);
        program.args(arguments);
        McpServer::program(program).await
    }
}

#[cfg(not(feature = "mcp"))]
mod servers {
    //! The errors of a program that was built without servers.

    use super::{Error, ErrorKind, Notes, Refused, Result, ToolArguments, Toolbox};

    #[allow(clippy::unused_async)] // as the one that connects
    pub(super) async fn connect(
        toolbox: Toolbox,
        arguments: &ToolArguments,
        _: Notes,
        _: &mut Vec<Refused>,
    ) -> Result<Toolbox> {
        match arguments.mcp.iter().chain(&arguments.mcp_url).next() {
            None => Ok(toolbox),
            Some(server) => {
                let message = format!(
                    "server {server:?}: this program was built without MCP; build it with the feature \"mcp\", which is on \
                     unless --no-default-features is given"
                );
                Err(Error::new(ErrorKind::Unsupported, message))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::notes::Output;

    #[test]
    fn only_a_clear_yes_is_one() {
        let read = |line| Answer::read(line);
        assert_eq!([read("y\n"), read(" YES "), read("a\n")], [Answer::Once, Answer::Once, Answer::Always]);
        assert_eq!([read("\n"), read("n\n"), read("yep\n"), read("")], [const { Answer::No }; 4]);
    }

    #[test]
    fn rules_decide_and_nobody_to_ask_is_a_no() {
        let notes = Notes::new(&Output { quiet: true, ..Output::default() });
        let call = ToolCall::new("call_0", "delete", serde_json::json!({}));
        let verdict = |approve| {
            let spec = ToolSpec::new("delete", "", serde_json::json!({}));
            pollster::block_on(Rule::of(approve, notes).approve(&call, &spec, &ToolContext::default()))
        };
        assert_eq!(verdict(Approve::Always), ApprovalDecision::Allow);
        assert_eq!(verdict(Approve::Never), ApprovalDecision::Refuse("tools do not run here".to_owned()));
        if !asking::can_ask() {
            assert_eq!(
                verdict(Approve::Ask),
                ApprovalDecision::Refuse("there was no person to approve it".to_owned())
            );
        }
    }
}
