//! What a turn writes does not grow with the tree, and what is kept in memory does not grow with the store.

use std::path::Path;
use std::time::Instant;

use alloquy_core::store::{ConversationRecord, ConversationStore};
use alloquy_core::{ConversationId, Message, Node, Preface, Query};
use alloquy_storage::{Durability, FileStore, SqliteStore};
use pollster::block_on;

use crate::{Places, me, say};

async fn fill(store: &dyn ConversationStore, id: &ConversationId, turns: usize) {
    let mut head = store.record(&me(), id).await.unwrap().head;
    for _ in 0..turns {
        let node = say(head, "a message of always the same length");
        store.append(&me(), id, std::slice::from_ref(&node)).await.unwrap();
        store.set_head(&me(), id, head, Some(node.id)).await.unwrap();
        head = Some(node.id);
    }
}

async fn create(store: &dyn ConversationStore) -> ConversationId {
    let record = ConversationRecord::new("sizes".parse().unwrap(), Preface::default());
    store.create(&me(), &record).await.unwrap();
    record.id
}

fn bytes_in(path: &Path) -> u64 {
    if path.is_dir() {
        std::fs::read_dir(path).unwrap().map(|entry| bytes_in(&entry.unwrap().path())).sum()
    } else {
        path.metadata().unwrap().len()
    }
}

#[test]
fn files_grow_by_the_same_bytes_each_turn() {
    let places = Places::new();
    let store = block_on(FileStore::open(places.next())).unwrap();
    let id = block_on(create(&store));
    let mut sizes = Vec::new();
    for _ in 0..4 {
        block_on(fill(&store, &id, 100));
        sizes.push(bytes_in(store.path()));
    }
    let grown: Vec<u64> = sizes.windows(2).map(|pair| pair[1] - pair[0]).collect();
    // The first node has no parent to name; all later turns are alike.
    assert_eq!(grown, [grown[0]; 3]);
    assert!(grown[0] < 100 * 600, "{} bytes a turn", grown[0] / 100);
}

/// 400 turns of a question and an answer of 200 characters each; what is written is what stands there.
#[test]
fn a_chat_of_400_turns_is_small() {
    let places = Places::new();
    let store = block_on(FileStore::open_with(places.next(), Durability::Crash)).unwrap();
    let id = block_on(create(&store));
    let began = Instant::now();
    block_on(async {
        let mut head = None;
        for _ in 0..400 {
            let question = say(head, "x".repeat(200));
            let answer = Node::new(Some(question.id), Message::assistant("y".repeat(200)));
            let next = Some(answer.id);
            store.append(&me(), &id, &[question, answer]).await.unwrap();
            store.set_head(&me(), &id, head, next).await.unwrap();
            head = next;
        }
    });
    let bytes = bytes_in(store.path());
    let took = began.elapsed();
    println!("400 turns: {bytes} bytes, {took:?}");
    assert!(bytes < 400_000, "{bytes} bytes");
}

#[test]
fn a_database_grows_in_proportion() {
    let places = Places::new();
    let path = places.next();
    let mut sizes = Vec::new();
    for turns in [200, 800] {
        let store = block_on(SqliteStore::open(&path)).unwrap();
        let id = match block_on(store.count(&me(), &Query::default())).unwrap() {
            0 => block_on(create(&store)),
            _ => "sizes".parse().unwrap(),
        };
        block_on(fill(&store, &id, turns));
        drop(store);
        // Closing puts the write-ahead log into the database.
        sizes.push(bytes_in(&path));
    }
    assert!(sizes[1] < sizes[0] * 5, "{sizes:?}");
}

#[test]
fn more_conversations_than_are_kept_in_memory() {
    let places = Places::new();
    let store = block_on(FileStore::open(places.next())).unwrap();
    let ids: Vec<ConversationId> = (0..600).map(|number| format!("chat {number}").parse().unwrap()).collect();
    block_on(async {
        for id in &ids {
            store.create(&me(), &ConversationRecord::new(id.clone(), Preface::default())).await.unwrap();
            fill(&store, id, 1).await;
        }
        for id in ids.iter().rev() {
            fill(&store, id, 1).await;
        }
        let listed = store.list(&me(), &Query::default()).await.unwrap().conversations;
        assert_eq!(listed.len(), 600);
        assert!(listed.iter().all(|summary| summary.nodes == 2));
        for id in &ids {
            assert_eq!(store.load(&me(), id).await.unwrap().1.len(), 2);
        }
    });
}
