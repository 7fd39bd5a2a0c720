//! `alloquy bookmark`: names for places in a conversation.

use alloquy::core::{Conversation, Result};
use clap::Args;
use clap::builder::BoolishValueParser as Switch;
use serde_json::{Value, json};

use crate::context::Context;
use crate::failure::Failure;
use crate::stored::Stored;
use crate::visible::on_one_line;

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
    /// An address such as 0.1.0, a node's id, or a bookmark; the head of the conversation unless set
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
            let chat = self.stored.open(context).await?;
            let Some(name) = &self.name else {
                let (text, value) = listed(&chat).await?;
                return context.print(&text, &value);
            };
            if self.remove {
                chat.remove_bookmark(name).await?;
                context.notes.say(format_args!("bookmark {name:?} is removed"));
            } else {
                let place = self.place(&chat).await?;
                chat.bookmark(name, place).await?;
                let at = place.map_or_else(|| "before the first message".to_owned(), |node| node.to_string());
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

/// Returns the list of a conversation's bookmarks, for people and for programs.
pub(crate) async fn listed(chat: &Conversation) -> Result<(String, Value)> {
    let notes = chat.annotations().await?;
    let text: String =
        notes.bookmarks().map(|(name, node)| format!("{node}  {}\n", on_one_line(name))).collect();
    let bookmarks = notes.bookmarks().map(|(name, node)| json!({"name": name, "node": node}));
    let bookmarks: Vec<_> = bookmarks.collect();
    Ok((text, json!({"conversation": chat.id(), "bookmarks": bookmarks})))
}
