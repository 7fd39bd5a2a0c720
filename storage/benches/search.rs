//! How long questions take of a million messages in a hundred thousand conversations.
//!
//! `cargo bench -p alloquy-storage --bench search` fills a SQLite database, and a schema of the PostgreSQL server that
//! `ALLOQUY_TEST_POSTGRES` names, and prints a Markdown table for each. `ALLOQUY_BENCH_CONVERSATIONS` makes fewer or more
//! conversations. Processor time is that of this process, so not that of a server. `ALLOQUY_BENCH_DATABASE` is
//! the path of a SQLite database, and `ALLOQUY_BENCH_SCHEMA` the name of a schema, that is kept and, once filled, asked again.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, missing_docs)] // a benchmark may panic

#[allow(dead_code)] // each benchmark needs another part of it
mod speech;
#[allow(dead_code)]
mod spent;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use alloquy_core::query::{Filter, MetadataValue, Sort, SortKey};
use alloquy_core::store::{ConversationRecord, ConversationStore};
use alloquy_core::{Message, Node, NodeId, Owner, Preface, Query};
use alloquy_storage::{Durability, PostgresStore, SqliteStore};
use futures::future::join_all;
use pollster::block_on;
use serde_json::{Map, Value, json};

use self::speech::{Speaker, word};
use self::spent::Spent;

/// Messages in each conversation.
const MESSAGES: usize = 10;
/// Conversations that are written at once, where a store can.
const AT_ONCE: usize = 8;
/// Owners; the first has about a fifth of all conversations, the last a hundredth.
const OWNERS: usize = 10;
const USERS: usize = 1_000;
const TOPICS: usize = 20;
/// Questions of each kind, fewer when they take longer than [`PATIENCE`] together.
const QUESTIONS: usize = 200;
const PATIENCE: Duration = Duration::from_secs(20);

fn owner(speaker: &mut Speaker) -> Owner {
    let number = speaker.below(OWNERS).min(speaker.below(OWNERS));
    format!("owner-{number}").parse().unwrap()
}

fn metadata(speaker: &mut Speaker) -> Map<String, Value> {
    let metadata = json!({
        "user": {"name": format!("user-{}", speaker.below(USERS))},
        "topic": format!("topic-{}", speaker.below(TOPICS)),
        "stars": speaker.below(6),
        "title": speaker.say(4),
    });
    metadata.as_object().cloned().unwrap_or_default()
}

/// A conversation of questions and longer answers.
fn nodes(speaker: &mut Speaker) -> Vec<Node> {
    let mut parent: Option<NodeId> = None;
    let mut nodes = Vec::with_capacity(MESSAGES);
    for number in 0..MESSAGES {
        let message = match number % 2 {
            0 => Message::user({
                let words = 5 + speaker.below(20);
                speaker.say(words)
            }),
            _ => Message::assistant({
                let words = 20 + speaker.below(50);
                speaker.say(words)
            }),
        };
        let node = Node::new(parent, message);
        parent = Some(node.id);
        nodes.push(node);
    }
    nodes
}

async fn write_one(
    store: &dyn ConversationStore,
    (owner, record, nodes): (Owner, ConversationRecord, Vec<Node>),
) {
    store.create(&owner, &record).await.unwrap();
    store.append(&owner, &record.id, &nodes).await.unwrap();
    store.set_head(&owner, &record.id, None, nodes.last().map(|node| node.id)).await.unwrap();
}

fn fill(store: &dyn ConversationStore, conversations: usize) {
    let mut speaker = Speaker::default();
    let start = Instant::now();
    for first in (0..conversations).step_by(AT_ONCE) {
        let made = (first..conversations.min(first + AT_ONCE)).map(|number| {
            let mut record =
                ConversationRecord::new(format!("chat-{number}").parse().unwrap(), Preface::default());
            record.metadata = metadata(&mut speaker);
            write_one(store, (owner(&mut speaker), record, nodes(&mut speaker)))
        });
        let made: Vec<_> = made.collect();
        block_on(join_all(made));
    }
    println!("\n{conversations} conversations of {MESSAGES} messages written in {:.0?}", start.elapsed());
}

