//! Concurrent writers, and calls whose future is dropped.

use alloquy_core::store::{ConversationRecord, ConversationStore, HeadMove};
use alloquy_core::{ConversationId, ErrorKind, Message, Node, Preface, Result};
use futures::future::{FutureExt, join_all};
use serde_json::json;

use super::conversations::{contents, created, move_head};
use super::outcomes::{kind, me, must, name};
use super::samples::{chain, object};

/// Concurrent appends lose nothing.
pub async fn concurrent_appends_lose_nothing(store: &dyn ConversationStore) {
    let owner = me();
    let id = created(store, "together").await;
    let root = chain(None, 1);
    must("append", store.append(&owner, &id, &root).await);
    let batches: Vec<Vec<Node>> = (0..32).map(|_| chain(Some(root[0].id), 3)).collect();
    let done = join_all(batches.iter().map(|batch| store.append(&owner, &id, batch))).await;
    for outcome in done {
        must("append together", outcome);
    }
    let tree = contents(store, &id).await.1;
    assert_eq!(tree.len(), 1 + 32 * 3, "concurrent appends lose nothing");
    assert_eq!(tree.children(Some(root[0].id)).len(), 32, "every append is below its own parent");
}

/// Appends and moves of the head from many threads lose nothing.
///
/// The law blocks its thread, so it is not in [`all`](crate::laws::store::all).
///
/// # Panics
/// When the law is broken.
pub fn threads_lose_nothing(store: &dyn ConversationStore) {
    let id = pollster::block_on(created(store, "threads"));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| pollster::block_on(append_and_move_heads(store, &id)));
        }
    });
    let (record, tree) = pollster::block_on(contents(store, &id));
    assert_eq!(tree.len(), 80, "threads lose no node");
    let head = must("the node at the head", tree.path(record.head));
    assert_eq!(head.len(), 1, "the head is the last writer's node");
}

/// Appends 20 nodes, and moves the head to each of them.
async fn append_and_move_heads(store: &dyn ConversationStore, id: &ConversationId) {
    for _ in 0..20 {
        let node = Node::new(None, Message::user("thread"));
        must("append", store.append(&me(), id, std::slice::from_ref(&node)).await);
        move_head(store, id, node.id).await;
    }
}

/// A call whose future is dropped after one poll changes everything or nothing.
pub async fn a_dropped_call_is_all_or_nothing(store: &dyn ConversationStore) {
    let id = created(store, "dropped").await;
    let mut expected = 0;
    for _ in 0..20 {
        let nodes = chain(None, 5);
        drop(store.append(&me(), &id, &nodes).now_or_never());
        let found = contents(store, &id).await.1.len();
        assert!(found == expected || found == expected + 5, "a dropped append left {found} nodes");
        must("append after a drop", store.append(&me(), &id, &nodes).await);
        expected += 5;
        let tree = contents(store, &id).await.1;
        assert_eq!(tree.len(), expected, "appending after a drop completes it");
    }
}

/// A dropped call that appends nodes and moves the head appends all of them or none.
///
/// The head never moves without its nodes, and the same call again completes the dropped one. The future of the call is
/// dropped after one poll.
pub async fn a_dropped_append_never_moves_the_head_alone(store: &dyn ConversationStore) {
    let id = created(store, "dropped with its head").await;
    let mut before = None;
    for round in 0..20 {
        let nodes = chain(before, 2);
        let to = Some(nodes[1].id);
        drop(store.append_and_move(&me(), &id, &nodes, before, to).now_or_never());
        let (record, tree) = contents(store, &id).await;
        let is_there = tree.len() == 2 * (round + 1);
        assert!(is_there || tree.len() == 2 * round, "a dropped call left {} nodes", tree.len());
        assert!(
            record.head == before || is_there && record.head == to,
            "the head moves only to existing nodes"
        );
        let moved = must("the same call", store.append_and_move(&me(), &id, &nodes, before, to).await);
        assert_eq!(moved, HeadMove::Moved, "the same call completes it");
        before = to;
    }
    let (record, tree) = contents(store, &id).await;
    assert_eq!((record.head, tree.len()), (before, 40), "each is done once");
}

/// Every changing call whose future is dropped after one poll changes everything or nothing. The same call again works.
pub async fn every_dropped_call_is_all_or_nothing(store: &dyn ConversationStore) {
    let owner = me();
    for round in 0..5 {
        let record = ConversationRecord::new(name(&format!("dropped {round}")), Preface::default());
        let id = &record.id;
        drop(store.create(&owner, &record).now_or_never());
        done("create", store.create(&owner, &record).await, ErrorKind::Conflict);
        let nodes = chain(None, 3);
        must("append", store.append(&owner, id, &nodes).await);
        let head = Some(nodes[1].id);
        let leaf = nodes[2].id;
        drop(store.set_head(&owner, id, None, head).now_or_never());
        done("set_head", store.set_head(&owner, id, None, head).await, ErrorKind::Conflict);
        let metadata = object(json!({"round": round}));
        drop(store.update_metadata(&owner, id, 0, &metadata).now_or_never());
        done("update_metadata", store.update_metadata(&owner, id, 0, &metadata).await, ErrorKind::Conflict);
        drop(store.prune(&owner, id, leaf).now_or_never());
        must("prune after a drop", store.prune(&owner, id, leaf).await);
        drop(store.compact(&owner, id).now_or_never());
        let (found, tree) = contents(store, id).await;
        assert_eq!((found.head, found.revision, &found.metadata), (head, 1, &metadata), "each is done once");
        assert_eq!((tree.len(), tree.node(leaf).is_ok()), (2, false), "and so is pruning");
        drop(store.delete(&owner, id).now_or_never());
        done("delete", store.delete(&owner, id).await, ErrorKind::NotFound);
        let error = kind(store.record(&owner, id).await);
        assert_eq!(error, Some(ErrorKind::NotFound), "what was deleted after a drop is gone");
    }
}

/// Checks the repetition of a dropped call, which fails with `already` where the dropped call had its effect.
fn done<T>(call: &str, outcome: Result<T>, already: ErrorKind) {
    if let Err(error) = outcome {
        assert_eq!(error.kind(), already, "{call} after a drop: {error:#}");
    }
}
