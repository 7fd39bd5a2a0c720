//! `alloquy prune`: removes a branch.

use alloquy::core::Result;
use clap::Args;
use clap::builder::BoolishValueParser as Switch;
use serde_json::json;

use crate::context::Context;
use crate::failure::Failure;
use crate::stored::Stored;

const EXAMPLES: &str = "\
Examples:
  alloquy prune 0.1                         this message and everything below it
  alloquy prune draft --compact             and reclaim what pruned messages occupy

There is no way back. The branch of the head is never pruned: `alloquy goto` another place first. The addresses of later \
siblings move up: 0.2 becomes 0.1.";

/// Remove a message with everything below it
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Prune {
    /// An address such as 0.1.0, a node's id, or a bookmark
    #[arg(value_name = "ADDRESS")]
    at: String,
    /// Reclaim what pruned messages occupy
    #[arg(long, env = "ALLOQUY_COMPACT", value_parser = Switch::new())]
    compact: bool,
    #[command(flatten)]
    stored: Stored,
}

impl Prune {
    pub(crate) fn run(self, context: &Context) -> Result<(), Failure> {
        pollster::block_on(async {
            let chat = self.stored.open(context).await?;
            let node = chat.resolve(&self.at).await?;
            let count = chat.prune(node).await?;
            self.stored.forget_computed(context, chat.id())?;
            if self.compact {
                chat.compact().await?;
            }
            let value = json!({"conversation": chat.id(), "node": node, "nodes": count});
            context.print(&format!("{count} pruned\n"), &value)
        })
    }
}
