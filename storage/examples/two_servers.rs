//! Two servers, one conversation: answers at once are side by side, notes of both are kept, nobody's words are lost.
//!
//! `cargo run --example two_servers -- postgres://USER@HOST/DATABASE` takes another store than a SQLite database.

use std::thread;

use alloquy_core::store::HeadMove;
use alloquy_core::{
    Conversation, ConversationId, ConversationManager, Manager, Preface, Result, TurnRequest,
};
use alloquy_testing::EchoModel;

/// How many answers each server gives.
const ANSWERS: usize = 20;

fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let database = format!("sqlite:{}", folder.path().join("chats.db").display());
    let url = std::env::args().nth(1).unwrap_or(database);
    let id = ConversationId::new();
    let conversation = pollster::block_on(open(&url, &id))?;
    let question = pollster::block_on(conversation.add("What do you all think?"))?.node;
    let servers = ["left", "right"].map(|name| {
        let url = url.clone();
        let id = id.clone();
        thread::spawn(move || pollster::block_on(serve(name, &url, &id)))
    });
    for server in servers {
        let (name, branches) = server.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        println!("{name} was second {branches} times, and its answers are kept as branches");
    }
    pollster::block_on(async {
        let answers = conversation.children(question).await?;
        let notes = conversation.annotations().await?;
        println!("{} answers to one question, {} bookmarks", answers.len(), notes.bookmarks().count());
        assert_eq!((answers.len(), notes.bookmarks().count()), (2 * ANSWERS, 2 * ANSWERS));
        Ok(())
    })
}

/// A server has a store and a manager of its own.
async fn open(url: &str, id: &ConversationId) -> Result<Conversation> {
    let manager = Manager::builder(EchoModel).store(alloquy_storage::open(url).await?).build()?;
    manager.open_or_create(id, Preface::default()).await
}

async fn serve(name: &'static str, url: &str, id: &ConversationId) -> Result<(&'static str, usize)> {
    let conversation = open(url, id).await?;
    let question = "0".parse::<alloquy_core::tree::Address>()?;
    let mut branches = 0;
    for number in 0..ANSWERS {
        let reply = conversation.complete(TurnRequest::default().at(question.clone())).finish().await?;
        branches += usize::from(reply.head != HeadMove::Moved);
        conversation.bookmark(&format!("{name} {number}"), reply.node).await?;
    }
    Ok((name, branches))
}
