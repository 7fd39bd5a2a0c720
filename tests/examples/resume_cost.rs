//! How long a stored conversation takes to its next word after a restart: its prompt computed, against what was computed
//! before put back. And how long without a restart, against a question with nothing before it.
//!
//! `cargo run --release -p alloquy-tests --example resume_cost -- [MODEL_FOLDER [TOKENS]]`; 2000 tokens unless told otherwise.

mod model;

use std::time::{Duration, Instant};

use alloquy_core::template::PromptEnd;
use alloquy_core::{
    ChatModel, ConversationId, Error, ErrorKind, Message, Owner, Preface, Reply, Request, Result,
    SamplingOptions,
};
use alloquy_engine::Engine;
use alloquy_inference::{Generator, GeneratorOptions, LanguageModel};
use alloquy_storage::SnapshotFolder;

/// How long the conversation is that is resumed.
const TOKENS: usize = 2000;

/// How much of the context is left for the next question and its answer.
const ROOM: usize = 128;

/// How many tokens of the answer are compared.
const COMPARED: usize = 16;

/// What is said in each message.
const SENTENCE: &str = "Every morning the ferry crosses the bay with letters, bread and whoever has business in town, \
                        and in the evening it brings back what was not sold and those who are tired.";

/// As long, and with nothing in common that was computed already.
const OTHER: &str = "Whoever has business in town crosses the bay with letters and bread on the ferry, every morning, \
                     and in the evening those who are tired are brought back with what was not sold.";

fn main() -> Result<()> {
    let asked = std::env::args().nth(2).and_then(|tokens| tokens.parse().ok());
    pollster::block_on(measure(asked.unwrap_or(TOKENS)))
}

async fn measure(tokens: usize) -> Result<()> {
    let snapshots = SnapshotFolder::new(std::env::temp_dir().join("alloquy-resume")).quota(u64::MAX);
    let owner = Owner::local();
    let id = ConversationId::new();
    let before = round()?;
    let path = write(&before, tokens, |snapshot| snapshots.write(&owner, &id, snapshot).map(drop)).await?;
    let next = first_token(&before, &path, OTHER).await?;
    let alone = first_token(&round()?, &[], OTHER).await?;
    report("to the first token of the next question, with all before it held", next);
    report("to the first token of that question alone", alone);
    println!("{:>9.2} times as long", next.as_secs_f64() / alone.as_secs_f64());
    // Computed anew, a prompt is cut into other chunks, and rounding alone may choose between two tokens that are as likely.
    let (_, wanted) = answer(&before, &path, Instant::now()).await?;
    drop(before);

    let cold = round()?;
    let (computed, _) = answer(&cold, &path, Instant::now()).await?;
    report("to the first token, computing the prompt", computed);
    drop(cold);

    let resumed = round()?;
    let started = Instant::now();
    let kept = snapshots.open(&owner, &id)?.ok_or_else(|| Error::new(ErrorKind::NotFound, "no snapshot"))?;
    let restored = resumed.restore(kept).await;
    restored.map_err(|refusal| Error::new(ErrorKind::Corrupt, refusal.to_string()))?;
    report("of it until all is put back", started.elapsed());
    let (sooner, got) = answer(&resumed, &path, started).await?;
    report("to the first token, resuming", sooner);
    println!("{:>9.1} times sooner", computed.as_secs_f64() / sooner.as_secs_f64());
    println!(
        "{:>9} the same tokens as without a restart",
        if got.tokens == wanted.tokens { "yes," } else { "no, not" }
    );
    snapshots.remove(&owner, &id).map(drop)
}

/// Computes a conversation and writes down what was computed.
async fn write(
    round: &LanguageModel,
    tokens: usize,
    keep: impl FnOnce(&alloquy_engine::decoder::Snapshot) -> Result<()>,
) -> Result<Vec<Message>> {
    let path = conversation(round, tokens)?;
    let closed = Request::new(Preface::default(), path.clone()).ending(PromptEnd::Closed);
    round.warm(closed.clone()).await?;
    let started = Instant::now();
    let snapshot = round.snapshot(&closed).await?;
    report("writing it down", started.elapsed());
    keep(&snapshot)?;
    report("writing it down, the file included", started.elapsed());
    let megabytes = snapshot.bytes().len() as f64 / 1e6;
    println!("{:>9} tokens in {megabytes:.1} MB", snapshot.units().len());
    Ok(path)
}

fn round() -> Result<LanguageModel> {
    let engine = model::engine()?;
    let template = alloquy_templates::detect(engine.model())?.template;
    let processor = alloquy_processors::detect(engine.model()).processor;
    let generator = Generator::new(engine, GeneratorOptions::default())?;
    LanguageModel::builder(generator).template(template).processor(processor).build()
}

/// Questions and answers that take so many tokens together, or as many as the context has room for.
fn conversation(round: &LanguageModel, tokens: usize) -> Result<Vec<Message>> {
    let tokens = tokens.min(round.model().context_length.saturating_sub(2 * ROOM));
    let mut path = Vec::new();
    loop {
        path.extend([Message::user(SENTENCE), Message::assistant(SENTENCE)]);
        let request = Request::new(Preface::default(), path.clone()).ending(PromptEnd::Closed);
        if round.prepare(&request)?.prompt.units.len() >= tokens {
            return Ok(path);
        }
    }
}

/// Asks something else, and says how long the first token took.
async fn first_token(round: &LanguageModel, path: &[Message], question: &str) -> Result<Duration> {
    let started = Instant::now();
    let path = path.iter().cloned().chain([Message::user(question)]).collect();
    let one = SamplingOptions { max_tokens: Some(1), ..SamplingOptions::default() };
    round.reply(Request::new(Preface::default(), path).sampling(one)).await?.finish().await?;
    Ok(started.elapsed())
}

/// Asks once more, and says how long the first token took and what the answer begins with.
async fn answer(round: &LanguageModel, path: &[Message], started: Instant) -> Result<(Duration, Reply)> {
    let path = path.iter().cloned().chain([Message::user("And then?")]).collect();
    let greedy = |tokens| SamplingOptions {
        temperature: Some(0.0),
        max_tokens: Some(tokens),
        ..SamplingOptions::default()
    };
    let request = Request::new(Preface::default(), path);
    round.reply(request.clone().sampling(greedy(1))).await?.finish().await?;
    let first = started.elapsed();
    let reply = round.reply(request.sampling(greedy(COMPARED))).await?.finish().await?;
    Ok((first, reply))
}

fn report(what: &str, took: Duration) {
    println!("{took:>9.2?} {what}");
}
