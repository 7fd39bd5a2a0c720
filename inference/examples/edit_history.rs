//! Edits: a question is put otherwise, an answer is taken again, a branch is gone back to, and what each had to compute.

use std::sync::Arc;

use alloquy_core::{Conversation, Manager, Preface, Result, Turn, TurnReply, TurnRequest};
use alloquy_inference::{Generator, GeneratorOptions, LanguageModel};
use alloquy_testing::{ScriptedEngine, TaggedProcessor, TaggedTemplate};

const SCRIPT: [(&str, &str); 4] = [
    ("<user>When do I sow beans?<end><assistant>", "In May, when the soil is warm."),
    ("<user>And peas?<end><assistant>", "In March; they bear a frost."),
    ("<user>And leeks?<end><assistant>", "In April, under glass."),
    ("<user>How deep?<end><assistant>", "Five centimetres."),
];

fn main() -> Result<()> {
    let engine = Arc::new(ScriptedEngine::new(SCRIPT));
    let generator = Generator::new(engine, GeneratorOptions::default())?;
    let round =
        LanguageModel::builder(generator).template(TaggedTemplate).processor(TaggedProcessor).build()?;
    let manager = Manager::new(round.clone());
    println!("{:26} {:>6} {:>6} {:>8}", "what", "prompt", "reused", "computed");
    pollster::block_on(async {
        let conversation = manager.create(Preface::system("You are a patient gardener.")).await?;
        edit(&conversation).await?;
        print!("{}", conversation.draw().await?);
        Ok::<(), alloquy_core::Error>(())
    })?;
    pollster::block_on(rewind(&Conversation::with_preface(
        round,
        Preface::system("You are a patient gardener."),
    )))
}

async fn edit(conversation: &Conversation) -> Result<()> {
    take("ask", conversation.send("When do I sow beans?")).await?;
    let peas = take("go on", conversation.send("And peas?")).await?;
    if let Some(question) = peas.answers() {
        take("edit the last question", conversation.edit(question, "And leeks?")).await?;
    }
    take("answer it again", conversation.regenerate(TurnRequest::default())).await?;
    conversation.goto(peas.node).await?;
    take("switch back and go on", conversation.send("How deep?")).await.map(drop)
}

async fn take(what: &str, turn: Turn) -> Result<TurnReply> {
    let reply = turn.finish().await?;
    if let Some(cache) = reply.reply.cache {
        println!("{what:26} {:>6} {:>6} {:>8}", cache.prompt, cache.cached, cache.computed);
    }
    Ok(reply)
}

/// A checkpoint is marked, and gone back to.
async fn rewind(conversation: &Conversation) -> Result<()> {
    conversation.send("When do I sow beans?").await?;
    conversation.checkpoint("beans").await?;
    conversation.send("And peas?").await?;
    conversation.rewind("beans").await?;
    let reply = conversation.send("And leeks?").await?;
    let messages = conversation.history().await?.len();
    let left = conversation.remaining().await?.unwrap_or_default();
    println!("rewound: {:?} after {messages} messages, {left} positions left", reply.text());
    Ok(())
}
