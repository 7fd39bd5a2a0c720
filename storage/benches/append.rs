//! What an append to a long conversation costs in SQLite, beside a bare insert of the same bytes with the same settings.
//!
//! `cargo bench -p alloquy-storage --bench append` does both by turns, with and without waiting for the disk, and prints the
//! medians and their ratio. `ALLOQUY_BENCH_APPENDS` makes more or fewer of each.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, missing_docs)] // a benchmark may panic

use std::path::Path;
use std::time::{Duration, Instant};

use alloquy_core::store::{ConversationRecord, ConversationStore};
use alloquy_core::{Message, Node, NodeId, Owner, Preface};
use alloquy_storage::{Durability, SqliteStore};
use pollster::block_on;
use rusqlite::{Connection, params};

/// Messages that are there before.
const THERE: usize = 5_000;

/// The bytes of a message's text: with its id and its form a node has between one and two thousand.
const TEXT: usize = 1_200;

fn text(number: usize) -> String {
    let words: String =
        (0..TEXT / 6).map(|word| format!("w{:04} ", (number * 31 + word * 7) % 9973)).collect();
    words[..TEXT].to_owned()
}

/// A table as plain as can be, with the journal, the page size and the waiting of the store.
fn bare(path: &Path, durability: Durability) -> Connection {
    let connection = Connection::open(path).unwrap();
    connection.pragma_update(None, "page_size", 1024).unwrap();
    connection.query_row("PRAGMA journal_mode = WAL", [], |row| row.get::<_, String>(0)).unwrap();
    let synchronous = if durability == Durability::PowerLoss { "FULL" } else { "NORMAL" };
    connection.pragma_update(None, "synchronous", synchronous).unwrap();
    connection.pragma_update(None, "wal_autocheckpoint", 4096).unwrap();
    connection.execute_batch("CREATE TABLE bodies (id INTEGER PRIMARY KEY, body TEXT NOT NULL)").unwrap();
    connection
}

fn insert(connection: &mut Connection, body: &str) {
    let transaction = connection.transaction().unwrap();
    transaction
        .prepare_cached("INSERT INTO bodies (body) VALUES (?1)")
        .unwrap()
        .execute(params![body])
        .unwrap();
    transaction.commit().unwrap();
}

fn median(times: &mut [Duration]) -> f64 {
    times.sort_unstable();
    times[times.len() / 2].as_secs_f64() * 1e3
}

fn mean(times: &[Duration]) -> f64 {
    times.iter().sum::<Duration>().as_secs_f64() * 1e3 / times.len() as f64
}

fn compare(name: &str, durability: Durability, appends: usize) {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let store = block_on(SqliteStore::open_with(folder.path().join("chats.db"), durability)).unwrap();
    let mut connection = bare(&folder.path().join("bare.db"), durability);
    let record = ConversationRecord::new("tea".parse().unwrap(), Preface::default());
    let owner = Owner::local();
    block_on(store.create(&owner, &record)).unwrap();
    let mut parent: Option<NodeId> = None;
    let mut next = |number| {
        let node = Node::new(parent, Message::user(text(number)));
        parent = Some(node.id);
        node
    };
    let there: Vec<Node> = (0..THERE).map(&mut next).collect();
    block_on(store.append(&owner, &record.id, &there)).unwrap();
    there.chunks(1000).for_each(|nodes| {
        let transaction = connection.transaction().unwrap();
        for node in nodes {
            let body = serde_json::to_string(node).unwrap();
            transaction.execute("INSERT INTO bodies (body) VALUES (?1)", params![body]).unwrap();
        }
        transaction.commit().unwrap();
    });
    let mut appended = Vec::new();
    let mut inserted = Vec::new();
    for number in 0..appends {
        let node = next(THERE + number);
        let body = serde_json::to_string(&node).unwrap();
        let start = Instant::now();
        insert(&mut connection, &body);
        inserted.push(start.elapsed());
        let start = Instant::now();
        block_on(store.append(&owner, &record.id, std::slice::from_ref(&node))).unwrap();
        appended.push(start.elapsed());
    }
    let mean_of_append = mean(&appended);
    let mean_of_insert = mean(&inserted);
    let append = median(&mut appended);
    let insert = median(&mut inserted);
    println!(
        "| {name} | {append:.3} ms | {insert:.3} ms | {:.2} | {mean_of_append:.3} ms | {mean_of_insert:.3} ms | {:.2} |",
        append / insert,
        mean_of_append / mean_of_insert
    );
}

fn main() {
    // `cargo test --benches` runs this too, and asks for nothing.
    if std::env::args().any(|argument| argument == "--bench") {
        let number = |text: String| text.parse().unwrap();
        let appends = std::env::var("ALLOQUY_BENCH_APPENDS").map_or(1_000, number);
        println!(
            "| | append, median | bare insert, median | ratio | append, mean | bare insert, mean | ratio |"
        );
        println!("|---|---|---|---|---|---|---|");
        compare("waits for the disk", Durability::PowerLoss, appends);
        compare("does not wait", Durability::Crash, appends);
    }
}
