//! A tree: another answer, an edited question, and the way back.

use std::sync::Arc;

use alloquy_core::testing::EchoModel;
use alloquy_core::{Ask, Chat, Manager, Preface, Result};

fn main() -> Result<()> {
    pollster::block_on(async {
        let manager = Manager::over(Arc::new(EchoModel)).build()?;
        let chat = manager.create(Preface::default()).await?;
        let tea = chat.send("tea?").finish().await?;
        chat.regenerate(Ask::default()).finish().await?;
        if let Some(question) = tea.answers() {
            chat.edit(question, "coffee?").finish().await?;
        }
        chat.goto(chat.resolve("0.0").await?).await?;
        chat.send("with milk?").finish().await?;
        draw(&chat).await
    })
}

async fn draw(chat: &Chat) -> Result<()> {
    let (tree, head) = (chat.tree().await?, chat.head().await?);
    for (depth, node) in tree.walk() {
        let mark = if head == Some(node.id) { " ◀" } else { "" };
        let address = tree.address(Some(node.id))?;
        println!("{}{address} {}: {}{mark}", "  ".repeat(depth), node.message.role, node.message.text());
    }
    Ok(())
}
