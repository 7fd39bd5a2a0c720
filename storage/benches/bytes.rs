//! How many bytes a message takes in PostgreSQL, with the token ids of replies, and in which tables and indexes.
//!
//! `cargo bench -p alloquy-storage --bench bytes` needs a server of PostgreSQL in ALLOQUY_TEST_POSTGRES, and leaves its database
//! empty. Texts are English ones, of this repository's documentation; the ids have as many digits as those of a vocabulary of
//! 131,000 tokens, and a token has 3.7 bytes of text.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, missing_docs)] // a benchmark may panic

use std::env;
use std::path::Path;

use alloquy_core::media::Digest;
use alloquy_core::report::{CacheReport, FinishReason, ReplyFacts, Usage};
use alloquy_core::store::{ConversationRecord, ConversationStore};
use alloquy_core::{ConversationId, Message, Node, NodeId, Owner, Preface};
use alloquy_storage::PostgresStore;
use tokio_postgres::NoTls;

const CONVERSATIONS: usize = 200;

/// Questions with their replies in each conversation.
const TURNS: usize = 10;

/// How many bytes of text a token has.
const BYTES_A_TOKEN: f64 = 3.7;

fn texts() -> String {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs");
    let names = ["introduction", "retrieval", "memory", "privacy", "embedding", "tools", "prompts"];
    names.iter().map(|name| std::fs::read_to_string(docs.join(format!("{name}.md"))).unwrap()).collect()
}

/// Cuts texts of about so many bytes out of the documentation, each at another place.
struct Texts {
    all: String,
    place: usize,
}

impl Texts {
    fn next(&mut self, bytes: usize) -> String {
        self.place = (self.place + 7919) % (self.all.len() - 2 * bytes);
        let start = (self.place..).find(|at| self.all.is_char_boundary(*at)).unwrap();
        let end = (start + bytes..).find(|at| self.all.is_char_boundary(*at)).unwrap();
        self.all[start..end].to_owned()
    }
}

/// Returns ids as a model generates them: half of them are among the first thousands of the vocabulary.
fn ids(text: &str, number: usize) -> Vec<u32> {
    let count = (text.len() as f64 / BYTES_A_TOKEN) as usize;
    let mut state = number as u64;
    let mut ids = Vec::with_capacity(count);
    for _ in 0..count {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let random = f64::from((state >> 32) as u32) / f64::from(u32::MAX);
        ids.push((131_072_f64.powf(0.55 + 0.45 * random)) as u32);
    }
    ids
}

fn reply(parent: Option<NodeId>, text: String, number: usize, has_ids: bool) -> Node {
    let tokens = ids(&text, number);
    let mut node = Node::new(parent, Message::assistant(text));
    let mut facts = ReplyFacts::new("qwen3-4b");
    facts.finish = Some(FinishReason::Stop);
    facts.usage = Some(Usage::new(1500, tokens.len()));
    facts.cache = Some(CacheReport::new(1500, 1440));
    facts.template = Some(Digest::of(b"template"));
    node.reply = Some(Box::new(facts));
    if has_ids {
        node.tokens = tokens;
    }
    node
}

async fn fill(url: &str, has_ids: bool) -> usize {
    let store = PostgresStore::open(url).await.unwrap();
    let owner = Owner::local();
    let mut texts = Texts { all: texts(), place: 0 };
    let mut bytes = 0;
    for conversation in 0..CONVERSATIONS {
        let record = ConversationRecord::new(ConversationId::new(), Preface::system("Be brief."));
        store.create(&owner, &record).await.unwrap();
        let mut parent = None;
        for turn in 0..TURNS {
            let question = Node::new(parent, Message::user(texts.next(240)));
            let answer = reply(Some(question.id), texts.next(1_100), conversation * TURNS + turn, has_ids);
            bytes += question.message.text().len() + answer.message.text().len();
            parent = Some(answer.id);
            store.append(&owner, &record.id, &[question, answer]).await.unwrap();
        }
    }
    bytes
}

fn main() {
    // `cargo test --benches` runs this too, and asks for nothing.
    if !env::args().any(|argument| argument == "--bench") {
        return;
    }
    let Some(url) = env::var("ALLOQUY_TEST_POSTGRES").ok().filter(|url| !url.is_empty()) else {
        eprintln!("Skipping: set ALLOQUY_TEST_POSTGRES to the address of a server of PostgreSQL");
        return;
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let (client, connection) = tokio_postgres::connect(&url, NoTls).await.unwrap();
        let driving = tokio::spawn(connection);
        for has_ids in [false, true] {
            let schema = if has_ids { "with_ids" } else { "without_ids" };
            client.batch_execute(&format!("DROP SCHEMA IF EXISTS {schema} CASCADE")).await.unwrap();
            let separator = if url.contains('?') { '&' } else { '?' };
            let bytes = fill(&format!("{url}{separator}schema={schema}"), has_ids).await;
            let messages = (CONVERSATIONS * TURNS * 2) as i64;
            println!("{schema}: {messages} messages with {} bytes of text each", bytes as i64 / messages);
            client.batch_execute("VACUUM ANALYZE").await.unwrap();
            let sql = "SELECT relname, pg_table_size(c.oid), pg_indexes_size(c.oid) FROM pg_class c
                JOIN pg_namespace n ON n.oid = relnamespace
                WHERE nspname = $1 AND relkind = 'r' AND relname IN ('nodes', 'conversations') ORDER BY 1";
            for row in client.query(sql, &[&schema]).await.unwrap() {
                let (name, table, indexes): (String, i64, i64) = (row.get(0), row.get(1), row.get(2));
                println!("  {name}: {} bytes a message, indexes {}", table / messages, indexes / messages);
            }
            client.batch_execute(&format!("DROP SCHEMA {schema} CASCADE")).await.unwrap();
        }
        drop(client);
        let _ = driving.await;
    });
}