/// What is asked: makes a query of its own each time, and the answer is how much was found.
struct Question {
    name: &'static str,
    query: fn(&mut Speaker) -> Query,
    ask: fn(&dyn ConversationStore, &Owner, &Query) -> usize,
}

fn search(store: &dyn ConversationStore, owner: &Owner, query: &Query) -> usize {
    block_on(store.search(owner, query)).unwrap().hits.len()
}

fn list(store: &dyn ConversationStore, owner: &Owner, query: &Query) -> usize {
    block_on(store.list(owner, query)).unwrap().conversations.len()
}

/// The page behind the first one; only that one is of interest, but both are measured.
fn second_page(store: &dyn ConversationStore, owner: &Owner, query: &Query) -> usize {
    let next = block_on(store.list(owner, query)).unwrap().next;
    next.map_or(0, |next| list(store, owner, &query.clone().after(next)))
}

fn count(store: &dyn ConversationStore, owner: &Owner, query: &Query) -> usize {
    block_on(store.count(owner, query)).unwrap()
}

fn page(text: &str) -> Query {
    Query::default().text(text).unwrap().limit(20)
}

/// A word that is said neither often nor almost never.
fn seldom(speaker: &mut Speaker) -> String {
    word(100 + speaker.below(3_000))
}

fn topic(speaker: &mut Speaker) -> Filter {
    Filter::equals("topic", format!("topic-{}", speaker.below(TOPICS)))
}

fn user(speaker: &mut Speaker) -> Filter {
    Filter::equals("user.name", format!("user-{}", speaker.below(USERS)))
}

fn praised() -> Filter {
    Filter::range("stars", MetadataValue::from(4)..).unwrap()
}

const QUESTIONS_ASKED: [Question; 15] = [
    Question { name: "search: two words, as said", query: |speaker| page(&speaker.say(2)), ask: search },
    Question {
        name: "search: two seldom words",
        query: |speaker| page(&(seldom(speaker) + " " + &seldom(speaker))),
        ask: search,
    },
    Question {
        name: "search: a common and a seldom word",
        query: |speaker| page(&(word(speaker.below(5)) + " " + &seldom(speaker))),
        ask: search,
    },
    Question {
        name: "search: the two commonest words",
        query: |_| page(&(word(0) + " " + &word(1))),
        ask: search,
    },
    Question {
        name: "search: a phrase of common words",
        query: |speaker| page(&format!("\"{} {}\"", word(speaker.below(5)), word(speaker.below(50)))),
        ask: search,
    },
    Question {
        name: "search: two words, one topic",
        query: |speaker| page(&speaker.say(2)).filter(topic(speaker)),
        ask: search,
    },
    Question {
        name: "search: the two commonest words, one user",
        query: |speaker| page(&(word(0) + " " + &word(1))).filter(user(speaker)),
        ask: search,
    },
    Question {
        name: "list: one user",
        query: |speaker| Query::default().filter(user(speaker)).limit(20),
        ask: list,
    },
    Question {
        name: "list: one topic",
        query: |speaker| Query::default().filter(topic(speaker)).limit(20),
        ask: list,
    },
    Question {
        name: "list: one topic, four stars and more",
        query: |speaker| Query::default().filter(topic(speaker)).filter(praised()).limit(20),
        ask: list,
    },
    Question {
        name: "list: one topic by stars, two pages",
        query: |speaker| {
            let sort = Sort::descending(SortKey::Metadata("stars".into()));
            Query::default().filter(topic(speaker)).sort(sort).limit(20)
        },
        ask: second_page,
    },
    Question { name: "list: the newest", query: |_| Query::default().limit(20), ask: list },
    Question {
        name: "count: one topic",
        query: |speaker| Query::default().filter(topic(speaker)),
        ask: count,
    },
    Question { name: "count: two words, as said", query: |speaker| page(&speaker.say(2)), ask: count },
    Question {
        name: "count: the two commonest words",
        query: |_| page(&(word(0) + " " + &word(1))),
        ask: count,
    },
];

