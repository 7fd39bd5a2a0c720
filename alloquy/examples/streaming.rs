//! An answer as it is written, stopped half-way; what was said is kept.

mod model;

use std::io::{Write, stdout};

use alloquy::core::Delta;
use alloquy::prelude::*;

/// The number of pieces that are enough of an answer.
const ENOUGH: usize = 12;

fn main() -> Result<()> {
    pollster::block_on(tell(&model::builder().build()?.conversation()))
}

async fn tell(chat: &Conversation) -> Result<()> {
    let mut turn = chat.send("Count from 1 to 9.");
    let mut pieces = 0;
    while let Some(event) = turn.next().await {
        if let TurnEvent::Delta(Delta::Text(text) | Delta::Thinking(text)) = event? {
            print(&text)?;
            pieces += 1;
        }
        // Dropping the turn would throw the answer away; stopping it keeps what was said.
        if pieces == ENOUGH {
            turn.cancel();
        }
    }
    let reply = turn.finish().await?;
    let kept = chat.history().await?.len();
    println!(
        "\n\n{:?} after {} tokens; {kept} messages are kept",
        reply.reply.finish, reply.reply.usage.generated
    );
    Ok(())
}

fn print(text: &str) -> Result<()> {
    let printed = write!(stdout(), "{text}").and_then(|()| stdout().flush());
    printed.map_err(|error| Error::new(ErrorKind::Cancelled, "nobody reads any more").with_source(error))
}
