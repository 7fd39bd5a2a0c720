//! `alloquy history`: the messages up to the head of a conversation.

use alloquy::core::{Node, Result};
use clap::Args;
use serde_json::json;

use crate::context::Context;
use crate::failure::Failure;
use crate::stored::Stored;

const EXAMPLES: &str = "\
Examples:
  alloquy history                           the last conversation
  alloquy history --at 0.1                  up to this message
  alloquy history --json | jq -r '.nodes[-1].message.parts[].text'

`alloquy export --to markdown` prints the same as a document, and `alloquy tree` draws every branch.";

/// Print the messages of a conversation up to its head
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct History {
    /// Print up to this message: an address, a part of a node's id or a bookmark; the head of the conversation unless set
    #[arg(long, value_name = "ADDRESS", env = "ALLOQUY_AT")]
    at: Option<String>,
    #[command(flatten)]
    stored: Stored,
}

impl History {
    pub(crate) fn run(self, context: &Context) -> Result<(), Failure> {
        pollster::block_on(async {
            let chat = self.stored.open_for_reading(context).await?;
            let nodes = match &self.at {
                Some(at) => chat.path(chat.resolve(at).await?).await?,
                None => chat.history().await?,
            };
            context.print(&text(&nodes), &json!({"conversation": chat.id(), "nodes": nodes}))
        })
    }
}

/// Returns the role and the text of each message.
pub(crate) fn text(nodes: &[Node]) -> String {
    nodes.iter().map(|node| format!("{}: {}\n", node.message.role, node.message.text())).collect()
}
