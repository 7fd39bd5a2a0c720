//! `alloquy undo`: goes back to before the last question.

use alloquy::core::Result;
use clap::Args;
use serde_json::json;

use super::goto::place;
use crate::context::Context;
use crate::failure::Failure;
use crate::stored::Stored;

const EXAMPLES: &str = "\
Examples:
  alloquy undo                              the next question takes the place of the last one
  alloquy undo --conversation work/plan

Nothing is deleted: the question and its answer stay as a branch, which `alloquy tree` shows and `alloquy goto` goes to.";

/// Go back to before the last question; it stays as a branch
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Undo {
    #[command(flatten)]
    stored: Stored,
}

impl Undo {
    pub(crate) fn run(self, context: &Context) -> Result<(), Failure> {
        pollster::block_on(async {
            let chat = self.stored.open(context).await?;
            let node = chat.undo().await?;
            context.notes.say(place(&chat, node).await?);
            context.print("", &json!({"conversation": chat.id(), "head": node}))
        })
    }
}
