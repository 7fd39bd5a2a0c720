//! Nodes: appending them, and reading them as trees and paths.

use alloquy_core::report::ReplyFacts;
use alloquy_core::store::ConversationStore;
use alloquy_core::tree::Tree;
use alloquy_core::{ErrorKind, Message, Node, NodeId, Query};
use serde_json::{Value, json};

use super::conversations::{contents, created, filled};
use super::outcomes::{kind, me, must, text};
use super::samples::{chain, rich_nodes, rich_record};

/// Appending the same nodes again, or none, is fine and changes nothing.
pub async fn appending_again_changes_nothing(store: &dyn ConversationStore) {
    let id = created(store, "again").await;
    let nodes = chain(None, 3);
    let doubled: Vec<Node> = nodes.iter().chain(&nodes).cloned().collect();
    must("append a batch that repeats itself", store.append(&me(), &id, &doubled).await);
    let before = contents(store, &id).await;
    assert_eq!(before.1.len(), 3, "a node that is appended twice is there once");
    must("append again", store.append(&me(), &id, &nodes).await);
    must("append a known node", store.append(&me(), &id, &nodes[2..]).await);
    must("append nothing", store.append(&me(), &id, &[]).await);
    assert_eq!(contents(store, &id).await, before, "appending again changes nothing");
    let counted = must("list", store.list(&me(), &Query::default()).await);
    assert_eq!(counted.conversations[0].nodes, 3, "appending again counts nothing");
}

/// A batch may say a node twice, and it is there once; an id that it gives to two nodes keeps all of it out.
pub async fn a_batch_holds_a_node_once(store: &dyn ConversationStore) {
    let id = created(store, "twice").await;
    let nodes = chain(None, 2);
    let mut other = nodes[1].clone();
    other.message = Message::user("other");
    let error = kind(store.append(&me(), &id, &[nodes[0].clone(), nodes[1].clone(), other]).await);
    assert_eq!(error, Some(ErrorKind::Conflict), "one id for two nodes of a batch is a conflict");
    assert!(contents(store, &id).await.1.is_empty(), "which keeps nothing of the batch");
    let twice = [nodes[0].clone(), nodes[0].clone(), nodes[1].clone(), nodes[0].clone()];
    must("append a node twice in a batch", store.append(&me(), &id, &twice).await);
    assert_eq!(contents(store, &id).await.1.len(), 2, "a node that is appended twice at once is there once");
    let counted = must("list", store.list(&me(), &Query::default()).await);
    assert_eq!(counted.conversations[0].nodes, 2, "and counted once");
}

/// A known id with other content is a conflict, and nothing of the batch is kept.
pub async fn other_content_is_a_conflict(store: &dyn ConversationStore) {
    let id = created(store, "other").await;
    let nodes = chain(None, 2);
    must("append", store.append(&me(), &id, &nodes).await);
    let before = contents(store, &id).await;
    let fresh = Node::new(Some(nodes[1].id), Message::user("fresh"));
    let mut said = nodes[1].clone();
    said.message = Message::user("other");
    let mut moved = nodes[1].clone();
    moved.parent = None;
    let mut reported = nodes[1].clone();
    reported.reply = Some(Box::new(ReplyFacts::new("model")));
    for other in [said, moved, reported] {
        let error = kind(store.append(&me(), &id, &[fresh.clone(), other]).await);
        assert_eq!(error, Some(ErrorKind::Conflict), "a known id with other content is a conflict");
        assert_eq!(contents(store, &id).await, before, "a conflict keeps nothing of the batch");
    }
    must("append after a conflict", store.append(&me(), &id, std::slice::from_ref(&fresh)).await);
}

/// A node's parent is there or earlier in the batch; otherwise nothing of the batch is kept.
pub async fn a_parent_must_exist(store: &dyn ConversationStore) {
    let id = created(store, "orphans").await;
    let nodes = chain(None, 2);
    let orphan = Node::new(Some(NodeId::new()), Message::user("orphan"));
    let child_first = vec![nodes[1].clone(), nodes[0].clone()];
    for batch in [vec![nodes[0].clone(), orphan], child_first] {
        let error = kind(store.append(&me(), &id, &batch).await);
        assert_eq!(error, Some(ErrorKind::NotFound), "a parent that is not there is not found");
        assert!(contents(store, &id).await.1.is_empty(), "an orphan keeps its whole batch out");
    }
    must("append parents before children", store.append(&me(), &id, &nodes).await);
}

/// What is loaded equals what was written, to the order of unknown fields.
pub async fn what_was_appended_is_loaded(store: &dyn ConversationStore) {
    let record = rich_record();
    let nodes = rich_nodes();
    must("create", store.create(&me(), &record).await);
    must("append", store.append(&me(), &record.id, &nodes[..2]).await);
    must("append", store.append(&me(), &record.id, &nodes[2..]).await);
    let (loaded, tree) = contents(store, &record.id).await;
    assert_eq!(text(&loaded), text(&record), "the record is loaded as it was created");
    assert_eq!(
        text(&must("record", store.record(&me(), &record.id).await)),
        text(&record),
        "the record is read as it was created"
    );
    let expected = must("a tree of the nodes", Tree::from_nodes(nodes.clone()));
    assert_eq!(tree, expected, "the tree is loaded as it was appended");
    for node in &nodes {
        let loaded = must("node", tree.node(node.id));
        assert_eq!(text(loaded), text(node), "a node is loaded as it was appended, fields in order");
    }
}

