//! What a host does with conversations: edits, branches, labels, metadata, search, cost, copies. In memory, or in the store that is
//! named: `host sqlite:chats.db`.

use alloquy::core::manager::NewConversation;
use alloquy::core::query::Filter;
use alloquy::cost::{Cost, PriceTable};
use alloquy::prelude::*;

fn main() -> Result<()> {
    pollster::block_on(host())
}

async fn host() -> Result<()> {
    let url = std::env::args().nth(1).unwrap_or_else(|| "memory:".to_owned());
    let model = Model::pocket()?;
    let manager = model.manager().store(open_store(&url).await?).owner("alice".parse()?).build()?;
    let new = NewConversation::from(Preface::system("Be brief.")).metadata("title", "Capitals");
    let chat = manager.create(new).await?;

    let first = chat.send("What is the capital of Portugal?").await?;
    let again = chat.regenerate(TurnRequest::default().label("second try")).await?;
    println!("{} / {} ({} tokens cached)", first.text(), again.text(), again.reply.usage.cached);
    if let Some(question) = first.answers() {
        let edited = chat.edit(question, "What is the capital of France?").await?;
        chat.label(edited.node, Some("france")).await?;
        chat.bookmark("start", question).await?;
        println!("{} nodes in common", chat.diff(first.node, edited.node).await?.common.len());
        chat.set_node_metadata(edited.node, "rating", 4).await?;
        for rated in chat.history().await?.iter().filter(|node| node.id == edited.node) {
            println!("rated {:?}", chat.annotations().await?.metadata(rated).get("rating"));
        }
    }
    chat.goto(again.node).await?;
    let next = TurnRequest::from("And of France?").message_metadata("by", "keyboard");
    println!("{}, on one of {} branches", chat.send(next).await?.text(), chat.branches().await?.len());
    chat.set_metadata("stars", 5).await?;
    print!("{}", chat.draw().await?);
    let prices = PriceTable::example();
    println!("cost of an answer: {:?}", Cost::of(&first.nodes, &prices).total());
    println!("cost of all: {:?}", Cost::of(chat.tree().await?.nodes(), &prices).total());

    let about = Query::default().filter(Filter::equals("stars", 5));
    println!("{} listed", manager.list(&about).await?.conversations.len());
    println!("{} counted", manager.count(&about).await?);
    println!("{} found", manager.search(&about.text("capital portug*")?).await?.hits.len());

    let resumed = manager.open(chat.id()).await?;
    resumed.goto(first.node).await?;
    let copy = resumed.fork().await?;
    println!("{} messages in a copy", copy.history().await?.len());
    manager.delete(chat.id()).await
}
