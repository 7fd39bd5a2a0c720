//! A tool that the model may ask for. A model that was not trained to ask for tools answers without.

mod model;

use std::time::{SystemTime, UNIX_EPOCH};

use alloquy_core::{
    Engine, Error, ErrorKind, Manager, Preface, Result, SamplingOptions, Tool, ToolSpec, TurnEvent,
};
use alloquy_inference::LanguageModel;
use alloquy_templates::JinjaTemplate;
use futures::StreamExt;
use serde_json::{Map, Value, json};

/// The least that tells a model of tools.
const TEMPLATE: &str = "\
{% if tools %}<|im_start|>system\nTools: {{ tools | tojson }}<|im_end|>\n{% endif %}\
{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}\
{% for call in message.tool_calls %}<tool_call>{{ call.function | tojson }}</tool_call>{% endfor %}<|im_end|>\n\
{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}";

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
    let engine = model::engine()?;
    let own = JinjaTemplate::of(engine.model())?;
    // A template that has no place for tools refuses them rather than drop them.
    let template = match own.capabilities().tools {
        true => own,
        false => JinjaTemplate::from_source(TEMPLATE, Map::new())?,
    };
    let processor = alloquy_processors::detect(engine.model()).processor;
    let short = SamplingOptions { max_tokens: Some(256), ..SamplingOptions::default() };
    let model = LanguageModel::builder(engine).template(template).processor(processor).build()?;
    let manager = Manager::builder(model).sampling(short);
    pollster::block_on(ask(&manager.tool(Clock).build()?))
}

async fn ask(manager: &Manager) -> Result<()> {
    let chat = manager.create(Preface::default()).await?;
    let mut turn = chat.send("What time is it?");
    while let Some(event) = turn.next().await {
        match event {
            TurnEvent::ToolResult(result) => println!("{} answers {}", result.name, result.text()),
            TurnEvent::Node(node) => println!("{}: {:?}", node.message.role, node.message.parts),
            _ => {}
        }
    }
    println!("{} model calls", turn.finish().await?.rounds);
    Ok(())
}
