//! Sizes: many nodes, long messages.

use alloquy_core::store::ConversationStore;
use alloquy_core::{Message, Node, NodeId, Query};

use super::conversations::{contents, created};
use super::outcomes::{me, must};
use super::samples::chain;

/// The number of nodes in a tree.
const NODES: usize = 100_000;

/// The number of nodes in one append.
const BATCH: usize = 10_000;

/// A tree of 100,000 nodes, half of them one chain and half of them answers to its first message, is stored, loaded,
/// walked and appended to.
pub async fn a_hundred_thousand_nodes_are_a_tree(store: &dyn ConversationStore) {
    let id = created(store, "large").await;
    let mut nodes = chain(None, NODES / 2);
    let first = nodes[0].id;
    let last = nodes[NODES / 2 - 1].id;
    nodes.extend((0..NODES / 2).map(|_| Node::new(Some(first), Message::assistant("another"))));
    for batch in nodes.chunks(BATCH) {
        must("append 10,000 nodes", store.append(&me(), &id, batch).await);
    }
    must("set_head", store.set_head(&me(), &id, None, Some(last)).await);
    let next = chain(Some(last), 1);
    must("append below 100,000 nodes", store.append(&me(), &id, &next).await);
    let tree = contents(store, &id).await.1;
    assert_eq!(tree.len(), NODES + 1, "all 100,000 nodes are loaded");
    let path = must("load_path", store.load_path(&me(), &id, last).await);
    let ids: Vec<NodeId> = path.iter().map(|node| node.id).collect();
    assert!(
        nodes.iter().take(NODES / 2).map(|node| node.id).eq(ids),
        "a path of 50,000 nodes is what was appended"
    );
    let page = must("list", store.list(&me(), &Query::default()).await);
    assert_eq!(page.conversations[0].nodes, NODES + 1, "all 100,000 nodes are counted");
}

/// A message of 10 MB is stored, found and read.
pub async fn ten_megabytes_are_a_message(store: &dyn ConversationStore) {
    let id = created(store, "long").await;
    let line = "zehn Millionen Zeichen, \u{1F980} und \u{65E5}\u{672C}\n";
    let said = format!("{}needle", line.repeat(10_000_000 / line.len()));
    let node = Node::new(None, Message::user(said));
    must("append 10 MB", store.append(&me(), &id, std::slice::from_ref(&node)).await);
    let path = must("load_path", store.load_path(&me(), &id, node.id).await);
    assert!(path == [node.clone()], "a message of 10 MB is loaded as it was appended");
    let query = must("a text", Query::default().text("needle"));
    let hits = must("search", store.search(&me(), &query).await).hits;
    assert_eq!(hits.len(), 1, "the last word of 10 MB is found");
    assert!(hits[0].snippet.text.len() < 1000, "a snippet is short");
}
