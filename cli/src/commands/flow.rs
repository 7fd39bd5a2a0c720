//! `alloquy flow`: checks, draws and runs flows.

mod check;
mod definition;
mod draw;
mod opening;
mod resume;
mod run;
mod running;
mod status;
mod waits;

use clap::{Args, Subcommand};

use crate::context::Context;
use crate::failure::Failure;

const EXAMPLES: &str = "\
Examples:
  alloquy flow check order.yaml                  what is wrong with it; exits with 1 if something is
  alloquy flow draw order.yaml --output order.svg
  alloquy flow run order.yaml tea                in the conversation tea, until it waits or ends
  alloquy flow resume tea \"Two cups, please.\"    answers, from any process, hours later
  alloquy flow status tea                        where it is, its variables, and why it came there

A flow is a file of YAML with states and conditions. Its steps are messages of the conversation, so tree, undo, goto and fork apply. \
`flow run` and `flow resume` exit with 0 when the flow has ended or waits, and with 1 when it is stuck, exceeds a limit or fails.";

/// Check, draw, run and resume flows: conversations with states and conditions as data
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct FlowCommand {
    #[command(subcommand)]
    action: Action,
}

/// What to do with flows.
#[derive(Debug, Subcommand)]
enum Action {
    Check(check::Check),
    Draw(draw::Draw),
    Run(Box<run::Run>),
    Resume(Box<resume::Resume>),
    Status(status::Status),
}

impl FlowCommand {
    pub(crate) fn run(self, context: &Context) -> Result<(), Failure> {
        match self.action {
            Action::Check(check) => check.run(context),
            Action::Draw(draw) => draw.run(context),
            Action::Run(run) => run.run(context),
            Action::Resume(resume) => resume.run(context),
            Action::Status(status) => status.run(context),
        }
    }
}