fn print_questions(store: &dyn ConversationStore) {
    println!("\n| question | p50 | p95 | slowest | processor, p95 | found |\n|---|---|---|---|---|---|");
    let mut speaker = Speaker::default();
    for question in &QUESTIONS_ASKED {
        let mut times = Vec::new();
        let mut spent = Vec::new();
        let mut found = 0;
        let begin = Instant::now();
        while times.len() < QUESTIONS && begin.elapsed() < PATIENCE {
            let query = (question.query)(&mut speaker);
            let owner = owner(&mut speaker);
            let before = Spent::so_far();
            let start = Instant::now();
            found += (question.ask)(store, &owner, &query);
            times.push(start.elapsed());
            spent.push(Spent::so_far().processor - before.processor);
        }
        let found = found / times.len();
        let mut at = |percent| milliseconds(percentile(&mut times, percent));
        let half = at(50);
        let most = at(95);
        let all = at(100);
        let processor = milliseconds(percentile(&mut spent, 95));
        println!("| {} | {half} | {most} | {all} | {processor} | {found} |", question.name);
    }
}

fn percentile(times: &mut [Duration], percent: usize) -> Duration {
    times.sort_unstable();
    times[(times.len() - 1) * percent / 100]
}

fn milliseconds(time: Duration) -> String {
    format!("{:.2} ms", time.as_secs_f64() * 1e3)
}

/// Fills a store that is empty.
fn prepare(store: &dyn ConversationStore, conversations: usize) {
    let owners = (0..OWNERS).map(|number| format!("owner-{number}").parse::<Owner>().unwrap());
    let there: usize = owners.map(|owner| block_on(store.count(&owner, &Query::default())).unwrap()).sum();
    match there {
        0 => fill(store, conversations),
        there => println!("\n{there} conversations from an earlier run"),
    }
}

fn on_sqlite(conversations: usize) {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let kept = std::env::var_os("ALLOQUY_BENCH_DATABASE").map(PathBuf::from);
    let path = kept.unwrap_or_else(|| folder.path().join("chats.db"));
    let store = block_on(SqliteStore::open_with(&path, Durability::Crash)).unwrap();
    println!("\n## SQLite");
    prepare(&store, conversations);
    println!("{} MB on disk", path.metadata().unwrap().len() / 1_000_000);
    print_questions(&store);
}

fn on_postgres(conversations: usize, server: &str) {
    let sign = if server.contains('?') { '&' } else { '?' };
    let schema = std::env::var("ALLOQUY_BENCH_SCHEMA")
        .unwrap_or_else(|_| format!("bench_{}", NodeId::new().to_string().replace('-', "")));
    println!("\n## PostgreSQL");
    let start = Instant::now();
    let store = block_on(PostgresStore::open(&format!("{server}{sign}schema={schema}"))).unwrap();
    println!("opened in {:.1?}", start.elapsed());
    prepare(&store, conversations);
    gather_statistics(server);
    print_questions(&store);
}

/// As the server does by itself within minutes.
fn gather_statistics(server: &str) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let (client, connection) = tokio_postgres::connect(server, tokio_postgres::NoTls).await.unwrap();
        let running = tokio::spawn(connection);
        client.batch_execute("VACUUM ANALYZE").await.unwrap();
        drop(client);
        running.await.unwrap().unwrap();
    });
}

fn main() {
    // `cargo test --benches` runs this too, and asks for nothing.
    if std::env::args().any(|argument| argument == "--bench") {
        let number = |text: String| text.parse().unwrap();
        let conversations = std::env::var("ALLOQUY_BENCH_CONVERSATIONS").map_or(100_000, number);
        on_sqlite(conversations);
        match std::env::var("ALLOQUY_TEST_POSTGRES") {
            Ok(server) if !server.is_empty() => on_postgres(conversations, &server),
            _ => println!("\nPostgreSQL is left out: ALLOQUY_TEST_POSTGRES does not say where a server is"),
        }
    }
}
