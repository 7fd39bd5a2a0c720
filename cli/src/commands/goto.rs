//! `alloquy goto`: moves the head of a conversation.

use alloquy::core::short_ids::ShortIds;
use alloquy::core::tree::Tree;
use alloquy::core::{Conversation, NodeId, Result};
use clap::Args;
use serde_json::json;

use crate::context::Context;
use crate::failure::Failure;
use crate::stored::Stored;

const EXAMPLES: &str = "\
Examples:
  alloquy goto 0.1.0                        the next message follows this one
  alloquy goto draft                        a bookmark
  alloquy goto 4fc9d2ab                     the end of a node's id, as `tree` and `search` show it
  alloquy goto \"\"                           before the first message";

/// Go to a message of a conversation: the next message follows it
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Goto {
    /// An address such as 0.1.0, a part of a node's id, or a bookmark
    #[arg(value_name = "ADDRESS")]
    to: String,
    #[command(flatten)]
    stored: Stored,
}

impl Goto {
    pub(crate) fn run(self, context: &Context) -> Result<(), Failure> {
        pollster::block_on(async {
            let chat = self.stored.open(context).await?;
            let node = chat.resolve(&self.to).await?;
            chat.goto(node).await?;
            context.notes.say(place(&chat, node).await?);
            context.print("", &json!({"conversation": chat.id(), "head": node}))
        })
    }
}

/// How many characters of a message are shown.
const WIDTH: usize = 60;

/// Describes the head of a conversation.
pub(crate) async fn place(chat: &Conversation, node: Option<NodeId>) -> Result<String> {
    let Some(node) = node else {
        return Ok("back at the start".to_owned());
    };
    Ok(format!("now at {}", described(&chat.tree().await?, node)?))
}

/// Describes a message: its address, its role and how it begins.
pub(crate) fn described(tree: &Tree, node: NodeId) -> Result<String> {
    let message = &tree.node(node)?.message;
    Ok(format!("[{}] {}: {}", address(tree, node)?, message.role, message.preview(WIDTH)))
}

/// The depth to which messages are named by their place, as `tree` shows them.
const DEEP: usize = 8;

/// Returns the shortest name of a message that every command accepts.
pub(crate) fn address(tree: &Tree, node: NodeId) -> Result<String> {
    let position = tree.position(Some(node))?;
    if position.places().len() <= DEEP {
        return Ok(position.to_string());
    }
    let short = ShortIds::of(tree.nodes().map(|node| node.id));
    Ok(short.short(&node.to_string()).to_owned())
}
