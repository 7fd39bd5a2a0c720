//! What a message costs in small and in large conversations: time and bytes written.
//!
//! `cargo bench -p alloquy-storage --bench flat` prints Markdown tables. Trees of all sizes grow by turns, one message each,
//! so that whatever else the machine does slows all of them. Bytes are those of `write` calls, as Linux counts them for a
//! process; elsewhere they are not known. `ALLOQUY_BENCH_NODES` leaves out trees that are larger, and
//! `ALLOQUY_BENCH_STORES` stores whose name does not begin so.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, missing_docs)] // a benchmark may panic

#[allow(dead_code)] // each benchmark needs another part of it
mod speech;
mod spent;

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use alloquy_core::store::{ConversationRecord, ConversationStore};
use alloquy_core::{ConversationId, Message, Node, NodeId, Owner, Preface};
use alloquy_storage::{Durability, FileStore, MemoryStore, SqliteStore};
use pollster::block_on;
use tempfile::TempDir;

use self::speech::Speaker;
use self::spent::Spent;

const SIZES: [usize; 4] = [10, 1_000, 10_000, 100_000];
/// Messages that are measured in each tree: enough that what is done once for many of them counts as well.
const MESSAGES: usize = 4_096;
/// Nodes that are appended in one call to make a tree.
const BATCH: usize = 500;
/// How deep a bushy tree is: each node of its trunk has many children.
const TRUNK: usize = 20;
/// How long a message is, in bytes: as in the measurements of dataknobs that these are compared with.
const LENGTH: usize = 200;

#[derive(Clone, Copy, Debug)]
enum Place {
    Memory,
    Files(Durability),
    Sqlite(Durability),
}

const PLACES: [(&str, Place); 5] = [
    ("memory", Place::Memory),
    ("file", Place::Files(Durability::PowerLoss)),
    ("file, no fsync", Place::Files(Durability::Crash)),
    ("sqlite", Place::Sqlite(Durability::PowerLoss)),
    ("sqlite, no fsync", Place::Sqlite(Durability::Crash)),
];

/// The stores that are asked for.
fn places() -> impl Iterator<Item = (&'static str, Place)> {
    let beginning = std::env::var("ALLOQUY_BENCH_STORES").unwrap_or_default();
    PLACES.into_iter().filter(move |(name, _)| name.starts_with(&beginning))
}

