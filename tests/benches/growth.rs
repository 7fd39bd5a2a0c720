//! What a turn costs behind few and behind many messages: processor time, and memory of the process that takes it.
//!
//! `cargo bench -p alloquy-tests --bench growth` prints Markdown tables; `cargo bench -p alloquy-tests --bench growth -- --soak 2000` holds a
//! conversation of so many turns with the model within the program, shifted, and prints the memory on the way. Template,
//! processor and tokenizer are those of the model within the program; the model itself is a stand-in that computes nothing and
//! has as much context as the policy `error` needs, so that what is measured is what a turn costs beside the model. Each row is
//! a process of its own. Processor time and memory are as Linux counts them; elsewhere they are not known.
//!
//! `ALLOQUY_BENCH_MESSAGES` leaves out conversations that are longer, and `ALLOQUY_BENCH_STORES` stores whose name does not
//! begin so.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    missing_docs
)] // a benchmark may panic, and prints

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use alloquy_context::{DropPolicy, HistoryDrop, HistoryShift, HistorySummary, ShiftPolicy, SummaryPolicy};
use alloquy_core::manager::ManagerBuilder;
use alloquy_core::model_info::ModelInfo;
use alloquy_core::prompt::PromptUnit;
use alloquy_core::store::{ConversationRecord, ConversationStore, MemoryStore};
use alloquy_core::tokenizer::{TokenId, Tokenizer, TokenizerInput};
use alloquy_core::{
    ConversationManager, Error, Manager, Message, Node, NodeId, Owner, Preface, Query, Result,
    SamplingOptions,
};
use alloquy_engine::{CancelToken, Engine, Session};
use alloquy_inference::{Generator, GeneratorOptions, LanguageModel};
use alloquy_onnx::OnnxEngine;
use alloquy_storage::{FileStore, SqliteStore};
use pollster::block_on;

const SIZES: [usize; 4] = [10, 100, 1_000, 10_000];
const POLICIES: [&str; 4] = ["error", "drop", "shift", "summarise"];
const STORES: [&str; 3] = ["memory", "file", "sqlite"];

/// In the place of a policy: the conversation is made, and nothing is measured.
const GROW: &str = "grow";

/// How many units fit where a policy keeps fewer than all.
const WINDOW: usize = 2048;

/// Room for every conversation that is measured.
const CONTEXT: usize = 2_000_000;

/// Turns behind the first whose mean is taken: a shift among them counts as often as it comes.
const TURNS: usize = 64;

const ANSWER: &str = "The tide comes in twice a day, and the ferry leaves an hour after it turns.";

/// Says the answer whatever it is asked, and computes nothing.
#[derive(Debug)]
struct Still {
    model: ModelInfo,
    engine: OnnxEngine,
    answer: Vec<TokenId>,
}

#[derive(Clone)]
struct StillSession {
    held: Vec<PromptUnit>,
    said: usize,
    answer: Vec<TokenId>,
    logits: Vec<f32>,
    end: usize,
}

impl Still {
    fn new(context: usize) -> Result<Self> {
        let engine = OnnxEngine::of_files(alloquy_pocket::files()).load()?;
        let mut model = engine.model().clone();
        model.context_length = context;
        let answer = engine.tokenizer().encode(&[TokenizerInput::Literal(ANSWER)])?;
        Ok(Self { model, engine, answer })
    }
}

impl Engine for Still {
    fn model(&self) -> &ModelInfo {
        &self.model
    }

    fn tokenizer(&self) -> &dyn Tokenizer {
        self.engine.tokenizer()
    }

    fn prefill_chunk(&self) -> usize {
        4096
    }

    fn open(&self) -> Result<Box<dyn Session>> {
        Ok(Box::new(StillSession {
            held: Vec::new(),
            said: 0,
            answer: self.answer.clone(),
            logits: vec![0.0; self.model.vocabulary],
            end: self.model.stop_tokens[0] as usize,
        }))
    }
}

impl Session for StillSession {
    fn length(&self) -> usize {
        self.held.len()
    }

    fn forward(&mut self, units: &[PromptUnit], cancel: &CancelToken) -> Result<&mut [f32]> {
        cancel.check()?;
        let goes_on = matches!(units, [PromptUnit::Token(token)] if self.said > 0 && self.answer.get(self.said - 1) == Some(token));
        self.said = if goes_on { self.said + 1 } else { 1 };
        self.held.extend_from_slice(units);
        self.logits.fill(0.0);
        let next = self.answer.get(self.said - 1).map_or(self.end, |token| *token as usize);
        self.logits[next] = 10.0;
        Ok(&mut self.logits)
    }

