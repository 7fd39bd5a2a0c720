//! A tree: another answer, an edited question, the way back, labels and bookmarks, what differs, a copy.

use alloquy_core::{Ask, Chat, ConversationId, Manager, Preface, PriceTable, Result};
use alloquy_testing::EchoModel;

fn main() -> Result<()> {
    pollster::block_on(async {
        let manager = Manager::new(EchoModel);
        let chat = manager.create(Preface::default()).await?;
        let tea = chat.send("tea?").finish().await?;
        chat.regenerate(Ask::default()).finish().await?;
        if let Some(question) = tea.answers() {
            chat.edit(question, "coffee?").finish().await?;
        }
        // Wherever the head is, a turn may say which node it follows.
        let milk = chat.send(Ask::from("with milk?").at(tea.node)).finish().await?;
        chat.label(tea.node, Some("the first answer")).await?;
        chat.bookmark("milk", milk.node).await?;
        print!("{}", chat.draw().await?);
        compare(&chat).await?;
        copy(&chat).await
    })
}

async fn compare(chat: &Chat) -> Result<()> {
    let diff = chat.diff(chat.resolve("milk").await?, chat.resolve("1.0").await?).await?;
    println!("{} in common, then {} or {}", diff.common.len(), diff.left.len(), diff.right.len());
    for branch in chat.branches().await? {
        println!("a branch of {} nodes, labelled {:?}", branch.nodes, branch.label);
    }
    println!("all of it cost {:?}", chat.spending(&PriceTable::example()).await?.total());
    Ok(())
}

/// What was said in a copy can come back.
async fn copy(chat: &Chat) -> Result<()> {
    let copy = chat.fork_at(chat.resolve("milk").await?, ConversationId::new()).await?;
    copy.send("and sugar?").finish().await?;
    let merged = chat.merge(&copy).await?;
    println!("{} nodes came back; {} go", merged.added.len(), chat.prune(chat.resolve("1").await?).await?);
    print!("{}", chat.draw().await?);
    Ok(())
}
