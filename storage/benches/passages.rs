//! How long it takes to find passages in databases, and to find the nearest of 100,000 vectors.
//!
//! `cargo bench -p alloquy-storage --bench passages` fills a SQLite database, and a schema of the PostgreSQL server that
//! `ALLOQUY_TEST_POSTGRES` names, and prints a Markdown table of medians. The full-text search of SQLite answers the same questions.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, missing_docs)] // a benchmark may panic

#[allow(dead_code)] // each benchmark needs another part of it
mod speech;

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use alloquy_core::Owner;
use alloquy_core::query::Filter;
use alloquy_retrieval::{
    Lookup, NgramEmbedder, Passage, Retriever, VectorFormat, Vectors, WordIndex, WordOptions,
};
use alloquy_storage::{Durability, PassageDatabase, PostgresPassageOptions, SqlitePassageOptions};
use alloquy_testing::Draws;
use pollster::block_on;
use rusqlite::Connection;

use self::speech::Speaker;

const PASSAGES: usize = 10_000;
const VECTORS: usize = 100_000;
const DIMENSIONS: usize = 384;
/// How many words a passage and a question have.
const LENGTH: usize = 120;
const ASKED: usize = 10;
/// How many questions are asked.
const TIMES: usize = 101;

fn median(mut ask: impl FnMut(usize)) -> Duration {
    let mut times = Vec::new();
    for number in 0..TIMES {
        let start = Instant::now();
        ask(number);
        times.push(start.elapsed());
    }
    times.sort();
    times[TIMES / 2]
}

fn row(what: &str, time: Duration) {
    println!("| {what} | {time:.2?} |");
}

fn ask(retriever: &dyn Retriever, lookup: &Lookup) {
    black_box(block_on(retriever.find(&Owner::local(), lookup)).unwrap());
}

fn words(name: &str, retriever: &dyn Retriever, questions: &[String]) {
    let plain = median(|number| ask(retriever, &Lookup::new(&questions[number]).limit(10)));
    row(&format!("{name}: a question of {ASKED} words"), plain);
    let one = Filter::equals("number", 77);
    let filtered = median(|number| ask(retriever, &Lookup::new(&questions[number]).filter(one.clone())));
    row(&format!("{name}: the same with a filter that one passage passes"), filtered);
    let version = median(|_| {
        black_box(block_on(retriever.version(&Owner::local())).unwrap());
    });
    row(&format!("{name}: the version"), version);
}

/// The full-text search of SQLite, with the words of the question in quotes.
fn full_text(passages: &[Passage], questions: &[String]) {
    let connection = Connection::open_in_memory().unwrap();
    connection.execute_batch("CREATE VIRTUAL TABLE pages USING fts5 (text)").unwrap();
    let mut insert = connection.prepare("INSERT INTO pages (text) VALUES (?1)").unwrap();
    for passage in passages {
        insert.execute([&passage.text]).unwrap();
    }
    let mut find =
        connection.prepare("SELECT rowid FROM pages WHERE pages MATCH ?1 ORDER BY rank LIMIT 10").unwrap();
    let time = median(|number| {
        let quoted: Vec<String> = questions[number].split(' ').map(|word| format!("\"{word}\"")).collect();
        let rows = find.query_map([quoted.join(" OR ")], |row| row.get::<_, i64>(0)).unwrap();
        black_box(rows.map(Result::unwrap).count());
    });
    row("SQLite, FTS5 itself: a question of 10 words", time);
}

/// A vector of random numbers and length 1.
#[allow(clippy::cast_precision_loss)]
fn vector(draws: &mut Draws) -> Vec<f32> {
    let numbers: Vec<f32> = (0..DIMENSIONS).map(|_| draws.below(2_001) as f32 - 1_000.0).collect();
    let length = numbers.iter().map(|number| number * number).sum::<f32>().sqrt();
    numbers.into_iter().map(|number| number / length).collect()
}

fn main() {
    let mut speaker = Speaker::default();
    let mut passages = Vec::new();
    for number in 0..PASSAGES {
        passages.push(Passage::new(format!("{number}"), speaker.say(LENGTH)).metadata("number", number));
    }
    let questions: Vec<String> = (0..TIMES).map(|_| speaker.say(ASKED)).collect();
    let owner = Owner::local();
    let folder = tempfile::tempdir().unwrap();
    println!("| what | time |\n|---|---|");

    let memory = WordIndex::new(WordOptions::default()).unwrap();
    memory.add(&owner, passages.iter().cloned());
    words("in memory", &memory, &questions);

    let mut options = SqlitePassageOptions::default();
    options.durability = Durability::Crash;
    let path = folder.path().join("words.db");
    let sqlite = block_on(PassageDatabase::sqlite(path, options.clone(), None)).unwrap();
    let start = Instant::now();
    block_on(sqlite.add(&owner, passages.clone())).unwrap();
    row("SQLite: adding 10,000 passages", start.elapsed());
    words("SQLite", &*sqlite.words(), &questions);
    full_text(&passages, &questions);

    if let Ok(url) = std::env::var("ALLOQUY_TEST_POSTGRES") {
        let sign = if url.contains('?') { '&' } else { '?' };
        let url = format!("{url}{sign}schema=bench_{}", std::process::id());
        let postgres =
            block_on(PassageDatabase::postgres(&url, PostgresPassageOptions::default(), None)).unwrap();
        let start = Instant::now();
        block_on(postgres.add(&owner, passages)).unwrap();
        row("PostgreSQL: adding 10,000 passages", start.elapsed());
        words("PostgreSQL", &*postgres.words(), &questions);
    }

    let embedder = Arc::new(NgramEmbedder::new(DIMENSIONS));
    let path = folder.path().join("vectors.db");
    let sqlite = block_on(PassageDatabase::sqlite(path, options, Some(embedder))).unwrap();
    let mut draws = Draws::default();
    let all =
        (0..VECTORS).map(|number| (Passage::new(format!("{number}"), "page"), vector(&mut draws))).collect();
    block_on(sqlite.add_vectors(&owner, all)).unwrap();
    let asked = vector(&mut draws);
    let start = Instant::now();
    block_on(sqlite.nearest(&owner, &asked, &Lookup::new(""))).unwrap();
    row("SQLite: the first question among 100,000 vectors of 384 numbers", start.elapsed());
    let time = median(|_| {
        black_box(block_on(sqlite.nearest(&owner, &asked, &Lookup::new(""))).unwrap());
    });
    row("SQLite: the next ones", time);
    let mut memory = Vectors::new(DIMENSIONS, VectorFormat::F32).unwrap();
    for _ in 0..VECTORS {
        memory.push(&vector(&mut draws)).unwrap();
    }
    let time = median(|_| {
        black_box(memory.similarities(&asked).unwrap());
    });
    row("in memory: comparing as many vectors", time);
}
