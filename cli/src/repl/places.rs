//! The commands of a chat that move in its conversation, name places of it and show it.

use alloquy::core::{Conversation, ConversationId, NodeId};
use serde_json::{Value, json};

use super::session::Repl;
use crate::commands::goto::place;
use crate::commands::{bookmark, branches, diff};
use crate::failure::Failure;
use crate::visible::on_one_line;

impl Repl {
    pub(super) async fn undo(&mut self, chat: &Conversation) -> Result<(), Failure> {
        let before = chat.undo().await?;
        self.say_where(chat, before).await
    }

    pub(super) async fn goto(&mut self, chat: &Conversation, address: &str) -> Result<(), Failure> {
        let node = chat.resolve(address).await?;
        chat.goto(node).await?;
        self.say_where(chat, node).await
    }

    /// Says where the conversation is now.
    async fn say_where(&mut self, chat: &Conversation, node: Option<NodeId>) -> Result<(), Failure> {
        self.printer.show("head", "", json!({"conversation": chat.id(), "head": node}))?;
        self.notes.say(place(chat, node).await?);
        Ok(())
    }

    pub(super) async fn fork(&mut self, chat: &Conversation, name: Option<&str>) -> Result<(), Failure> {
        let id = name.map_or_else(|| Ok(ConversationId::new()), str::parse)?;
        let head = chat.head().await?;
        let address = chat.tree().await?.position(head)?;
        let copy = chat.fork_at(head, id).await?;
        self.notes.say(format_args!(
            "copied conversation {} up to [{address}] as {}, where you are now",
            chat.id(),
            copy.id()
        ));
        self.printer.show("head", "", json!({"conversation": copy.id(), "head": head}))?;
        self.current.replace(copy);
        Ok(())
    }

    pub(super) async fn tree(&mut self, chat: &Conversation) -> Result<(), Failure> {
        let head = chat.head().await?;
        let tree = chat.tree().await?;
        let nodes: Vec<_> = tree.walk().map(|(_, node)| node).collect();
        self.printer.show("tree", &chat.draw().await?, json!({"head": head, "nodes": nodes}))?;
        Ok(())
    }

    pub(super) async fn history(&mut self, chat: &Conversation) -> Result<(), Failure> {
        let history = chat.history().await?;
        let mut text = String::new();
        for node in &history {
            text += &format!("{}: {}\n", node.message.role, node.message.text());
        }
        self.printer.show("history", &text, json!({"nodes": history}))?;
        Ok(())
    }

    pub(super) async fn branches(&mut self, chat: &Conversation) -> Result<(), Failure> {
        self.list("branches", branches::listed(chat).await?)
    }

    pub(super) async fn diff(&mut self, chat: &Conversation, left: &str, right: &str) -> Result<(), Failure> {
        self.list("diff", diff::compared(chat, left, right).await?)
    }

    fn list(&mut self, name: &str, (text, value): (String, Value)) -> Result<(), Failure> {
        Ok(self.printer.show(name, &text, value)?)
    }

    pub(super) async fn label(
        &mut self,
        chat: &Conversation,
        address: &str,
        label: Option<&str>,
    ) -> Result<(), Failure> {
        let node = chat.resolve(address).await?;
        chat.label(node, label).await?;
        self.notes.say(match label {
            Some(label) => format!("{address} is labelled {:?}", on_one_line(label)),
            None => format!("{address} has no label any more"),
        });
        let value = json!({"conversation": chat.id(), "node": node, "label": label});
        Ok(self.printer.show("label", "", value)?)
    }

    pub(super) async fn bookmark(
        &mut self,
        chat: &Conversation,
        set: Option<(String, Option<String>)>,
    ) -> Result<(), Failure> {
        let Some((name, address)) = set else {
            return self.list("bookmarks", bookmark::listed(chat).await?);
        };
        let node = match address {
            Some(address) => chat.resolve(&address).await?,
            None => chat.head().await?,
        };
        chat.bookmark(&name, node).await?;
        let address = chat.tree().await?.position(node)?;
        self.notes.say(format_args!("bookmark {name:?} is at [{address}]; /goto {name} comes back here"));
        let value = json!({"conversation": chat.id(), "node": node, "bookmark": name});
        Ok(self.printer.show("bookmark", "", value)?)
    }
}
