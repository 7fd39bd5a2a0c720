//! A tree: another answer, an edited question, the way back, and what of it the model had to compute.

mod model;

use alloquy::core::Turn;
use alloquy::prelude::*;

fn main() -> Result<()> {
    let varied = SamplingOptions {
        temperature: Some(0.8),
        seed: Some(7),
        max_tokens: Some(12),
        ..SamplingOptions::default()
    };
    let model = model::builder().sampling(varied).build()?;
    let chat = model.conversation_with(Preface::system("You are a patient gardener."));
    pollster::block_on(async {
        branch(&chat).await?;
        print!("{}", chat.draw().await?);
        Ok(())
    })
}

async fn branch(chat: &Conversation) -> Result<()> {
    take("ask", chat.send("When do I sow beans?")).await?;
    let peas = take("go on", chat.send("And peas?")).await?;
    let again = SamplingOptions { seed: Some(8), ..SamplingOptions::default() };
    take("another answer", chat.regenerate(TurnRequest::default().sampling(again))).await?;
    if let Some(question) = peas.answers() {
        take("ask something else instead", chat.edit(question, "And leeks?")).await?;
    }
    chat.goto(chat.resolve("0.0.0.0").await?).await?;
    take("go back to the first branch", chat.send("How deep?")).await.map(drop)
}

async fn take(what: &str, turn: Turn) -> Result<TurnReply> {
    let reply = turn.finish().await?;
    if let Some(cache) = reply.reply.cache {
        println!("{what}: of a prompt of {} only {} computed", cache.prompt, cache.computed);
    }
    Ok(reply)
}
