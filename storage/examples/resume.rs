//! A conversation that is put down and taken up again, as another process would; and one that is dropped mid-word.

use alloquy_core::manager::NewConversation;
use alloquy_core::tree::NodeStatus;
use alloquy_core::{ConversationId, ConversationManager, ErrorKind, Manager, Preface, Result, TurnEvent};
use alloquy_testing::EchoModel;
use futures::StreamExt;

fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let url = format!("sqlite:{}", folder.path().join("chats.db").display());
    pollster::block_on(async {
        let id = begin(&url).await?;
        Ok(resume(&url, &id).await?)
    })
}

async fn manager(url: &str) -> Result<Manager> {
    Manager::builder(EchoModel).store(alloquy_storage::open(url).await?).build()
}

async fn begin(url: &str) -> Result<ConversationId> {
    let manager = manager(url).await?;
    let new = NewConversation::from(Preface::system("Be brief.")).metadata("title", "Beans");
    let conversation = manager.create(new).await?;
    conversation.send("When do I sow beans?").finish().await?;
    let mut turn = conversation.send("And how deep, and how far apart?");
    while !matches!(turn.next().await, Some(Ok(TurnEvent::Delta(_))) | None) {}
    // The reader has gone: what was said until now is kept.
    drop(turn);
    manager.flush().await?;
    Ok(conversation.id().clone())
}

async fn resume(url: &str, id: &ConversationId) -> Result<()> {
    let manager = manager(url).await?;
    let again = manager.create(NewConversation::default().id(id.clone())).await;
    assert!(again.is_err_and(|error| error.kind() == ErrorKind::Conflict), "creating overwrites nothing");
    let conversation = manager.open(id).await?;
    for node in conversation.history().await? {
        let mark = if node.status == NodeStatus::Interrupted { " …" } else { "" };
        println!("{}: {}{mark}", node.message.role, node.message.text());
    }
    conversation.regenerate(alloquy_core::TurnRequest::default()).finish().await?;
    print!("{}", conversation.draw().await?);
    Ok(())
}
