//! An answer as it is written, stopped half-way; what was said is kept.

mod model;

use alloquy_core::{Delta, Engine, Error, ErrorKind, Manager, Preface, Result, TurnEvent};
use alloquy_inference::LanguageModel;
use futures::StreamExt;
use std::io::{Write, stdout};

/// After how many pieces the answer is long enough.
const ENOUGH: usize = 12;

fn main() -> Result<()> {
    let engine = model::engine()?;
    let template = alloquy_templates::detect(engine.model())?.template;
    let processor = alloquy_processors::detect(engine.model()).processor;
    let model = LanguageModel::builder(engine).template(template).processor(processor).build()?;
    let manager = Manager::new(model);
    pollster::block_on(tell(&manager))
}

async fn tell(manager: &Manager) -> Result<()> {
    let chat = manager.create(Preface::default()).await?;
    let mut turn = chat.send("Count from 1 to 9.");
    let mut pieces = 0;
    while let Some(event) = turn.next().await {
        if let TurnEvent::Delta(Delta::Text(text) | Delta::Thinking(text)) = event {
            print(&text)?;
            pieces += 1;
        }
        // Dropping the turn would throw the answer away; stopping it keeps what was said.
        if pieces == ENOUGH {
            turn.stop();
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
