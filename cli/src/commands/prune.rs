//! `alloquy prune`: removes a branch.

use alloquy::core::tree::Tree;
use alloquy::core::{Conversation, Error, ErrorKind, NodeId, Result};
use clap::Args;
use clap::builder::BoolishValueParser as Switch;
use serde_json::json;

use super::goto::{address, described};
use crate::context::Context;
use crate::failure::Failure;
use crate::stored::Stored;

const EXAMPLES: &str = "\
Examples:
  alloquy prune 0.1                         this message and everything below it
  alloquy prune draft --compact             and reclaim what pruned messages occupy

There is no way back. The branch that you are in is never pruned: `alloquy goto` another place first. `alloquy delete` \
deletes a whole conversation. The addresses of later siblings move up: 0.2 becomes 0.1.";

/// Remove a message with everything below it
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Prune {
    /// An address such as 0.1.0, a part of a node's id, or a bookmark
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
            let place = match node {
                Some(node) => {
                    let tree = chat.tree().await?;
                    must_be_elsewhere(&chat, &tree, node).await?;
                    described(&tree, node)?
                }
                None => String::new(),
            };
            let count = chat.prune(node).await?;
            self.stored.forget_computed(context, chat.id())?;
            if self.compact {
                chat.compact().await?;
            }
            let value = json!({"conversation": chat.id(), "node": node, "nodes": count});
            let below = match count.saturating_sub(1) {
                0 => String::new(),
                below => format!(" and {} below it", messages(below)),
            };
            context.notes.say(format_args!("pruned {place}{below}"));
            context.print("", &value)
        })
    }
}

/// Counts messages in words.
pub(super) fn messages(count: usize) -> String {
    if count == 1 { "1 message".to_owned() } else { format!("{count} messages") }
}

/// Checks that the head is not in the branch that begins at a node.
async fn must_be_elsewhere(chat: &Conversation, tree: &Tree, node: NodeId) -> Result<()> {
    let Some(head) = chat.head().await? else { return Ok(()) };
    if !tree.path(Some(head))?.iter().any(|above| above.id == node) {
        return Ok(());
    }
    let place = address(tree, head)?;
    let id = chat.id();
    let message = if is_everything(tree, node) {
        format!(
            "you are in that branch ([{place}]), and there is no other: `alloquy delete {id}` deletes the conversation"
        )
    } else {
        format!(
            "you are in that branch ([{place}]): go somewhere else first with `alloquy goto ADDRESS`; `alloquy delete {id}` \
             deletes the whole conversation"
        )
    };
    Err(Error::new(ErrorKind::Conflict, message))
}

/// Returns whether every message is a node or below it.
fn is_everything(tree: &Tree, node: NodeId) -> bool {
    tree.children(None) == [node]
}
