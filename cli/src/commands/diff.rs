//! `alloquy diff`: the messages that two branches do not share.

use alloquy::core::conversation::BranchDiff;
use alloquy::core::{Conversation, Node, Result};
use clap::Args;
use serde_json::{Value, json};

use crate::context::Context;
use crate::failure::Failure;
use crate::stored::Stored;

const EXAMPLES: &str = "\
Examples:
  alloquy diff 0.0 0.1                      two answers to one question
  alloquy diff draft final                  two bookmarks
  alloquy diff --json 0.0 0.1 | jq '.right[].message'

A line that begins with - is only on the first branch, one with + only on the second.";

/// Show the messages that two branches do not share
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Diff {
    /// A message on one branch: an address such as 0.1.0, a part of a node's id, or a bookmark
    #[arg(value_name = "ADDRESS")]
    left: String,
    /// A message on the other
    #[arg(value_name = "ADDRESS")]
    right: String,
    #[command(flatten)]
    stored: Stored,
}

impl Diff {
    pub(crate) fn run(self, context: &Context) -> Result<(), Failure> {
        pollster::block_on(async {
            let chat = self.stored.open_for_reading(context).await?;
            let (text, value) = compared(&chat, &self.left, &self.right).await?;
            context.print(&text, &value)
        })
    }
}

/// Returns what two branches do not share, for people and for programs.
pub(crate) async fn compared(chat: &Conversation, left: &str, right: &str) -> Result<(String, Value)> {
    let left = chat.resolve(left).await?;
    let right = chat.resolve(right).await?;
    let BranchDiff { common, left, right, .. } = chat.diff(left, right).await?;
    let text = format!("{} messages in common\n{}{}", common.len(), lines('-', &left), lines('+', &right));
    let common: Vec<_> = common.iter().map(|node| node.id).collect();
    Ok((text, json!({"conversation": chat.id(), "common": common, "left": left, "right": right})))
}

/// Returns the whole text of each message, with a mark before each line.
fn lines(mark: char, nodes: &[Node]) -> String {
    let mut marked = String::new();
    for node in nodes {
        let text = format!("{}: {}", node.message.role, node.message.text());
        for line in text.lines() {
            marked += &format!("{mark} {line}\n");
        }
    }
    marked
}
