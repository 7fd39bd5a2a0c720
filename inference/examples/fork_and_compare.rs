//! A fork: two answers to one question, in two copies of a conversation, and what of the common part was computed twice.

use std::sync::Arc;

use alloquy_core::{Conversation, Manager, Preface, Result, TurnReply, TurnRequest};
use alloquy_inference::{Generator, GeneratorOptions, LanguageModel};
use alloquy_testing::{ScriptedEngine, TaggedProcessor, TaggedTemplate};

const SCRIPT: [(&str, &str); 4] = [
    ("<user>When do I sow beans?<end><assistant>", "In May, when the soil is warm."),
    ("<user>And peas?<end><assistant>", "In March; they bear a frost."),
    ("<user>How deep?<end><assistant>", "Five centimetres."),
    ("<user>In pots?<end><assistant>", "Yes, in deep ones."),
];

fn main() -> Result<()> {
    let engine = Arc::new(ScriptedEngine::new(SCRIPT));
    let generator = Generator::new(engine, GeneratorOptions::default())?;
    let round =
        LanguageModel::builder(generator).template(TaggedTemplate).processor(TaggedProcessor).build()?;
    let manager = Manager::new(round);
    pollster::block_on(async {
        let conversation = manager.create(Preface::system("You are a patient gardener.")).await?;
        println!("{:22} {:>6} {:>6} {:>8}", "turn", "prompt", "reused", "computed");
        row("beans", &say(&conversation, "When do I sow beans?").await?);
        row("peas", &say(&conversation, "And peas?").await?);
        let copy = conversation.fork().await?;
        row("original: how deep", &say(&conversation, "How deep?").await?);
        row("copy: in pots", &say(&copy, "In pots?").await?);
        row("original again", &say(&conversation, "And peas?").await?);
        compare(&conversation, &copy).await
    })
}

async fn say(conversation: &Conversation, text: &str) -> Result<TurnReply> {
    conversation.send(TurnRequest::from(text)).finish().await
}

fn row(what: &str, turn: &TurnReply) {
    if let Some(cache) = turn.reply.cache {
        println!("{what:22} {:>6} {:>6} {:>8}", cache.prompt, cache.cached, cache.computed);
    }
}

/// What the copy said comes back as a branch, so that the two stand side by side.
async fn compare(conversation: &Conversation, copy: &Conversation) -> Result<()> {
    let here = conversation.head().await?;
    let there = copy.head().await?;
    conversation.merge(copy).await?;
    if let (Some(here), Some(there)) = (here, there) {
        let diff = conversation.diff(here, there).await?;
        println!(
            "{} messages in common, then {} or {}",
            diff.common.len(),
            diff.left.len(),
            diff.right.len()
        );
    }
    print!("{}", conversation.draw().await?);
    Ok(())
}
