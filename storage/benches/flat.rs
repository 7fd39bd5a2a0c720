//! What a message costs in small and in large conversations: time and bytes written.
//!
//! `cargo bench -p alloquy-storage --bench flat` prints Markdown tables. Bytes are those of `write` calls, as Linux counts
//! them for a process; elsewhere they are not known. `ALLOQUY_BENCH_NODES` leaves out trees that are larger.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, missing_docs)] // a benchmark may panic

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use alloquy_core::{
    ConversationId, ConversationRecord, ConversationStore, Message, Node, NodeId, Owner, Preface,
};
use alloquy_storage::{Durability, FileStore, MemoryStore, SqliteStore};
use pollster::block_on;

const SIZES: [usize; 4] = [10, 1_000, 10_000, 100_000];
/// Appends that are measured in each tree; the median counts.
const APPENDS: usize = 101;
/// Nodes that are appended in one call to make a tree.
const BATCH: usize = 500;
/// How deep a bushy tree is: each node of its trunk has many children.
const TRUNK: usize = 20;
/// What a message says: 200 bytes, as in the measurements of dataknobs that these are compared with.
const TEXT: &str = "The quick brown fox jumps over the lazy dog, and the dog, who has seen many a fox in its time, \
    neither turns its head nor opens an eye, for the sun is warm, the grass is soft and the day is still young.";

#[derive(Clone, Copy, Debug)]
enum Place {
    Memory,
    Files,
    Sqlite(Durability),
}

const PLACES: [(&str, Place); 4] = [
    ("memory", Place::Memory),
    ("file", Place::Files),
    ("sqlite", Place::Sqlite(Durability::PowerLoss)),
    ("sqlite, no fsync", Place::Sqlite(Durability::Crash)),
];

impl Place {
    fn open(self, folder: &Path) -> Arc<dyn ConversationStore> {
        block_on(async {
            match self {
                Self::Memory => Arc::new(MemoryStore::default()) as Arc<dyn ConversationStore>,
                Self::Files => Arc::new(FileStore::open(folder.join("files")).await.unwrap()),
                Self::Sqlite(durability) => {
                    Arc::new(SqliteStore::open_with(folder.join("chats.db"), durability).await.unwrap())
                }
            }
        })
    }
}

/// A conversation in a store of its own.
struct Bench {
    store: Arc<dyn ConversationStore>,
    owner: Owner,
    id: ConversationId,
    head: Option<NodeId>,
}

impl Bench {
    fn new(store: Arc<dyn ConversationStore>) -> Self {
        let (owner, id): (_, ConversationId) = (Owner::local(), "bench".parse().unwrap());
        block_on(store.create(&owner, &ConversationRecord::new(id.clone(), Preface::default()))).unwrap();
        Self { store, owner, id, head: None }
    }

    /// Appends nodes, each below the one that `parent` chooses by its number.
    fn grow(&self, count: usize, mut parent: impl FnMut(usize, &[NodeId]) -> Option<NodeId>) -> Vec<NodeId> {
        let mut ids = Vec::with_capacity(count);
        while ids.len() < count {
            let mut nodes = Vec::with_capacity(BATCH);
            while nodes.len() < BATCH && ids.len() < count {
                let node = Node::new(parent(ids.len(), &ids), Message::user(TEXT));
                ids.push(node.id);
                nodes.push(node);
            }
            block_on(self.store.append(&self.owner, &self.id, &nodes)).unwrap();
        }
        ids
    }

    /// One message: a node, and the head moved to it.
    fn say(&mut self, parent: Option<NodeId>) -> NodeId {
        let node = Node::new(parent, Message::user(TEXT));
        let id = node.id;
        block_on(async {
            self.store.append(&self.owner, &self.id, &[node]).await.unwrap();
            self.store.set_head(&self.owner, &self.id, self.head, Some(id)).await.unwrap();
        });
        self.head = Some(id);
        id
    }
}

#[derive(Clone, Copy, Debug)]
enum Shape {
    Chain,
    /// A trunk with children all along it.
    Bushy {
        trunk: usize,
    },
}

impl Shape {
    /// Where a tree's node of this number stands, and the next message when there are so many.
    fn parent(self, number: usize, ids: &[NodeId]) -> Option<NodeId> {
        match self {
            Self::Bushy { trunk } if number >= trunk => Some(ids[number % trunk]),
            Self::Chain | Self::Bushy { .. } => ids.last().copied(),
        }
    }
}