impl Place {
    fn open(self, folder: &Path) -> Arc<dyn ConversationStore> {
        block_on(async {
            match self {
                Self::Memory => Arc::new(MemoryStore::default()) as Arc<dyn ConversationStore>,
                Self::Files(durability) => {
                    Arc::new(FileStore::open_with(folder.join("files"), durability).await.unwrap())
                }
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
    speaker: Speaker,
}

impl Bench {
    fn new(store: Arc<dyn ConversationStore>) -> Self {
        let (owner, id): (_, ConversationId) = (Owner::local(), "bench".parse().unwrap());
        block_on(store.create(&owner, &ConversationRecord::new(id.clone(), Preface::default()))).unwrap();
        Self { store, owner, id, head: None, speaker: Speaker::default() }
    }

    fn node(&mut self, parent: Option<NodeId>) -> Node {
        let text = self.speaker.say(LENGTH / 2);
        Node::new(parent, Message::user(&text[..LENGTH]))
    }

    /// Appends nodes, each below the one that `parent` chooses by its number.
    fn grow(
        &mut self,
        count: usize,
        mut parent: impl FnMut(usize, &[NodeId]) -> Option<NodeId>,
    ) -> Vec<NodeId> {
        let mut ids = Vec::with_capacity(count);
        while ids.len() < count {
            let mut nodes = Vec::with_capacity(BATCH);
            while nodes.len() < BATCH && ids.len() < count {
                let node = self.node(parent(ids.len(), &ids));
                ids.push(node.id);
                nodes.push(node);
            }
            block_on(self.store.append(&self.owner, &self.id, &nodes)).unwrap();
        }
        ids
    }

    /// One message: a node, and the head moved to it.
    fn say(&mut self, node: Node) {
        let id = node.id;
        block_on(async {
            self.store.append(&self.owner, &self.id, &[node]).await.unwrap();
            self.store.set_head(&self.owner, &self.id, self.head, Some(id)).await.unwrap();
        });
        self.head = Some(id);
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

/// A tree that grows, and what its messages cost.
struct Growing {
    bench: Bench,
    shape: Shape,
    ids: Vec<NodeId>,
    times: Vec<Duration>,
    spent: Spent,
    _folder: TempDir,
}

impl Growing {
    fn new(place: Place, shape: Shape, size: usize) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut bench = Bench::new(place.open(folder.path()));
        let ids = bench.grow(size, |number, ids| shape.parent(number, ids));
        let mut growing =
            Self { bench, shape, ids, times: Vec::new(), spent: Spent::default(), _folder: folder };
        // The first message moves the head across the tree.
        growing.say();
        (growing.times, growing.spent) = (Vec::with_capacity(MESSAGES), Spent::default());
        growing
    }

    fn say(&mut self) {
        let node = self.bench.node(self.shape.parent(self.ids.len(), &self.ids));
        self.ids.push(node.id);
        let before = Spent::so_far();
        let start = Instant::now();
        self.bench.say(node);
        self.times.push(start.elapsed());
        let after = Spent::so_far();
        self.spent.processor += after.processor - before.processor;
        self.spent.bytes += after.bytes - before.bytes;
    }

    fn cost(mut self) -> Cost {
        self.times.sort_unstable();
        let count = self.times.len();
        Cost {
            median: self.times[count / 2],
            mean: self.times.iter().sum::<Duration>() / count as u32,
            processor: self.spent.processor / count as u32,
            bytes: self.spent.bytes / count as u64,
        }
    }
}

/// What a message costs; processor and bytes on average.
#[derive(Clone, Copy)]
struct Cost {
    median: Duration,
    mean: Duration,
    processor: Duration,
    bytes: u64,
}

/// Lets trees of these sizes grow by turns.
fn costs(place: Place, shape: Shape, sizes: &[usize]) -> Vec<Cost> {
    let mut trees: Vec<_> = sizes.iter().map(|size| Growing::new(place, shape, *size)).collect();
    for _ in 0..MESSAGES {
        trees.iter_mut().for_each(Growing::say);
    }
    trees.into_iter().map(Growing::cost).collect()
}

fn milliseconds(time: Duration) -> String {
    format!("{:.3} ms", time.as_secs_f64() * 1e3)
}

fn print_messages() {
    let most = std::env::var("ALLOQUY_BENCH_NODES").map_or(usize::MAX, |most| most.parse().unwrap());
    let sizes: Vec<_> = SIZES.into_iter().filter(|size| *size <= most).collect();
    println!(
        "| store | tree | nodes | a message, median | mean | processor | written |\n|---|---|---|---|---|---|---|"
    );
    let mut growths = Vec::new();
    for (name, place) in places() {
        for (shape_name, shape) in [("chain", Shape::Chain), ("bushy", Shape::Bushy { trunk: TRUNK })] {
            let costs = costs(place, shape, &sizes);
            for (size, cost) in sizes.iter().zip(&costs) {
                let median = milliseconds(cost.median);
                let mean = milliseconds(cost.mean);
                let processor = milliseconds(cost.processor);
                let bytes = cost.bytes;
                println!("| {name} | {shape_name} | {size} | {median} | {mean} | {processor} | {bytes} B |");
            }
            if let (Some(small), Some(large)) = (costs.get(1), costs.last()) {
                growths.push((name, shape_name, growth(small, large)));
            }
        }
    }
    let from = sizes.get(1).unwrap_or(&0);
    let to = sizes.last().unwrap_or(&0);
    println!(
        "\n| from {from} to {to} nodes | tree | median | mean | processor | written |\n|---|---|---|---|---|---|"
    );
    for (name, shape, [median, mean, processor, bytes]) in growths {
        println!("| {name} | {shape} | {median:+.1} % | {mean:+.1} % | {processor:+.1} % | {bytes:+.1} % |");
    }
}

/// The per cent that a message costs more in the large tree: median and mean of time,
/// processor, bytes.
fn growth(small: &Cost, large: &Cost) -> [f64; 4] {
    let pairs = [
        (small.median.as_secs_f64(), large.median.as_secs_f64()),
        (small.mean.as_secs_f64(), large.mean.as_secs_f64()),
        (small.processor.as_secs_f64(), large.processor.as_secs_f64()),
        (small.bytes as f64, large.bytes as f64),
    ];
    pairs.map(|(from, to)| if from > 0.0 { (to / from - 1.0) * 100.0 } else { 0.0 })
}

fn print_lives() {
    println!("\n| store | 400 turns | written | on disk | reopen 5000 nodes | a message there, mean |");
    println!("|---|---|---|---|---|---|");
    for (name, place) in places().filter(|(name, _)| *name != "memory") {
        let folder = tempfile::tempdir().unwrap();
        let mut bench = Bench::new(place.open(folder.path()));
        let before = Spent::so_far();
        let start = Instant::now();
        let mut tip = None;
        for _ in 0..800 {
            let node = bench.node(tip);
            tip = Some(node.id);
            bench.say(node);
        }
        let conversation = start.elapsed();
        let wrote = Spent::so_far().bytes - before.bytes;
        let size = size_of(folder.path());
        bench.grow(4_200, |number, ids| if number == 0 { tip } else { ids.last().copied() });
        drop(bench);
        let start = Instant::now();
        let store = place.open(folder.path());
        let (_, tree) = block_on(store.load(&Owner::local(), &"bench".parse().unwrap())).unwrap();
        let reopened = start.elapsed();
        assert_eq!(tree.len(), 5_000);
        let append = costs(place, Shape::Chain, &[5_000])[0].mean;
        let conversation = milliseconds(conversation);
        let reopened = milliseconds(reopened);
        let append = milliseconds(append);
        println!("| {name} | {conversation} | {wrote} B | {size} B | {reopened} | {append} |");
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
    for (name, place) in places() {
        let folder = tempfile::tempdir().unwrap();
        let mut bench = Bench::new(place.open(folder.path()));
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
        print_messages();
        print_lives();
        print_paths();
    }
}
