//! How much memory a search takes: a few words of a text at a time, and one text, however large and many they are. Every
//! allocation of this process is counted, so nothing else may be tested here.
#![cfg(feature = "sqlite")]
#![allow(clippy::unwrap_used)] // a test may panic

use alloquy_core::store::{ConversationRecord, ConversationStore, MemoryStore};
use alloquy_core::{Message, Node, Owner, Preface, Query};
use alloquy_storage::SqliteStore;
use alloquy_testing::CountingAllocator;
use pollster::block_on;

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator::new();

/// How long each of so many messages is.
const LENGTH: usize = 2 << 20;
const MESSAGES: usize = 6;

async fn write(store: &dyn ConversationStore) {
    let record = ConversationRecord::new("long".parse().unwrap(), Preface::default());
    store.create(&Owner::local(), &record).await.unwrap();
    for number in 0..MESSAGES {
        let said = format!("{}needle {number}", "some words of tea ".repeat(LENGTH / 18));
        let node = Node::new(None, Message::user(said));
        store.append(&Owner::local(), &record.id, &[node]).await.unwrap();
    }
}

/// Returns the most memory that a search took at a time.
fn searched(store: &dyn ConversationStore) -> usize {
    let query = Query::default().text("tea needle").unwrap();
    let (found, most) = ALLOCATOR.most_during(|| block_on(store.search(&Owner::local(), &query)));
    assert_eq!(found.unwrap().hits.len(), MESSAGES);
    most
}

#[test]
fn a_search_takes_the_memory_of_a_text_and_not_of_all_its_words() {
    let memory = MemoryStore::default();
    block_on(write(&memory));
    let folder = tempfile::tempdir().unwrap();
    let sqlite = block_on(SqliteStore::open(folder.path().join("chats.db"))).unwrap();
    block_on(write(&sqlite));
    for (name, store, texts) in [("memory", &memory as &dyn ConversationStore, 1), ("SQLite", &sqlite, 4)] {
        let most = searched(store);
        println!("{name}: {most} bytes to search {MESSAGES} messages of {LENGTH}");
        assert!(most < texts * LENGTH, "{name}: {most} bytes");
    }
}