/// The time of the median append, and the bytes written for an append on average.
fn appends(place: Place, shape: Shape, size: usize) -> (Duration, Option<u64>) {
    let folder = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(place.open(folder.path()));
    let mut ids = bench.grow(size, |number, ids| shape.parent(number, ids));
    // The first one moves the head across the tree.
    let mut say = |number: usize| ids.push(bench.say(shape.parent(number, &ids)));
    say(size);
    let (mut times, before) = (Vec::with_capacity(APPENDS), written());
    for number in 0..APPENDS {
        let start = Instant::now();
        say(size + 1 + number);
        times.push(start.elapsed());
    }
    let bytes = written().zip(before).map(|(after, before)| (after - before) / APPENDS as u64);
    times.sort_unstable();
    (times[times.len() / 2], bytes)
}

/// The bytes that this process has handed to `write` so far.
fn written() -> Option<u64> {
    let counts = std::fs::read_to_string("/proc/self/io").ok()?;
    counts.lines().find_map(|line| line.strip_prefix("wchar: "))?.parse().ok()
}

fn milliseconds(time: Duration) -> String {
    format!("{:.3} ms", time.as_secs_f64() * 1e3)
}

fn bytes(count: Option<u64>) -> String {
    count.map_or_else(|| "unknown".to_owned(), |count| format!("{count} B"))
}

fn print_appends() {
    let most = std::env::var("ALLOQUY_BENCH_NODES").map_or(usize::MAX, |most| most.parse().unwrap());
    println!("| store | tree | nodes | a message | written |\n|---|---|---|---|---|");
    for (name, place) in PLACES {
        for (shape_name, shape) in [("chain", Shape::Chain), ("bushy", Shape::Bushy { trunk: TRUNK })] {
            for size in SIZES.into_iter().filter(|size| *size <= most) {
                let (time, count) = appends(place, shape, size);
                println!("| {name} | {shape_name} | {size} | {} | {} |", milliseconds(time), bytes(count));
            }
        }
    }
}

fn print_lives() {
    println!("\n| store | 400 turns | written | on disk | reopen 5000 nodes | append there |");
    println!("|---|---|---|---|---|---|");
    for (name, place) in PLACES.into_iter().skip(1) {
        let folder = tempfile::tempdir().unwrap();
        let mut bench = Bench::new(place.open(folder.path()));
        let (start, before, mut tip) = (Instant::now(), written(), None);
        for _ in 0..800 {
            tip = Some(bench.say(tip));
        }
        let (chat, wrote) = (start.elapsed(), written().zip(before).map(|(after, before)| after - before));
        let size = size_of(folder.path());
        bench.grow(4_200, |number, ids| if number == 0 { tip } else { ids.last().copied() });
        drop(bench);
        let start = Instant::now();
        let store = place.open(folder.path());
        let (_, tree) = block_on(store.load(&Owner::local(), &"bench".parse().unwrap())).unwrap();
        let reopened = start.elapsed();
        assert_eq!(tree.len(), 5_000);
        let (append, _) = appends(place, Shape::Chain, 5_000);
        let (chat, reopened, append) = (milliseconds(chat), milliseconds(reopened), milliseconds(append));
        println!("| {name} | {chat} | {} | {size} B | {reopened} | {append} |", bytes(wrote));
    }
}

fn size_of(folder: &Path) -> u64 {
    let entries = std::fs::read_dir(folder).unwrap().map(Result::unwrap);
    let size = |entry: std::fs::DirEntry| match entry.metadata().unwrap() {
        found if found.is_dir() => size_of(&entry.path()),
        found => found.len(),
    };
    entries.map(size).sum()
}

/// A trunk of 1,000 nodes in a tree of 100,000.
fn print_paths() {
    println!("\n| store | path of 1000 in 100,000 nodes |\n|---|---|");
    for (name, place) in PLACES {
        let folder = tempfile::tempdir().unwrap();
        let bench = Bench::new(place.open(folder.path()));
        let shape = Shape::Bushy { trunk: 1_000 };
        let ids = bench.grow(100_000, |number, ids| shape.parent(number, ids));
        let mut times = Vec::new();
        for _ in 0..11 {
            let start = Instant::now();
            let path = block_on(bench.store.load_path(&bench.owner, &bench.id, ids[999])).unwrap();
            times.push(start.elapsed());
            assert_eq!(path.len(), 1_000);
        }
        times.sort_unstable();
        println!("| {name} | {} |", milliseconds(times[times.len() / 2]));
    }
}

fn main() {
    // `cargo test --benches` runs this too, and asks for nothing.
    if std::env::args().any(|argument| argument == "--bench") {
        print_appends();
        print_lives();
        print_paths();
    }
}
