//! `alloquy merge`: adds the messages of another copy of a conversation.

use alloquy::core::{ConversationId, Result};
use clap::Args;
use serde_json::json;

use super::goto::described;
use super::prune::messages;
use crate::context::Context;
use crate::failure::Failure;
use crate::stored::Stored;

const EXAMPLES: &str = "\
Examples:
  alloquy merge plan-b --conversation plan

The messages of the other copy are added as branches. What was pruned there is pruned here, except for the branch of \
the head. The other copy stays as it is. Two conversations that are no copies of each other are refused.";

/// Add the messages of another copy of a conversation, such as one that `fork` made
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Merge {
    /// The other copy: its name, or a part of its id
    #[arg(value_name = "ID")]
    other: ConversationId,
    #[command(flatten)]
    stored: Stored,
}

impl Merge {
    pub(crate) fn run(self, context: &Context) -> Result<(), Failure> {
        pollster::block_on(async {
            let (chat, other) = self.stored.open_two(context, &self.other).await?;
            let merged = chat.merge(&other).await?;
            if !merged.pruned.is_empty() {
                self.stored.forget_computed(context, chat.id())?;
            }
            for node in &merged.held {
                context.notes.say(format_args!(
                    "{} was pruned there and stays, because you are in that branch",
                    described(&chat.tree().await?, *node)?
                ));
            }
            context.notes.say(format_args!(
                "added {} of {} to {}, and pruned {}",
                messages(merged.added.len()),
                other.id(),
                chat.id(),
                messages(merged.pruned.len())
            ));
            let value = json!({
                "conversation": chat.id(), "from": other.id(), "added": merged.added, "pruned": merged.pruned,
                "pruned_here": merged.pruned_here, "held": merged.held,
            });
            context.print("", &value)
        })
    }
}
