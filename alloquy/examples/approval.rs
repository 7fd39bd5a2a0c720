//! A tool from a function, and a rule that decides which of its calls run, by who asks.

use std::sync::Arc;

use alloquy::core::message::ToolCall;
use alloquy::core::tool::{ApprovalDecision, ToolApproval, ToolContext, Toolbox, TypedTool};
use alloquy::core::turn::TurnData;
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

/// Who asks; the host hands it to each turn.
struct User {
    name: &'static str,
    limit: u64,
}

/// Allows what is within a user's limit.
#[derive(Debug)]
struct Limits;

#[async_trait::async_trait]
impl ToolApproval for Limits {
    async fn approve(&self, call: &ToolCall, _: &ToolSpec, context: &ToolContext) -> ApprovalDecision {
        let limit = context.turn_data.get::<User>().map_or(0, |user| user.limit);
        match call.arguments.get("cents").and_then(Value::as_u64) {
            Some(cents) if cents <= limit => ApprovalDecision::Allow,
            _ => ApprovalDecision::Refuse(format!("the limit is {limit} cents")),
        }
    }
}

fn main() -> Result<()> {
    let model = ScriptedModel::new([
        ("<user>Send 50 to Bob<end><assistant>", "call:transfer {\"to\":\"bob\",\"cents\":5000}"),
        ("<tool>ann sent 5000 to bob<end><assistant>", "Sent."),
        ("<tool>this call was refused: the limit is 1000 cents<end><assistant>", "I may not."),
    ]);
    let transfer =
        TypedTool::with_context("transfer", "Sends money", |transfer: Transfer, context| async move {
            let user = context.turn_data.get::<User>().map_or("nobody", |user| user.name);
            Ok(format!("{user} sent {} to {}", transfer.cents, transfer.to))
        });
    let toolbox = Toolbox::default().tool(transfer).approval(Arc::new(Limits));
    let manager = Manager::builder(model).toolbox(toolbox).build()?;
    let conversation = pollster::block_on(manager.create(Preface::default()))?;
    for user in [User { name: "ann", limit: 10_000 }, User { name: "eve", limit: 1_000 }] {
        let data = TurnData::default().with(user);
        let answer = conversation.ask(TurnRequest::from("Send 50 to Bob").turn_data(data))?;
        println!("{}", answer.text());
    }
    Ok(())
}
