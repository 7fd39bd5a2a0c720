//! An insurance claim: a person answers, a tool looks up the contract, a model assesses a document, another person approves a day
//! later in another process, an answer is corrected, and in the end every step is printed for an audit.
//!
//! Run it with `cargo run -p alloquy-flows --example claim`.

use std::sync::Arc;
use std::time::Duration;

use alloquy_core::store::MemoryStore;
use alloquy_core::{
    Conversation, ConversationId, ConversationManager, Manager, Preface, Result, Tool, ToolSpec,
};
use alloquy_flows::{Answer, Flow, FlowRunner, Progress, TracedStep};
use alloquy_testing::{ScriptedModel, ScriptedReply};
use serde_json::{Value, json};

/// The definition of the flow.
const CLAIM: &str = include_str!("claim.yaml");

/// Looks up contracts.
#[derive(Debug)]
struct Contract;

#[async_trait::async_trait]
impl Tool for Contract {
    fn spec(&self) -> ToolSpec {
        ToolSpec::new("contract", "Looks up the contract of a policy", json!({"type": "object"}))
    }

    async fn call(&self, arguments: &Value) -> Result<Value> {
        match arguments["policy"].as_str() {
            Some("P-1234") => Ok(json!({"object": "car", "covers": "glass and hail"})),
            _ => Ok("unknown".into()),
        }
    }
}

/// Pays. A real one would remember the key of the call, and pay once for each key.
#[derive(Debug)]
struct Pay;

#[async_trait::async_trait]
impl Tool for Pay {
    fn spec(&self) -> ToolSpec {
        ToolSpec::new("pay", "Pays an amount for a policy", json!({"type": "object"}))
    }

    async fn call(&self, arguments: &Value) -> Result<Value> {
        Ok(format!("paid {} for {}", arguments["amount"], arguments["policy"]).into())
    }
}

/// A process: a manager over the store that all of them share.
fn process(store: &Arc<MemoryStore>, replies: &[&str]) -> Result<Manager> {
    let replies: Vec<_> = replies.iter().map(|reply| ScriptedReply::text(*reply)).collect();
    Manager::builder(ScriptedModel::replying(replies)).store(Arc::clone(store) as _).build()
}

fn runner(conversation: &Conversation) -> Result<FlowRunner> {
    Ok(FlowRunner::new(Flow::from_yaml(CLAIM)?, conversation.clone()).tool(Contract).tool(Pay))
}

/// Takes the claim until it waits for an approval.
async fn take_claim(manager: &Manager) -> Result<ConversationId> {
    let conversation = manager.create(Preface::default()).await?;
    let runner = runner(&conversation)?;
    assert_eq!(runner.problems(), []);
    runner.run().await?;
    // No number: a digression explains where it is, and the question comes again.
    let asked_again = runner.resume(Answer::from("Where do I find it?").by("Ann")).await?;
    assert_eq!(asked_again.state(), "policy");
    runner.resume(Answer::from("P-1234").by("Ann")).await?;
    let document = "Repair shop Miller: the windscreen was hit by a stone. New glass: 1,200 euros.";
    runner.resume(Answer::from(document).by("Ann")).await?;
    let waiting = runner.resume(Answer::value(12_000).by("Ann")).await?;
    assert_eq!(waiting.state(), "approval");
    Ok(conversation.id().clone())
}

/// Corrects the amount: the claim continues on a branch from that answer.
async fn correct_amount(manager: &Manager, id: &ConversationId) -> Result<()> {
    let conversation = manager.open(id).await?;
    let steps = TracedStep::all(&conversation.history().await?)?;
    let wrong = steps.iter().find(|step| step.text == "12000");
    let node = wrong.map(|step| step.node).ok_or_else(|| {
        alloquy_core::Error::new(alloquy_core::ErrorKind::NotFound, "the wrong amount is not on the path")
    })?;
    let waiting = runner(&conversation)?.correct(node, Answer::value(1_200).by("Ann")).await?;
    assert_eq!(waiting.state(), "approval");
    Ok(())
}

/// Approves the claim a day later.
async fn approve(manager: &Manager, id: &ConversationId) -> Result<()> {
    let conversation = manager.open(id).await?;
    let runner = runner(&conversation)?;
    // Nothing is due after a day; after three days it would be.
    if let Some(position) = runner.position().await? {
        let day = Duration::from_secs(86_400);
        assert_eq!(runner.due(position.updated() + day).await?.len(), 0);
        assert_eq!(runner.due(position.updated() + 3 * day).await?.len(), 1);
    }
    let refused = runner.resume(Answer::value(true).by("Ann")).await;
    assert!(refused.is_err(), "the person who claims cannot approve");
    let paid = runner.resume(Answer::value(true).by("Bea")).await?;
    assert_eq!(paid, Progress::Ended { state: "paid".to_owned() });
    Ok(())
}

/// Prints the steps that count, and what was left on other branches.
async fn audit(manager: &Manager, id: &ConversationId) -> Result<String> {
    let conversation = manager.open(id).await?;
    let mut lines = Vec::new();
    for step in TracedStep::all(&conversation.history().await?)? {
        lines.push(step.to_string());
    }
    lines.push(format!("branches: {}", conversation.branches().await?.len()));
    Ok(lines.join("\n"))
}

async fn claim() -> Result<String> {
    let store = Arc::new(MemoryStore::default());
    let assessment = r#"{"covered": true, "why": "Glass is covered."}"#;
    let first = process(&store, &[assessment])?;
    let id = take_claim(&first).await?;
    drop(first);
    let second = process(&store, &[assessment])?;
    correct_amount(&second, &id).await?;
    drop(second);
    let third = process(&store, &[])?;
    approve(&third, &id).await?;
    audit(&third, &id).await
}

fn main() -> Result<()> {
    let audit = pollster::block_on(claim())?;
    println!("{audit}");
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    #[test]
    fn the_claim_is_paid_and_the_audit_has_every_step() {
        let audit = pollster::block_on(super::claim()).unwrap();
        for expected in [
            "policy: Where do I find it? [Ann]",
            "hint: The number is on the first page",
            "amount: 1200 [Ann]",
            "approval: true [Bea]",
            "payment: paid 1200 for \"P-1234\"",
            "paid: We pay 1200 euros.",
            "branches: 2",
        ] {
            assert!(audit.contains(expected), "{expected} is missing in\n{audit}");
        }
        assert!(!audit.contains("12000"), "{audit}");
    }
}
