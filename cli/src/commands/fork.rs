//! `alloquy fork`: copies a conversation.

use alloquy::core::{ConversationId, Result};
use clap::Args;
use serde_json::json;

use super::goto::described;
use crate::context::Context;
use crate::failure::Failure;
use crate::stored::Stored;

const EXAMPLES: &str = "\
Examples:
  alloquy fork                              copy the last conversation, up to its head
  alloquy fork --at 0.1 --name work/plan-b
  alloquy chat --conversation \"$(alloquy fork)\"

The name of the copy is printed. `alloquy merge` adds the new messages of the copy to the original.";

/// Copy a conversation, up to a message, into a new one
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Fork {
    /// Copy up to this message: an address, a part of a node's id or a bookmark; the head of the conversation unless set
    #[arg(long, value_name = "ADDRESS", env = "ALLOQUY_AT")]
    at: Option<String>,
    /// Call the copy this; a new name unless set
    #[arg(long, value_name = "ID", env = "ALLOQUY_NAME")]
    name: Option<ConversationId>,
    #[command(flatten)]
    stored: Stored,
}

impl Fork {
    pub(crate) fn run(self, context: &Context) -> Result<(), Failure> {
        pollster::block_on(async {
            let chat = self.stored.open(context).await?;
            let at = match &self.at {
                Some(at) => chat.resolve(at).await?,
                None => chat.head().await?,
            };
            let place = match at {
                Some(node) => described(&chat.tree().await?, node)?,
                None => "the start".to_owned(),
            };
            let copy = chat.fork_at(at, self.name.unwrap_or_else(ConversationId::new)).await?;
            let value = json!({"conversation": copy.id(), "from": chat.id(), "head": at});
            context.notes.say(format_args!("copied conversation {} up to {place}", chat.id()));
            context.print(&format!("{}\n", copy.id()), &value)
        })
    }
}
