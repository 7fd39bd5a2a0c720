//! A tool from a function, and a rule that decides which of its calls run.

use std::sync::Arc;

use alloquy::core::{Approval, ToolCall, Toolbox, TypedTool, Verdict};
use alloquy::prelude::*;
use alloquy_testing::ScriptedModel;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

#[derive(Deserialize, JsonSchema)]
struct Transfer {
    /// The account to send to.
    to: String,
    /// The amount in cents.
    cents: u64,
}

/// Lets small amounts go.
#[derive(Debug)]
struct Limit;

#[async_trait::async_trait]
impl Approval for Limit {
    async fn approve(&self, call: &ToolCall, _: &ToolSpec) -> Verdict {
        match call.arguments.get("cents").and_then(Value::as_u64) {
            Some(..=1000) => Verdict::Allow,
            _ => Verdict::Refuse("more than 10 euros needs a person".to_owned()),
        }
    }
}

fn main() -> Result<()> {
    let model = ScriptedModel::new([
        ("<user>Send 5 to Bob<end><assistant>", "call:transfer {\"to\":\"bob\",\"cents\":500}"),
        ("<tool>sent 500 to bob<end><assistant>", "Sent."),
        ("<user>Send 50 to Eve<end><assistant>", "call:transfer {\"to\":\"eve\",\"cents\":5000}"),
        ("<tool>this call was refused: more than 10 euros needs a person<end><assistant>", "I may not."),
    ]);
    let transfer = TypedTool::new("transfer", "Sends money", |transfer: Transfer| async move {
        Ok(format!("sent {} to {}", transfer.cents, transfer.to))
    });
    let toolbox = Toolbox::default().tool(transfer).approval(Arc::new(Limit));
    let manager = Manager::builder(model).toolbox(toolbox).build()?;
    let chat = pollster::block_on(manager.create(Preface::default()))?;
    for text in ["Send 5 to Bob", "Send 50 to Eve"] {
        println!("{}", chat.ask(text)?.text());
    }
    Ok(())
}