/// Numbers come back bit for bit: integers of 64 bits, and floats of every size.
pub async fn numbers_are_exact(store: &dyn ConversationStore) {
    let mut numbers =
        vec![json!(u64::MAX), json!(i64::MIN), json!(0.1 + 0.2), json!(-0.0), json!(5e-324), json!(f64::MAX)];
    // Bits of a fixed sequence: a reader that is not exact misreads three in ten.
    let mut bits: u64 = 0x9E37_79B9_7F4A_7C15;
    while numbers.len() < 4000 {
        bits = bits.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        numbers.push(json!(f64::from_bits(bits)));
    }
    let mut node = Node::new(None, Message::user("count"));
    node.metadata.insert("numbers".to_owned(), Value::from(numbers));
    let id = created(store, "numbers").await;
    must("append", store.append(&me(), &id, std::slice::from_ref(&node)).await);
    let loaded = must("load_path", store.load_path(&me(), &id, node.id).await);
    assert_eq!(text(&loaded[0]), text(&node), "numbers are exact");
    must("append the same numbers again", store.append(&me(), &id, std::slice::from_ref(&node)).await);
}

/// A loaded path is the path of the tree, and the path of a missing node is not found.
pub async fn a_path_is_the_path_of_the_tree(store: &dyn ConversationStore) {
    let id = filled(store, "path").await;
    let tree = contents(store, &id).await.1;
    for (_, node) in tree.walk() {
        let path = must("load_path", store.load_path(&me(), &id, node.id).await);
        let expected = must("path", tree.path(Some(node.id)));
        assert!(path.iter().eq(expected), "the path to {} is that of the tree", node.id);
        let alone = must("load_node", store.load_node(&me(), &id, node.id).await);
        assert_eq!(&alone, node, "a node that is read alone is that of the tree");
    }
    let error = kind(store.load_path(&me(), &id, NodeId::new()).await);
    assert_eq!(error, Some(ErrorKind::NotFound), "the path to a missing node is not found");
    let error = kind(store.load_node(&me(), &id, NodeId::new()).await);
    assert_eq!(error, Some(ErrorKind::NotFound), "a missing node is not found");
}

/// A chain of 5,000 messages is stored, loaded and walked.
pub async fn depth_is_no_limit(store: &dyn ConversationStore) {
    let id = created(store, "deep").await;
    let nodes = chain(None, 5000);
    must("append 5,000 nodes", store.append(&me(), &id, &nodes).await);
    let last = nodes[4999].id;
    must("move the head to the end", store.set_head(&me(), &id, None, Some(last)).await);
    let path = must("load_path", store.load_path(&me(), &id, last).await);
    assert!(path == nodes, "the path of 5,000 nodes is what was appended");
    let tree = contents(store, &id).await.1;
    assert_eq!(tree.len(), nodes.len(), "all 5,000 nodes are loaded");
    let next = chain(Some(last), 1);
    must("append below 5,000 nodes", store.append(&me(), &id, &next).await);
}

/// Siblings are in the order of their creation, whatever the order of insertion.
pub async fn siblings_are_in_creation_order(store: &dyn ConversationStore) {
    let id = created(store, "siblings").await;
    let root = Node::new(None, Message::user("Which?"));
    let answers: Vec<Node> = (0..6)
        .map(|number: usize| Node::new(Some(root.id), Message::assistant(number.to_string())))
        .collect();
    must("append", store.append(&me(), &id, std::slice::from_ref(&root)).await);
    for index in [3, 0, 5, 1, 4, 2] {
        must("append", store.append(&me(), &id, &answers[index..=index]).await);
    }
    let tree = contents(store, &id).await.1;
    let expected: Vec<NodeId> = answers.iter().map(|node| node.id).collect();
    assert_eq!(tree.children(Some(root.id)), expected, "siblings are in creation order");
}

/// The same node may be in several conversations, and is not shared between them.
pub async fn conversations_share_no_nodes(store: &dyn ConversationStore) {
    let nodes = chain(None, 3);
    let one = created(store, "one").await;
    let two = created(store, "two").await;
    must("append", store.append(&me(), &one, &nodes).await);
    let error = kind(store.append(&me(), &two, &nodes[1..]).await);
    assert_eq!(error, Some(ErrorKind::NotFound), "a parent in another conversation is not found");
    let error = kind(store.set_head(&me(), &two, None, Some(nodes[0].id)).await);
    assert_eq!(error, Some(ErrorKind::NotFound), "a node of another conversation is no head");
    must("append the same nodes to another conversation", store.append(&me(), &two, &nodes).await);
    must("delete", store.delete(&me(), &one).await);
    assert_eq!(contents(store, &two).await.1.len(), 3, "deleting one leaves the other");
}
