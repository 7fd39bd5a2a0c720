//! `alloquy flow run`: starts or continues a flow in a conversation.

use std::path::PathBuf;

use alloquy::core::ConversationId;
use alloquy::flows::Progress;
use clap::Args;
use clap::builder::BoolishValueParser as Switch;

use super::definition::Definition;
use super::opening::FlowArguments;
use crate::arguments::ValueArguments;
use crate::context::Context;
use crate::failure::Failure;
use crate::{kept, names};

const EXAMPLES: &str = "\
Examples:
  alloquy flow run order.yaml                      in a new conversation
  alloquy flow run order.yaml tea                  in this one, which may be a new one
  alloquy flow run order.yaml --set drink=tea --set cups:=2
  alloquy flow run claim.yaml --mcp ./claims-server --approve always
  alloquy flow run order.yaml tea --json | jq -r .progress.state

What states say goes to standard output. Where the flow waits, standard error has what it expects and how to resume it; at a \
terminal, the answer is typed at once. The definition is remembered with the conversation: its file, and its text up to 64 KiB. A \
model is loaded only if the flow asks one. Its calls run under --approve, as in a chat.

Exit codes: 0 the flow ended or waits (.progress.progress in JSON says which), 1 it is stuck, exceeded a limit or failed, 2 wrong \
arguments.";

/// Run a flow until it waits or ends
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Run {
    /// The file of the flow
    file: PathBuf,
    /// The conversation, which may be a new one; a new one with a name of its own unless set
    #[arg(env = "ALLOQUY_CONVERSATION")]
    conversation: Option<ConversationId>,
    /// Begin the flow again, even if it has run in this conversation
    #[arg(long, env = "ALLOQUY_AGAIN", value_parser = Switch::new())]
    again: bool,
    #[command(flatten)]
    values: ValueArguments,
    #[command(flatten)]
    flow: FlowArguments,
}

impl Run {
    pub(crate) fn run(self, context: &Context) -> Result<(), Failure> {
        pollster::block_on(self.start(context))
    }

    async fn start(self, context: &Context) -> Result<(), Failure> {
        let definition = Definition::read(&self.file).map_err(Failure::Arguments)?;
        let values = self.values.values().map_err(Failure::Arguments)?;
        let kept = kept::kept(&context.settings.settle(&self.flow.store)?).await?;
        let id = match &self.conversation {
            Some(name) => Some(names::existing_or_new(&kept, name).await?),
            None => None,
        };
        let run = self.flow.open(context, kept, id, &definition, &values).await?;
        let before = run.nodes().await?;
        let position = run.runner.position().await?;
        if position.is_some() && !self.again && !values.is_empty() {
            context.notes.say("the flow runs here already, so --set has no effect; --again begins it again");
        }
        let ran = if self.again { run.runner.begin().await } else { run.runner.run().await };
        if let (Some(_), false, Ok(Progress::Ended { .. })) = (&position, self.again, &ran) {
            context.notes.say("the flow has run here already; --again begins it again");
        }
        run.finish(context, before, None, ran).await
    }
}
