//! The operations that `against_dataknobs.py` compares, in milliseconds and bytes, as one object of JSON.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, missing_docs)] // a benchmark may panic

#[allow(dead_code)] // each benchmark needs another part of it
mod spent;

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use alloquy_core::query::Filter;
use alloquy_core::store::{ConversationRecord, ConversationStore};
use alloquy_core::{ConversationId, Message, Node, NodeId, Owner, Preface, Query};
use alloquy_storage::{Durability, FileStore, MemoryStore, SqliteStore};
use pollster::block_on;
use serde_json::{Map, Value, json};

use self::spent::Spent;

// As `against_dataknobs.py` has them.
const TEXT: &str = "The quick brown fox jumps over the lazy dog while the day is long. ";
const SIZES: [usize; 3] = [10, 1_000, 5_000];
const BRANCH: usize = 20;
const TURNS: usize = 400;
const CONVERSATIONS: usize = 1_000;
const MESSAGES: usize = 10;
/// How often an operation is measured.
const TIMES: usize = 65;

type Store = Arc<dyn ConversationStore>;

fn open(name: &str, folder: &Path) -> Store {
    match name {
        "memory" => Arc::new(MemoryStore::default()),
        "sqlite" | "sqlite, no fsync" => {
            Arc::new(block_on(SqliteStore::open_with(folder.join("chats.db"), durability(name))).unwrap())
        }
        _ => Arc::new(block_on(FileStore::open_with(folder.join("chats"), durability(name))).unwrap()),
    }
}

fn durability(name: &str) -> Durability {
    if name.ends_with("no fsync") { Durability::Crash } else { Durability::PowerLoss }
}

fn text() -> String {
    TEXT.repeat(3)[..200].to_owned()
}

fn create(store: &Store, name: &str, metadata: &Value) -> ConversationId {
    let mut record = ConversationRecord::new(name.parse().unwrap(), Preface::system("Be brief."));
    record.metadata = metadata.as_object().cloned().unwrap_or_default();
    block_on(store.create(&Owner::local(), &record)).unwrap();
    record.id
}

/// A chain, or branches of [`BRANCH`] messages.
fn nodes(size: usize, shape: &str, text: &str) -> Vec<Node> {
    let mut nodes = Vec::with_capacity(size);
    let mut tip = None;
    for number in 0..size {
        tip = tip.filter(|_| shape == "chain" || number % BRANCH != 0);
        let node = Node::new(tip, Message::user(text));
        tip = Some(node.id);
        nodes.push(node);
    }
    nodes
}

/// A message below the head, and the head moved to it.
fn say(store: &Store, id: &ConversationId, head: &mut Option<NodeId>, message: Message) {
    let node = Node::new(*head, message);
    let next = Some(node.id);
    block_on(store.append(&Owner::local(), id, &[node])).unwrap();
    block_on(store.set_head(&Owner::local(), id, *head, next)).unwrap();
    *head = next;
}

/// The median in milliseconds.
fn median(mut work: impl FnMut()) -> f64 {
    let mut times: Vec<_> = (0..TIMES)
        .map(|_| {
            let start = Instant::now();
            work();
            start.elapsed()
        })
        .collect();
    times.sort_unstable();
    times[TIMES / 2].as_secs_f64() * 1e3
}

fn trees(name: &str, found: &mut Map<String, Value>) {
    for shape in ["chain", "bushy"] {
        for size in SIZES {
            let folder = tempfile::tempdir().unwrap();
            let store = open(name, folder.path());
            let id = create(&store, "tree", &Value::Null);
            let nodes = nodes(size, shape, &text());
            block_on(store.append(&Owner::local(), &id, &nodes)).unwrap();
            let mut head = nodes.last().map(|node| node.id);
            block_on(store.set_head(&Owner::local(), &id, None, head)).unwrap();
            let before = Spent::so_far();
            let took = median(|| say(&store, &id, &mut head, Message::user(text())));
            let bytes = (Spent::so_far().bytes - before.bytes) as f64 / TIMES as f64;
            found.insert(format!("a message, {shape} of {size}"), json!(took));
            found.insert(format!("bytes of a message, {shape} of {size}"), json!(bytes));
            if size == SIZES[2] {
                let took = median(|| drop(block_on(store.load(&Owner::local(), &id)).unwrap()));
                found.insert(format!("resume, {shape} of {size}"), json!(took));
            }
        }
    }
}

/// Time and bytes after each turn.
fn growing(name: &str) -> Value {
    let folder = tempfile::tempdir().unwrap();
    let store = open(name, folder.path());
    let id = create(&store, "chat", &Value::Null);
    let before = Spent::so_far().bytes;
    let start = Instant::now();
    let mut head = None;
    let turns = (0..TURNS).map(|_| {
        say(&store, &id, &mut head, Message::user(text()));
        say(&store, &id, &mut head, Message::assistant(text()));
        json!([start.elapsed().as_secs_f64() * 1e3, Spent::so_far().bytes - before])
    });
    turns.collect()
}

fn questions(name: &str, found: &mut Map<String, Value>) {
    let folder = tempfile::tempdir().unwrap();
    let store = open(name, folder.path());
    let owner = Owner::local();
    for number in 0..CONVERSATIONS {
        let id = create(&store, &format!("chat-{number}"), &json!({"user": format!("user-{}", number % 50)}));
        let text = if number % 100 == 0 { text() + " needle" } else { text() };
        block_on(store.append(&owner, &id, &nodes(MESSAGES, "chain", &text))).unwrap();
    }
    let needle = Query::default().text("needle").unwrap().limit(10);
    let mine = Query::default().filter(Filter::equals("user", "user-3")).limit(100);
    let id = "chat-500".parse().unwrap();
    assert_eq!(block_on(store.list(&owner, &needle)).unwrap().conversations.len(), 10);
    assert_eq!(block_on(store.list(&owner, &mine)).unwrap().conversations.len(), 20);
    let mut measure = |what: &str, work: &dyn Fn()| found.insert(what.to_owned(), json!(median(work)));
    measure("search for a word", &|| drop(block_on(store.search(&owner, &needle)).unwrap()));
    measure("load one of 1000", &|| drop(block_on(store.load(&owner, &id)).unwrap()));
    measure("list one user's", &|| drop(block_on(store.list(&owner, &mine)).unwrap()));
}

fn main() {
    // `cargo test --benches` runs this too, and asks for nothing.
    if std::env::args().any(|argument| argument == "--bench") {
        let mut all = Map::new();
        for name in ["memory", "sqlite", "sqlite, no fsync", "file", "file, no fsync"] {
            let mut found = Map::new();
            trees(name, &mut found);
            questions(name, &mut found);
            found.insert("turns".to_owned(), growing(name));
            all.insert(name.to_owned(), found.into());
        }
        println!("{}", Value::from(all));
    }
}
