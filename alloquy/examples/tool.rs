//! A tool that the model may ask for. A model that was not trained to ask for tools answers without.

mod model;

use std::time::{SystemTime, UNIX_EPOCH};

use alloquy::prelude::*;
use serde_json::{Value, json};

/// Tells the time.
#[derive(Debug)]
struct Clock;

#[async_trait::async_trait]
impl Tool for Clock {
    fn spec(&self) -> ToolSpec {
        let nothing = json!({"type": "object", "properties": {}});
        ToolSpec::new("clock", "Tells the time, in seconds since 1970", nothing)
    }

    async fn call(&self, _arguments: &Value) -> Result<Value> {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        let since =
            since.map_err(|error| Error::new(ErrorKind::Tool, "the clock is wrong").with_source(error))?;
        Ok(since.as_secs().into())
    }
}

fn main() -> Result<()> {
    let short = SamplingOptions { max_tokens: Some(256), ..SamplingOptions::default() };
    let manager = model::builder().sampling(short).build()?.manager();
    pollster::block_on(ask(&manager.tool(Clock).build()?))
}

async fn ask(manager: &Manager) -> Result<()> {
    let chat = manager.create(Preface::default()).await?;
    let mut turn = chat.send("What time is it?");
    while let Some(event) = turn.next().await {
        match event? {
            TurnEvent::ToolResult(result) => println!("{} answers {}", result.name, result.text()),
            TurnEvent::Node(node) => println!("{}: {:?}", node.message.role, node.message.parts),
            _ => {}
        }
    }
    println!("{} model calls", turn.finish().await?.model_calls);
    Ok(())
}
