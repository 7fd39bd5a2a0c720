//! `alloquy tree`: draws every message of a conversation.

use alloquy::core::annotations::Annotations;
use alloquy::core::conversation::TreeDrawing;
use clap::Args;
use serde_json::json;

use crate::arguments::{StoreArguments, WhichConversation};
use crate::context::Context;
use crate::failure::Failure;
use crate::kept;
use crate::outline::Outline;

const EXAMPLES: &str = "\
Examples:
  alloquy tree                              the last conversation
  alloquy tree --conversation work/plan
  alloquy tree --json | jq '.nodes[].message.role'

A line is a message: its role, how it begins, and its address in brackets. A * marks the head of the conversation. \
Only branches indent. More than 8 levels deep the brackets hold the end of the message's id. `alloquy goto`, and /goto in a \
chat, go to either.";

/// Draw every message of a conversation, branches included
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Tree {
    #[command(flatten)]
    which: WhichConversation,
    #[command(flatten)]
    store: StoreArguments,
}

impl Tree {
    pub(crate) fn run(self, context: &Context) -> Result<(), Failure> {
        pollster::block_on(self.draw(context))
    }

    async fn draw(self, context: &Context) -> Result<(), Failure> {
        let kept = kept::kept_for_reading(&context.settings.settle(&self.store)?).await?;
        let id = self.which.find_or_last(&kept).await?;
        let (record, tree) = kept.store.load(&kept.owner, &id).await?;
        let title = Outline::of(&kept, &record).await.title;
        let nodes: Vec<_> = tree.walk().map(|(_, node)| node).collect();
        let annotations = Annotations::of(&record)?;
        let drawing = TreeDrawing::new(&tree).head(record.head).annotations(&annotations);
        let text = format!("conversation {id}: {title}\n{drawing}");
        context.print(&text, &json!({"conversation": record, "nodes": nodes}))
    }
}
