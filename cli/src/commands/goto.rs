//! `alloquy goto`: moves the head of a conversation.

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
  alloquy goto \"\"                           before the first message";

/// Go to a message of a conversation: the next message follows it
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Goto {
    /// An address such as 0.1.0, a node's id, or a bookmark
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
    let tree = chat.tree().await?;
    let message = &tree.node(node)?.message;
    let address = tree.position(Some(node))?;
    Ok(format!("now at [{address}] {}: {}", message.role, message.preview(WIDTH)))
}
