//! A model that asks for a tool: call, result and answer become nodes of the tree.

use alloquy_core::{Error, ErrorKind, Manager, Preface, Result, Tool, ToolSpec};
use alloquy_testing::ScriptedModel;
use serde_json::{Value, json};

#[derive(Debug)]
struct Sum;

#[async_trait::async_trait]
impl Tool for Sum {
    fn spec(&self) -> ToolSpec {
        let numbers = json!({"type": "array", "items": {"type": "integer"}});
        let parameters =
            json!({"type": "object", "properties": {"numbers": numbers}, "required": ["numbers"]});
        ToolSpec::new("sum", "Adds integers", parameters)
    }

    async fn call(&self, arguments: &Value) -> Result<Value> {
        let missing = || Error::new(ErrorKind::Tool, "\"numbers\" is not a list of integers");
        let numbers = arguments["numbers"].as_array().ok_or_else(missing)?;
        let sum = numbers.iter().map(Value::as_i64).sum::<Option<i64>>().ok_or_else(missing)?;
        Ok(sum.to_string().into())
    }
}

fn main() -> Result<()> {
    let model = ScriptedModel::new([
        ("<user>What is 19 + 23?<end><assistant>", "call:sum {\"numbers\":[19,23]}"),
        ("<tool>42<end><assistant>", "It is 42."),
    ]);
    pollster::block_on(async {
        let chat = Manager::builder(model).tool(Sum).build()?.create(Preface::default()).await?;
        let reply = chat.send("What is 19 + 23?").finish().await?;
        println!("{} ({} model calls)", reply.text(), reply.rounds);
        for node in chat.history().await? {
            println!(
                "{}: {}",
                node.message.role,
                serde_json::to_string(&node.message.parts).unwrap_or_default()
            );
        }
        Ok(())
    })
}
