//! `alloquy branches`: the branches of a conversation.

use alloquy::core::conversation::Branch;
use alloquy::core::{Conversation, Result};
use clap::Args;
use serde_json::{Value, json};

use crate::context::Context;
use crate::failure::Failure;
use crate::stored::Stored;
use crate::visible::on_one_line;

const EXAMPLES: &str = "\
Examples:
  alloquy branches
  alloquy goto \"$(alloquy branches --json | jq -r '.branches[0].leaf')\"

A line is a branch: the id of its last message, the number of its messages, the start of the last one, and the label. \
A * marks the branch of the head.";

/// List the branches of a conversation
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Branches {
    #[command(flatten)]
    stored: Stored,
}

impl Branches {
    pub(crate) fn run(self, context: &Context) -> Result<(), Failure> {
        pollster::block_on(async {
            let chat = self.stored.open_for_reading(context).await?;
            let (text, value) = listed(&chat).await?;
            context.print(&text, &value)
        })
    }
}

/// Returns the list of a conversation's branches, for people and for programs.
pub(crate) async fn listed(chat: &Conversation) -> Result<(String, Value)> {
    let branches = chat.branches().await?;
    let tree = chat.tree().await?;
    let mut text = String::new();
    for branch in &branches {
        let said = tree.node(branch.leaf)?.message.preview(40);
        text += &line(branch, &said);
    }
    Ok((text, json!({"conversation": chat.id(), "branches": branches})))
}

fn line(branch: &Branch, said: &str) -> String {
    let mark = if branch.has_head { '*' } else { ' ' };
    let label =
        branch.label.as_deref().map(|label| format!("  “{}”", on_one_line(label))).unwrap_or_default();
    format!("{mark} {}  {:>4} messages  {said}{label}\n", branch.leaf, branch.nodes)
}
