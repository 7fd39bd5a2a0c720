//! A reply as it is written, stopped half-way, and what is kept of it.

use alloquy_core::{Delta, Manager, Preface, Result, TurnEvent};
use alloquy_testing::EchoModel;
use futures::StreamExt;

fn main() -> Result<()> {
    pollster::block_on(async {
        let manager = Manager::new(EchoModel);
        let chat = manager.create(Preface::default()).await?;
        let mut turn = chat.send("count with me: one two three four five six seven eight");
        while let Some(event) = turn.next().await {
            if let TurnEvent::Delta(Delta::Text(text)) = event {
                println!("{text:?}");
                // The reply so far is enough: end it and keep it. Dropping the turn would throw it away.
                if text.starts_with("three") {
                    turn.stop();
                }
            }
        }
        let reply = turn.finish().await?;
        println!("kept {:?} ({:?})", reply.text(), reply.reply.finish);
        Ok(())
    })
}