    fn logits(&mut self) -> &mut [f32] {
        &mut self.logits
    }

    fn truncate(&mut self, length: usize) -> Result<usize> {
        self.held.truncate(length);
        Ok(self.held.len())
    }

    fn fork(&self) -> Result<Box<dyn Session>> {
        Ok(Box::new(self.clone()))
    }
}

fn round(engine: Still) -> Result<LanguageModel> {
    let engine = Arc::new(engine);
    let template = alloquy_templates::detect(engine.model())?.template;
    let processor = alloquy_processors::detect(engine.model()).processor;
    let generator = Generator::new(engine, GeneratorOptions::default())?;
    LanguageModel::builder(generator).template(template).processor(processor).build()
}

fn with_policy(name: &str, builder: ManagerBuilder, round: &LanguageModel) -> Result<ManagerBuilder> {
    let length = round.clone();
    Ok(match name {
        "drop" => builder.middleware(HistoryDrop::new(length, DropPolicy::new(WINDOW))?),
        "shift" => builder.middleware(HistoryShift::new(length, ShiftPolicy::new(WINDOW))?),
        "summarise" => {
            let model = Arc::new(round.clone());
            builder.middleware(HistorySummary::new(length, model, SummaryPolicy::new(WINDOW))?)
        }
        _ => builder,
    })
}

/// Opens a store by its name.
async fn store(name: &str, folder: &Path) -> Result<Arc<dyn ConversationStore>> {
    Ok(match name {
        "file" => Arc::new(FileStore::open(folder.join("files")).await?),
        "sqlite" => Arc::new(SqliteStore::open(folder.join("chats.db")).await?),
        _ => Arc::new(MemoryStore::default()),
    })
}

/// Stores a conversation of so many messages, as this model would have held it.
async fn grow(store: &dyn ConversationStore, engine: &Still, messages: usize) -> Result<()> {
    let owner = Owner::local();
    let id = "long".parse()?;
    let record = ConversationRecord::new(id, Preface::system("Answer briefly."));
    store.create(&owner, &record).await?;
    let mut tip: Option<NodeId> = None;
    let mut nodes = Vec::new();
    for number in 0..messages {
        let node = match number % 2 {
            0 => Node::new(tip, Message::user(question(number))),
            _ => {
                let mut node = Node::new(tip, Message::assistant(ANSWER));
                node.tokens = engine.answer.clone();
                node
            }
        };
        tip = Some(node.id);
        nodes.push(node);
        if nodes.len() == 500 {
            store.append(&owner, &record.id, &nodes).await?;
            nodes.clear();
        }
    }
    store.append(&owner, &record.id, &nodes).await?;
    store.set_head(&owner, &record.id, None, tip).await
}

fn question(number: usize) -> String {
    format!("Question {number}: when does the tide come in today, and when does the ferry leave after that?")
}

/// One row: a conversation in one store under one policy, in this process.
async fn measure(policy: &str, kept: &str, messages: usize, folder: &Path) -> Result<()> {
    let context = if policy == "error" { CONTEXT } else { WINDOW };
    let engine = Still::new(context)?;
    let kept = store(kept, folder).await?;
    if kept.count(&Owner::local(), &Query::default()).await? == 0 {
        grow(&*kept, &engine, messages).await?;
    }
    if policy == GROW {
        return Ok(());
    }
    let round = round(engine)?;
    let manager = with_policy(policy, Manager::builder(round.clone()).store(kept), &round)?.build()?;
    let chat = manager.open(&"long".parse()?).await?;
    let before = processor();
    let mut number = messages;
    chat.send(question(number)).finish().await?;
    let first = processor() - before;
    let before = processor();
    for _ in 0..TURNS {
        number += 2;
        chat.send(question(number)).finish().await?;
    }
    let each = (processor() - before) / TURNS as u32;
    println!("{} {} {}", first.as_micros(), each.as_micros(), resident().0);
    Ok(())
}

