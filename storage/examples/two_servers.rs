//! Two servers, one conversation: each has a manager of its own over one store, and neither loses a word.
//!
//! `cargo run --example two_servers -- postgres://USER@HOST/DATABASE` takes another store than a SQLite database.

use std::sync::Arc;

use alloquy_core::testing::EchoModel;
use alloquy_core::{ConversationManager, Manager, Preface, Result};

fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let database = format!("sqlite:{}", folder.path().join("chats.db").display());
    let url = std::env::args().nth(1).unwrap_or(database);
    Ok(pollster::block_on(converse(&url))?)
}

/// What each server does when it starts.
async fn server(url: &str) -> Result<Manager> {
    let store = alloquy_storage::open(url).await?;
    Manager::over(Arc::new(EchoModel)).store(store).build()
}

async fn converse(url: &str) -> Result<()> {
    let (one, two) = (server(url).await?, server(url).await?);
    let here = one.create(Preface::default()).await?;
    let there = two.open(here.id()).await?;
    here.send("tea?").finish().await?;
    there.send("with milk?").finish().await?;
    // Both answer at once: one of them moves the head, the other one's words stay as a branch.
    let (left, right) = (here.send("from here").finish(), there.send("from there").finish());
    let (left, right) = futures::future::join(left, right).await;
    println!("left: {:?}\nright: {:?}", left?.head, right?.head);
    let (tree, head) = (there.tree().await?, here.head().await?);
    for (depth, node) in tree.walk() {
        let mark = if head == Some(node.id) { " ◀" } else { "" };
        println!("{}{}: {}{mark}", "  ".repeat(depth), node.message.role, node.message.text());
    }
    Ok(())
}
