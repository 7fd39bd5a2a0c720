//! How much memory a search takes: a few words of a text at a time, and one text, however large and many they are. Every
//! allocation of this process is counted, so nothing else may be tested here.
#![cfg(feature = "sqlite")]
#![allow(clippy::unwrap_used)] // a test may panic

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

use alloquy_core::{
    ConversationRecord, ConversationStore, MemoryStore, Message, Node, Owner, Preface, Query,
};
use alloquy_storage::SqliteStore;
use pollster::block_on;

/// The system's allocator, and how much it has given away.
struct Counting;

static NOW: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

fn count(more: usize, less: usize) {
    let before = NOW.fetch_add(more, Ordering::Relaxed);
    MOST.fetch_max(before + more, Ordering::Relaxed);
    NOW.fetch_sub(less, Ordering::Relaxed);
}

// SAFETY: each call is handed on to the system's allocator as it came, and numbers are added up beside it.
#[allow(unsafe_code)]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size(), 0);
        // SAFETY: the caller keeps the contract of this function, which is the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn realloc(&self, place: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size, layout.size());
        // SAFETY: as above.
        unsafe { System.realloc(place, layout, size) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        count(0, layout.size());
        // SAFETY: as above.
        unsafe { System.dealloc(place, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

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
    let before = NOW.load(Ordering::Relaxed);
    MOST.store(before, Ordering::Relaxed);
    let hits = block_on(store.search(&Owner::local(), &query)).unwrap().hits;
    assert_eq!(hits.len(), MESSAGES);
    MOST.load(Ordering::Relaxed) - before
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
