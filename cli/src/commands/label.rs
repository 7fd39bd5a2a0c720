//! `alloquy label`: names a branch.

use alloquy::core::Result;
use clap::Args;
use serde_json::json;

use super::goto::described;
use crate::context::Context;
use crate::failure::Failure;
use crate::stored::Stored;
use crate::visible::on_one_line;

const EXAMPLES: &str = "\
Examples:
  alloquy label 0.1 \"the formal one\"        `tree` and `branches` show it
  alloquy label 0.1                         remove the label";

/// Label a message, and with it the branch below it
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Label {
    /// An address such as 0.1.0, a part of a node's id, or a bookmark
    #[arg(value_name = "ADDRESS")]
    at: String,
    /// The label; without it, the existing one is removed
    label: Option<String>,
    #[command(flatten)]
    stored: Stored,
}

impl Label {
    pub(crate) fn run(self, context: &Context) -> Result<(), Failure> {
        pollster::block_on(async {
            let chat = self.stored.open(context).await?;
            let node = chat.resolve(&self.at).await?;
            let place = match node {
                Some(node) => described(&chat.tree().await?, node)?,
                None => String::new(),
            };
            chat.label(node, self.label.as_deref()).await?;
            context.notes.say(match &self.label {
                Some(label) => format!("{place} is labelled {:?}", on_one_line(label)),
                None => format!("{place} has no label any more"),
            });
            context.print("", &json!({"conversation": chat.id(), "node": node, "label": self.label}))
        })
    }
}
