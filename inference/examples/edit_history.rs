//! Edits: a question is put otherwise, an answer is taken again, a branch is gone back to, and what each had to compute.

use std::sync::Arc;

use alloquy_core::{Chat, Conversation, Manager, Preface, Result, Turn, TurnReply, TurnRequest};
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
        let chat = manager.create(Preface::system("You are a patient gardener.")).await?;
        edit(&chat).await?;
        print!("{}", chat.draw().await?);
        Ok::<(), alloquy_core::Error>(())
    })?;
    rewind(Conversation::new(Arc::new(round), Preface::system("You are a patient gardener.")))
}

async fn edit(chat: &Chat) -> Result<()> {
    take("ask", chat.send("When do I sow beans?")).await?;
    let peas = take("go on", chat.send("And peas?")).await?;
    if let Some(question) = peas.answers() {
        take("edit the last question", chat.edit(question, "And leeks?")).await?;
    }
    take("answer it again", chat.regenerate(TurnRequest::default())).await?;
    chat.goto(peas.node).await?;
    take("switch back and go on", chat.send("How deep?")).await.map(drop)
}

async fn take(what: &str, turn: Turn) -> Result<TurnReply> {
    let reply = turn.finish().await?;
    if let Some(cache) = reply.reply.cache {
        println!("{what:26} {:>6} {:>6} {:>8}", cache.prompt, cache.reused, cache.forwarded);
    }
    Ok(reply)
}

/// The same without a tree: a place is given a name, and what was said since is forgotten.
fn rewind(mut conversation: Conversation) -> Result<()> {
    conversation.send_message("When do I sow beans?")?;
    conversation.checkpoint("beans");
    conversation.send_message("And peas?")?;
    conversation.rewind("beans")?;
    let reply = conversation.send_message("And leeks?")?;
    let (step, left) = (conversation.step(), conversation.remaining()?.unwrap_or_default());
    println!("rewound: {:?} after {step} messages, {left} units left", reply.text());
    Ok(())
}