/// A chat with the model within the program that is shifted again and again.
async fn soak(turns: usize) -> Result<()> {
    let engine = Arc::new(OnnxEngine::of_files(alloquy_pocket::files()).load()?);
    let template = alloquy_templates::detect(engine.model())?.template;
    let processor = alloquy_processors::detect(engine.model()).processor;
    let generator = Generator::new(engine, GeneratorOptions::default())?;
    let round = LanguageModel::builder(generator).template(template).processor(processor).build()?;
    let shift = HistoryShift::new(round.clone(), ShiftPolicy::new(round.model().context_length))?;
    let folder = tempfile::tempdir().unwrap();
    let kept = store("sqlite", folder.path()).await?;
    let sampling = SamplingOptions { max_tokens: Some(24), ..SamplingOptions::default() };
    let manager = Manager::builder(round.clone()).store(kept).sampling(sampling).middleware(shift).build()?;
    let chat = manager.create(Preface::default()).await?;
    println!("| turns | memory | at most | caches | in caches |\n|---:|---:|---:|---:|---:|");
    for number in 1..=turns {
        chat.send(question(number)).finish().await?;
        if number == 1 || number % (turns / 10).max(1) == 0 {
            let (now, most) = resident();
            let caches = round.cache_statistics().await?;
            let sessions = caches.sessions;
            let bytes = caches.bytes >> 20;
            println!("| {number} | {now} MB | {most} MB | {sessions} | {bytes} MB |");
        }
    }
    Ok(())
}

/// What all threads of this process have used.
fn processor() -> Duration {
    let Ok(tasks) = std::fs::read_dir("/proc/self/task") else { return Duration::ZERO };
    let spent = |task: std::fs::DirEntry| {
        let counts = std::fs::read_to_string(task.path().join("schedstat")).ok()?;
        counts.split(' ').next()?.parse().ok().map(Duration::from_nanos)
    };
    tasks.flatten().filter_map(spent).sum()
}

/// The memory of this process in MB, now and at most.
fn resident() -> (u64, u64) {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let of = |name: &str| -> Option<u64> {
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        line.trim().strip_suffix(" kB")?.trim().parse().ok()
    };
    (of("VmRSS:").unwrap_or_default() / 1024, of("VmHWM:").unwrap_or_default() / 1024)
}

/// Runs a row in a process of its own; one that did not make the conversation has less memory, and knows nothing of it.
fn row(policy: &str, kept: &str, messages: usize) -> [u64; 3] {
    let folder = tempfile::tempdir().unwrap();
    let run = |policy: &str| {
        let program = std::env::current_exe().unwrap();
        let row = [policy, kept, &messages.to_string(), folder.path().to_str().unwrap()];
        let ran = Command::new(program).arg("--row").args(row).output().unwrap();
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
        String::from_utf8_lossy(&ran.stdout).into_owned()
    };
    if kept != "memory" {
        run(GROW);
    }
    let numbers: Vec<u64> = run(policy).split_whitespace().map(|number| number.parse().unwrap()).collect();
    numbers.try_into().unwrap()
}

fn print_tables() {
    let most = std::env::var("ALLOQUY_BENCH_MESSAGES").map_or(usize::MAX, |most| most.parse().unwrap());
    let beginning = std::env::var("ALLOQUY_BENCH_STORES").unwrap_or_default();
    let sizes: Vec<_> = SIZES.into_iter().filter(|size| *size <= most).collect();
    println!("| policy | store | messages | first turn of a process | each turn after | memory |");
    println!("|---|---|---:|---:|---:|---:|");
    for policy in POLICIES {
        for kept in STORES.into_iter().filter(|kept| kept.starts_with(&beginning)) {
            for size in &sizes {
                let [first, each, memory] = row(policy, kept, *size);
                let milliseconds = |micros: u64| format!("{:.2} ms", micros as f64 / 1e3);
                let first = milliseconds(first);
                let each = milliseconds(each);
                println!("| {policy} | {kept} | {size} | {first} | {each} | {memory} MB |");
            }
        }
    }
}

fn main() -> Result<()> {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
    match arguments.as_slice() {
        ["--row", policy, kept, messages, folder] => {
            let messages = messages.parse().map_err(|_| wrong(messages))?;
            block_on(measure(policy, kept, messages, Path::new(folder)))
        }
        ["--soak", turns, ..] => block_on(soak(turns.parse().map_err(|_| wrong(turns))?)),
        // `cargo test --benches` runs this too, and asks for nothing.
        other if other.contains(&"--bench") => {
            print_tables();
            Ok(())
        }
        _ => Ok(()),
    }
}

fn wrong(number: &str) -> Error {
    Error::new(alloquy_core::ErrorKind::Invalid, format!("{number:?} is no number"))
}
