//! `alloquy bookmark`: names for places in a conversation.

use alloquy::core::{Conversation, Result};
use clap::Args;
use clap::builder::BoolishValueParser as Switch;
use serde_json::{Value, json};

use super::goto::{address, described};
use crate::context::Context;
use crate::failure::Failure;
use crate::screen;
use crate::stored::Stored;
use crate::table::{Table, with_tabs};

const EXAMPLES: &str = "\
Examples:
  alloquy bookmark draft                    at the head of the conversation
  alloquy bookmark draft 0.1.0
  alloquy bookmark draft --remove
  alloquy bookmark                          list them

Every command accepts a bookmark in place of an address: `alloquy goto draft`.";

/// Put a bookmark at a message, or list the bookmarks
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Bookmark {
    /// The bookmark; one of this name moves
    name: Option<String>,
    /// An address such as 0.1.0, a part of a node's id, or a bookmark; the head of the conversation unless set
    #[arg(value_name = "ADDRESS", conflicts_with = "remove")]
    at: Option<String>,
    /// Remove the bookmark
    #[arg(long, requires = "name", env = "ALLOQUY_REMOVE", value_parser = Switch::new())]
    remove: bool,
    #[command(flatten)]
    stored: Stored,
}

impl Bookmark {
    pub(crate) fn run(self, context: &Context) -> Result<(), Failure> {
        pollster::block_on(async {
            let Some(name) = &self.name else {
                let chat = self.stored.open_for_reading(context).await?;
                let (text, value) = listed(&chat).await?;
                return context.print(&text, &value);
            };
            let chat = self.stored.open(context).await?;
            if self.remove {
                let existed = chat.annotations().await?.bookmark(name).is_some();
                chat.remove_bookmark(name).await?;
                let outcome = if existed { "is removed" } else { "does not exist" };
                context.notes.say(format_args!("bookmark {name:?} {outcome}"));
            } else {
                let place = self.place(&chat).await?;
                chat.bookmark(name, place).await?;
                let at = match place {
                    Some(node) => described(&chat.tree().await?, node)?,
                    None => "the start".to_owned(),
                };
                context.notes.say(format_args!("bookmark {name:?} is at {at}"));
            }
            context.print("", &json!({"conversation": chat.id(), "bookmark": self.name}))
        })
    }

    async fn place(&self, chat: &Conversation) -> Result<Option<alloquy::core::NodeId>> {
        match &self.at {
            Some(at) => chat.resolve(at).await,
            None => chat.head().await,
        }
    }
}

/// How many characters of a message a list has at most.
pub(super) const PREVIEW: usize = 100;

/// Returns the list of a conversation's bookmarks, for people and for programs.
pub(crate) async fn listed(chat: &Conversation) -> Result<(String, Value)> {
    let notes = chat.annotations().await?;
    let tree = chat.tree().await?;
    let mut table = Table::new(["NAME", "ADDRESS", "MESSAGE"]);
    let mut lines = String::new();
    for (name, node) in notes.bookmarks() {
        // A bookmark of a message that was pruned leads nowhere.
        let Ok(message) = tree.node(node).map(|node| &node.message) else { continue };
        let said = format!("{}: {}", message.role, message.preview(PREVIEW));
        lines += &with_tabs([name, &node.to_string(), &said]);
        table.push([name.to_owned(), address(&tree, node)?, said]);
    }
    let text = if screen::is_out_a_terminal() { table.aligned(screen::width()) } else { lines };
    let bookmarks = notes.bookmarks().map(|(name, node)| json!({"name": name, "node": node}));
    let bookmarks: Vec<_> = bookmarks.collect();
    Ok((text, json!({"conversation": chat.id(), "bookmarks": bookmarks})))
}
