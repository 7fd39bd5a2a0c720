//! What every conversation store must do.
//!
//! [`all`] runs on any store, [`persistent`] on those that outlive the process, [`threads_lose_nothing`] on those
//! whose calls may be waited for from any thread. Nothing here knows a runtime, a file or a database.
//!
//! ```
//! use alloquy_core::{MemoryStore, laws};
//!
//! pollster::block_on(laws::store::all(async || MemoryStore::default()));
//! laws::store::threads_lose_nothing(&MemoryStore::default());
//! ```

// A law that panics is a law that is broken.
#![allow(clippy::indexing_slicing)]

mod samples;

use std::fmt::Display;
use std::sync::Arc;
use std::time::SystemTime;

use futures::future::{FutureExt, join_all};
use serde_json::{Value, json};

use self::samples::{chain, moment, node_of, rich_nodes, rich_record};
use crate::{
    ConversationId, ConversationRecord, ConversationStore, ConversationStoreExt, Digest, ErrorKind, Media,
    Message, Node, NodeId, Preface, Query, Result, Tree,
};

/// Runs every law of a store; `open` makes a fresh empty one each time.
///
/// # Panics
/// When a law is broken, with a sentence that says which.
pub async fn all<S: ConversationStore>(open: impl AsyncFn() -> S) {
    creating_twice_is_a_conflict(&open().await).await;
    a_new_conversation_has_no_head(&open().await).await;
    appending_again_changes_nothing(&open().await).await;
    other_content_is_a_conflict(&open().await).await;
    a_parent_must_exist(&open().await).await;
    a_missing_conversation_is_not_found(&open().await).await;
    the_head_moves_by_compare_and_set(&open().await).await;
    of_many_writers_one_moves_the_head(&open().await).await;
    a_head_must_exist(&open().await).await;
    what_was_appended_is_loaded(&open().await).await;
    numbers_are_exact(&open().await).await;
    a_path_is_the_path_of_the_tree(&open().await).await;
    depth_is_no_limit(&open().await).await;
    siblings_stand_in_the_order_of_making(&open().await).await;
    conversations_are_listed_last_updated_first(&open().await).await;
    a_deleted_conversation_is_gone(&open().await).await;
    blobs_are_kept_by_digest(&open().await).await;
    names_stay_apart(&open().await).await;
    conversations_share_no_nodes(&open().await).await;
    concurrent_appends_lose_nothing(&open().await).await;
    a_dropped_call_is_all_or_nothing(&open().await).await;
}

/// Runs every law of a store that outlives the process: `place` names a fresh empty place, `open` opens a store
/// there, and may do so several times at once.
///
/// # Panics
/// When a law is broken, with a sentence that says which.
pub async fn persistent<P: Clone, S: ConversationStore>(place: impl Fn() -> P, open: impl AsyncFn(P) -> S) {
    let here = place();
    what_was_acknowledged_survives(async || open(here.clone()).await).await;
    let here = place();
    handles_see_each_other(&open(here.clone()).await, &open(here).await).await;
    let here = place();
    of_two_handles_one_moves_the_head(&open(here.clone()).await, &open(here).await).await;
}

/// Creating a conversation that exists is a conflict and changes nothing.
pub async fn creating_twice_is_a_conflict(store: &dyn ConversationStore) {
    let id = filled(store, "twice").await;
    let before = contents(store, &id).await;
    let again = ConversationRecord::new(id.clone(), Preface::system("other"));
    let error = kind(store.create(&again).await);
    assert_eq!(error, Some(ErrorKind::Conflict), "creating twice is a conflict");
    assert_eq!(contents(store, &id).await, before, "creating twice changes nothing");
}

/// A new conversation has no nodes, so a record with a head is invalid and creates nothing.
pub async fn a_new_conversation_has_no_head(store: &dyn ConversationStore) {
    let mut record = ConversationRecord::new(name("headless"), Preface::default());
    record.head = Some(NodeId::new());
    let error = kind(store.create(&record).await);
    assert_eq!(error, Some(ErrorKind::Invalid), "a new record with a head is invalid");
    let exists = must("exists", store.exists(&record.id).await);
    assert!(!exists, "an invalid record creates nothing");
}

/// Appending the same nodes again, or none, is fine and changes nothing.
pub async fn appending_again_changes_nothing(store: &dyn ConversationStore) {
    let id = created(store, "again").await;
    let nodes = chain(None, 3);
    let doubled: Vec<Node> = nodes.iter().chain(&nodes).cloned().collect();
    must("append a batch that repeats itself", store.append(&id, &doubled).await);
    let before = contents(store, &id).await;
    assert_eq!(before.1.len(), 3, "a node that is appended twice is there once");
    must("append again", store.append(&id, &nodes).await);
    must("append a known node", store.append(&id, &nodes[2..]).await);
    must("append nothing", store.append(&id, &[]).await);
    assert_eq!(contents(store, &id).await, before, "appending again changes nothing");
    let counted = must("list", store.list(&Query::default()).await);
    assert_eq!(counted[0].nodes, 3, "appending again counts nothing");
}

/// A known id with other content is a conflict, and nothing of the batch is kept.
pub async fn other_content_is_a_conflict(store: &dyn ConversationStore) {
    let id = created(store, "other").await;
    let nodes = chain(None, 2);
    must("append", store.append(&id, &nodes).await);
    let before = contents(store, &id).await;
    let fresh = Node::new(Some(nodes[1].id), Message::user("fresh"));
    let said = Node { message: Message::user("other"), ..nodes[1].clone() };
    let moved = Node { parent: None, ..nodes[1].clone() };
    for other in [said, moved] {
        let error = kind(store.append(&id, &[fresh.clone(), other]).await);
        assert_eq!(error, Some(ErrorKind::Conflict), "a known id with other content is a conflict");
        assert_eq!(contents(store, &id).await, before, "a conflict keeps nothing of the batch");
    }
    must("append after a conflict", store.append(&id, std::slice::from_ref(&fresh)).await);
}

/// A node's parent is there or earlier in the batch; otherwise nothing of the batch is kept.
pub async fn a_parent_must_exist(store: &dyn ConversationStore) {
    let id = created(store, "orphans").await;
    let nodes = chain(None, 2);
    let orphan = Node::new(Some(NodeId::new()), Message::user("orphan"));
    let child_first = vec![nodes[1].clone(), nodes[0].clone()];
    for batch in [vec![nodes[0].clone(), orphan], child_first] {
        let error = kind(store.append(&id, &batch).await);
        assert_eq!(error, Some(ErrorKind::NotFound), "a parent that is not there is not found");
        assert!(contents(store, &id).await.1.is_empty(), "an orphan keeps its whole batch out");
    }
    must("append parents before children", store.append(&id, &nodes).await);
}

/// Every call on a conversation that is not there is "not found".
pub async fn a_missing_conversation_is_not_found(store: &dyn ConversationStore) {
    let id = name("missing");
    let node = Node::new(None, Message::user("lost"));
    let calls = [
        ("append", kind(store.append(&id, &[]).await)),
        ("append a node", kind(store.append(&id, std::slice::from_ref(&node)).await)),
        ("set_head", kind(store.set_head(&id, None, None).await)),
        ("record", kind(store.record(&id).await)),
        ("load", kind(store.load(&id).await)),
        ("load_path", kind(store.load_path(&id, node.id).await)),
        ("delete", kind(store.delete(&id).await)),
    ];
    for (call, error) in calls {
        assert_eq!(error, Some(ErrorKind::NotFound), "{call} on a missing conversation is not found");
    }
    let exists = must("exists", store.exists(&id).await);
    assert!(!exists, "asking for a conversation does not create it");
    assert_eq!(must("count", store.count().await), 0, "an empty store counts none");
    let listed = must("list", store.list(&Query::default()).await);
    assert!(listed.is_empty(), "an empty store lists nothing");
}

/// The head moves from where it stands, to any node and back before the first; from elsewhere it is a conflict.
pub async fn the_head_moves_by_compare_and_set(store: &dyn ConversationStore) {
    let id = created(store, "head").await;
    let nodes = chain(None, 3);
    must("append", store.append(&id, &nodes).await);
    let (first, last) = (Some(nodes[0].id), Some(nodes[2].id));
    for (from, to) in [(None, last), (last, first), (first, first), (first, None), (None, None)] {
        must("move the head", store.set_head(&id, from, to).await);
        let head = must("record", store.record(&id).await).head;
        assert_eq!(head, to, "the head stands where it was moved to");
        let loaded = contents(store, &id).await.0.head;
        assert_eq!(loaded, to, "a load shows the head where it was moved to");
    }
    must("move the head", store.set_head(&id, None, last).await);
    for from in [None, first, Some(NodeId::new())] {
        let error = kind(store.set_head(&id, from, first).await);
        assert_eq!(error, Some(ErrorKind::Conflict), "moving the head from elsewhere is a conflict");
    }
    let head = must("record", store.record(&id).await).head;
    assert_eq!(head, last, "a conflict leaves the head");
}

/// Of many writers that move the head from one place, exactly one succeeds.
pub async fn of_many_writers_one_moves_the_head(store: &dyn ConversationStore) {
    let id = created(store, "race").await;
    let answers: Vec<Node> = (0..16).map(|_| Node::new(None, Message::user("me"))).collect();
    must("append", store.append(&id, &answers).await);
    let moves = answers.iter().map(|node| store.set_head(&id, None, Some(node.id)));
    let outcomes: Vec<_> = join_all(moves).await.into_iter().map(kind).collect();
    let won = outcomes.iter().position(Option::is_none);
    let head = must("record", store.record(&id).await).head;
    assert_eq!(head, won.map(|index| answers[index].id), "the head stands where the winner put it");
    let lost = outcomes.iter().filter(|&&error| error == Some(ErrorKind::Conflict)).count();
    assert_eq!(lost, answers.len() - 1, "every writer but one gets a conflict: {outcomes:?}");
}

/// The head moves to a node that is there, and stays otherwise.
pub async fn a_head_must_exist(store: &dyn ConversationStore) {
    let id = created(store, "nowhere").await;
    let error = kind(store.set_head(&id, None, Some(NodeId::new())).await);
    assert_eq!(error, Some(ErrorKind::NotFound), "a head that is not there is not found");
    let head = must("record", store.record(&id).await).head;
    assert_eq!(head, None, "a head that is not there changes nothing");
}

/// What is loaded equals what was written, to the order of unknown fields.
pub async fn what_was_appended_is_loaded(store: &dyn ConversationStore) {
    let record = rich_record();
    let nodes = rich_nodes();
    must("create", store.create(&record).await);
    must("append", store.append(&record.id, &nodes[..2]).await);
    must("append", store.append(&record.id, &nodes[2..]).await);
    let (loaded, tree) = contents(store, &record.id).await;
    assert_eq!(text(&loaded), text(&record), "the record is loaded as it was created");
    assert_eq!(
        text(&must("record", store.record(&record.id).await)),
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
    must("append", store.append(&id, std::slice::from_ref(&node)).await);
    let loaded = must("load_path", store.load_path(&id, node.id).await);
    assert_eq!(text(&loaded[0]), text(&node), "numbers are exact");
    must("append the same numbers again", store.append(&id, std::slice::from_ref(&node)).await);
}

/// A path is what the tree says it is, and a missing node is not found.
pub async fn a_path_is_the_path_of_the_tree(store: &dyn ConversationStore) {
    let id = filled(store, "path").await;
    let tree = contents(store, &id).await.1;
    for (_, node) in tree.walk() {
        let path = must("load_path", store.load_path(&id, node.id).await);
        let expected = must("path", tree.path(Some(node.id)));
        assert!(path.iter().eq(expected), "the path to {} is that of the tree", node.id);
    }
    let error = kind(store.load_path(&id, NodeId::new()).await);
    assert_eq!(error, Some(ErrorKind::NotFound), "the path to a missing node is not found");
}

/// A chain of 5,000 messages is stored, loaded and walked.
pub async fn depth_is_no_limit(store: &dyn ConversationStore) {
    let id = created(store, "deep").await;
    let nodes = chain(None, 5000);
    must("append 5,000 nodes", store.append(&id, &nodes).await);
    let last = nodes[4999].id;
    must("move the head to the end", store.set_head(&id, None, Some(last)).await);
    let path = must("load_path", store.load_path(&id, last).await);
    assert!(path == nodes, "the path of 5,000 nodes is what was appended");
    let tree = contents(store, &id).await.1;
    assert_eq!(tree.len(), nodes.len(), "all 5,000 nodes are loaded");
    let next = chain(Some(last), 1);
    must("append below 5,000 nodes", store.append(&id, &next).await);
}

/// Siblings stand in the order they were made, whatever the order of insertion.
pub async fn siblings_stand_in_the_order_of_making(store: &dyn ConversationStore) {
    let id = created(store, "siblings").await;
    let root = Node::new(None, Message::user("Which?"));
    let answers: Vec<Node> = (0..6)
        .map(|number: usize| Node::new(Some(root.id), Message::assistant(number.to_string())))
        .collect();
    must("append", store.append(&id, std::slice::from_ref(&root)).await);
    for index in [3, 0, 5, 1, 4, 2] {
        must("append", store.append(&id, &answers[index..=index]).await);
    }
    let tree = contents(store, &id).await.1;
    let expected: Vec<NodeId> = answers.iter().map(|node| node.id).collect();
    assert_eq!(tree.children(Some(root.id)), expected, "siblings stand in the order of making");
}

/// Lists stand last updated first, can be cut, and count nodes; counting counts conversations.
pub async fn conversations_are_listed_last_updated_first(store: &dyn ConversationStore) {
    // Created, and the times of the nodes: the latest of them counts.
    let conversations: [(&str, u64, &[u64]); 4] =
        [("third", 10, &[20]), ("second", 30, &[12]), ("first", 5, &[40, 15]), ("fourth", 19, &[])];
    for (name_, seconds, nodes) in conversations {
        let mut record = ConversationRecord::new(name(name_), Preface::default());
        record.created = moment(seconds);
        must("create", store.create(&record).await);
        for &seconds in nodes {
            must("append", store.append(&record.id, &[node_of(seconds)]).await);
        }
    }
    let all = listed(store, None, 0).await;
    let expected = [("first", 2, 40), ("second", 1, 30), ("third", 1, 20), ("fourth", 0, 19)];
    let expected = expected.map(|(name, nodes, seconds)| (name.to_owned(), nodes, moment(seconds)));
    assert_eq!(all, expected, "conversations are listed last updated first, with their nodes");
    assert_eq!(must("count", store.count().await), 4, "all conversations are counted");
    for (limit, offset) in [(Some(2), 0), (Some(2), 1), (Some(9), 3), (Some(0), 0), (None, 2), (None, 9)] {
        let page = listed(store, limit, offset).await;
        let wanted = all.iter().skip(offset).take(limit.unwrap_or(usize::MAX)).cloned();
        assert_eq!(page, wanted.collect::<Vec<_>>(), "a page of limit {limit:?} and offset {offset}");
    }
}

/// A deleted conversation is gone, twice is not found, and its name can be taken again.
pub async fn a_deleted_conversation_is_gone(store: &dyn ConversationStore) {
    let id = filled(store, "deleted").await;
    let other = filled(store, "kept").await;
    let before = contents(store, &other).await;
    let old = contents(store, &id).await.1;
    must("delete", store.delete(&id).await);
    assert!(!must("exists", store.exists(&id).await), "a deleted conversation is gone");
    assert_eq!(must("count", store.count().await), 1, "a deleted conversation is not counted");
    let error = kind(store.delete(&id).await);
    assert_eq!(error, Some(ErrorKind::NotFound), "deleting twice is not found");
    let (record, tree) = contents(store, &created(store, "deleted").await).await;
    assert!(tree.is_empty() && record.head.is_none(), "a name that is taken again starts empty");
    let nodes: Vec<Node> = old.walk().map(|(_, node)| node.clone()).collect();
    must("append what was deleted to the new conversation", store.append(&id, &nodes).await);
    assert_eq!(contents(store, &other).await, before, "deleting leaves other conversations");
}

/// Blobs are kept by digest, once, whatever they hold; a digest nobody stored is none.
pub async fn blobs_are_kept_by_digest(store: &dyn ConversationStore) {
    let nothing = must("get_blob", store.get_blob(Digest::of(b"never stored")).await);
    assert!(nothing.is_none(), "a blob that was never stored is none");
    let zeros = vec![0; 100_000];
    let every: Vec<u8> = (0..=255).collect();
    for bytes in [&b""[..], b"\n", &every, &zeros] {
        let bytes: Arc<[u8]> = bytes.into();
        for _ in 0..2 {
            let digest = must("put_blob", store.put_blob(&bytes).await);
            assert_eq!(digest, Digest::of(&bytes), "a blob is stored under the digest of its bytes");
        }
        let read = must("get_blob", store.get_blob(Digest::of(&bytes)).await);
        assert_eq!(read.as_ref(), Some(&bytes), "a blob is read as it was stored");
    }
    let media = Media::new("image/png", every);
    must("put_media", store.put_media(&media).await);
    let bare: Media = must("media", serde_json::from_str(&text(&media)));
    let restored = must("get_media", store.get_media(&bare).await);
    assert_eq!(restored.bytes(), media.bytes(), "media come back with their bytes");
}

/// Names that differ name different conversations, whatever a file system makes of them.
pub async fn names_stay_apart(store: &dyn ConversationStore) {
    let long = "x".repeat(254);
    let names = [
        "a".to_owned(),
        "A".to_owned(),
        "a/b".to_owned(),
        "a\\b".to_owned(),
        "a%2fb".to_owned(),
        "a%2Fb".to_owned(),
        "..".to_owned(),
        ".".to_owned(),
        "../a".to_owned(),
        "/a".to_owned(),
        "a.".to_owned(),
        "a ".to_owned(),
        " a".to_owned(),
        " ".to_owned(),
        "CON".to_owned(),
        "con".to_owned(),
        "nul.txt".to_owned(),
        "~".to_owned(),
        "*?<>|:\"'".to_owned(),
        "';--".to_owned(),
        "é".to_owned(),
        "e\u{301}".to_owned(),
        "ß".to_owned(),
        "SS".to_owned(),
        "日本語🦀".to_owned(),
        format!("{long}a"),
        format!("{long}A"),
        "🦀".repeat(63),
        format!("{}é", "É".repeat(126)),
        format!("{}É", "É".repeat(126)),
    ];
    for name_ in &names {
        let preface = Preface::system(name_.as_str());
        must("create", store.create(&ConversationRecord::new(name(name_), preface)).await);
    }
    for name_ in &names {
        let record = must("record", store.record(&name(name_)).await);
        assert_eq!(record.id.as_str(), name_, "a conversation keeps its name");
        assert_eq!(record.preface, Preface::system(name_.as_str()), "conversation {name_:?} stays apart");
    }
    assert_eq!(must("count", store.count().await), names.len(), "every name is counted");
    let mut found: Vec<String> = listed(store, None, 0).await.into_iter().map(|(name, ..)| name).collect();
    let mut wanted = names.to_vec();
    found.sort();
    wanted.sort();
    assert_eq!(found, wanted, "every name is listed");
    for (deleted, name_) in names.iter().enumerate() {
        must("delete", store.delete(&name(name_)).await);
        let left = must("count", store.count().await);
        assert_eq!(left, names.len() - deleted - 1, "deleting {name_:?} deletes one conversation");
    }
}

/// The same node may stand in several conversations, and is not shared between them.
pub async fn conversations_share_no_nodes(store: &dyn ConversationStore) {
    let nodes = chain(None, 3);
    let (one, two) = (created(store, "one").await, created(store, "two").await);
    must("append", store.append(&one, &nodes).await);
    let error = kind(store.append(&two, &nodes[1..]).await);
    assert_eq!(error, Some(ErrorKind::NotFound), "a parent in another conversation is not found");
    let error = kind(store.set_head(&two, None, Some(nodes[0].id)).await);
    assert_eq!(error, Some(ErrorKind::NotFound), "a node of another conversation is no head");
    must("append the same nodes to another conversation", store.append(&two, &nodes).await);
    must("delete", store.delete(&one).await);
    assert_eq!(contents(store, &two).await.1.len(), 3, "deleting one leaves the other");
}

/// Appends that are waited for together lose nothing.
pub async fn concurrent_appends_lose_nothing(store: &dyn ConversationStore) {
    let id = created(store, "together").await;
    let root = chain(None, 1);
    must("append", store.append(&id, &root).await);
    let batches: Vec<Vec<Node>> = (0..32).map(|_| chain(Some(root[0].id), 3)).collect();
    let done = join_all(batches.iter().map(|batch| store.append(&id, batch))).await;
    done.into_iter().for_each(|outcome| must("append together", outcome));
    let tree = contents(store, &id).await.1;
    assert_eq!(tree.len(), 1 + 32 * 3, "concurrent appends lose nothing");
    assert_eq!(tree.children(Some(root[0].id)).len(), 32, "every append stands under its own parent");
}

/// Appends and moves of the head from many threads lose nothing. Blocks, so it is apart from [`all`].
///
/// # Panics
/// When the law is broken.
pub fn threads_lose_nothing(store: &dyn ConversationStore) {
    let id = pollster::block_on(created(store, "threads"));
    let writer = || {
        pollster::block_on(async {
            for node in (0..20).map(|_| Node::new(None, Message::user("thread"))) {
                must("append", store.append(&id, std::slice::from_ref(&node)).await);
                move_head(store, &id, node.id).await;
            }
        });
    };
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(writer);
        }
    });
    let (record, tree) = pollster::block_on(contents(store, &id));
    assert_eq!(tree.len(), 80, "threads lose no node");
    let head = must("the node at the head", tree.path(record.head));
    assert_eq!(head.len(), 1, "the head stands at the last writer's node");
}

/// A call whose future is dropped after one poll changed everything or nothing.
pub async fn a_dropped_call_is_all_or_nothing(store: &dyn ConversationStore) {
    let id = created(store, "dropped").await;
    let mut expected = 0;
    for _ in 0..20 {
        let nodes = chain(None, 5);
        drop(store.append(&id, &nodes).now_or_never());
        let found = contents(store, &id).await.1.len();
        assert!(found == expected || found == expected + 5, "a dropped append left {found} nodes");
        must("append after a drop", store.append(&id, &nodes).await);
        expected += 5;
        let tree = contents(store, &id).await.1;
        assert_eq!(tree.len(), expected, "appending after a drop completes it");
    }
}

/// What was acknowledged is there after the store is closed and opened again; `open` opens the same place.
pub async fn what_was_acknowledged_survives<S: ConversationStore>(open: impl AsyncFn() -> S) {
    let store = open().await;
    let record = rich_record();
    must("create", store.create(&record).await);
    must("append", store.append(&record.id, &rich_nodes()).await);
    let bytes: Arc<[u8]> = b"picture"[..].into();
    let digest = must("put_blob", store.put_blob(&bytes).await);
    let gone = filled(&store, "gone").await;
    must("delete", store.delete(&gone).await);
    let last = contents(&store, &record.id).await.1.leaves().into_iter().next_back();
    must("set_head", store.set_head(&record.id, None, last).await);
    let before = contents(&store, &record.id).await;
    let listed_before = must("list", store.list(&Query::default()).await);
    drop(store);
    let store = open().await;
    assert_eq!(contents(&store, &record.id).await, before, "a conversation survives");
    let listed_after = must("list", store.list(&Query::default()).await);
    assert_eq!(listed_after, listed_before, "the list survives");
    let read = must("get_blob", store.get_blob(digest).await);
    assert_eq!(read, Some(bytes), "a blob survives");
    assert!(!must("exists", store.exists(&gone).await), "a deletion survives");
    must("append after reopening", store.append(&record.id, &chain(last, 2)).await);
}

/// What is acknowledged through one handle is seen through another at once.
pub async fn handles_see_each_other(one: &dyn ConversationStore, two: &dyn ConversationStore) {
    let id = created(one, "shared").await;
    let mut parent = None;
    for turn in 0..6 {
        let (writer, reader) = if turn % 2 == 0 { (one, two) } else { (two, one) };
        let nodes = chain(parent, 2);
        must("append", writer.append(&id, &nodes).await);
        let next = Some(nodes[1].id);
        must("set_head", writer.set_head(&id, parent, next).await);
        let (record, tree) = contents(reader, &id).await;
        assert_eq!((record.head, tree.len()), (next, 2 * turn + 2), "another handle sees turn {turn}");
        let summaries = must("list", reader.list(&Query::default()).await);
        assert_eq!(summaries[0].nodes, 2 * turn + 2, "another handle lists turn {turn}");
        parent = next;
    }
    must("delete", one.delete(&id).await);
    assert!(!must("exists", two.exists(&id).await), "another handle sees a deletion");
    let again = filled(one, "shared").await;
    assert_eq!(contents(two, &again).await, contents(one, &again).await, "and the name taken again");
}

/// Of two handles that move the head from one place, one succeeds.
pub async fn of_two_handles_one_moves_the_head(one: &dyn ConversationStore, two: &dyn ConversationStore) {
    let id = created(one, "handles").await;
    for _ in 0..20 {
        let nodes = [one, two].map(|_| Node::new(None, Message::user("me")));
        must("append", one.append(&id, &nodes).await);
        let from = must("record", two.record(&id).await).head;
        let moves = [one.set_head(&id, from, Some(nodes[0].id)), two.set_head(&id, from, Some(nodes[1].id))];
        let outcomes: Vec<_> = join_all(moves).await.into_iter().map(kind).collect();
        let one_won = outcomes == [None, Some(ErrorKind::Conflict)];
        let two_won = outcomes == [Some(ErrorKind::Conflict), None];
        assert!(one_won || two_won, "of two handles one moves the head: {outcomes:?}");
    }
}

#[track_caller]
fn must<T, E: Display>(call: &str, outcome: Result<T, E>) -> T {
    outcome.unwrap_or_else(|error| panic!("{call} must succeed, but: {error:#}"))
}

fn kind<T>(outcome: Result<T>) -> Option<ErrorKind> {
    outcome.err().map(|error| error.kind())
}

fn name(text: &str) -> ConversationId {
    must("a conversation id", text.parse())
}

/// Equality of values ignores the order of their fields; equality of their text does not.
fn text(value: &impl serde::Serialize) -> String {
    must("serialise", serde_json::to_string(value))
}

async fn contents(store: &dyn ConversationStore, id: &ConversationId) -> (ConversationRecord, Tree) {
    must("load", store.load(id).await)
}

async fn created(store: &dyn ConversationStore, text: &str) -> ConversationId {
    let record = ConversationRecord::new(name(text), Preface::system("Be brief."));
    must("create", store.create(&record).await);
    record.id
}

/// A conversation with two branches and its head on the first.
async fn filled(store: &dyn ConversationStore, text: &str) -> ConversationId {
    let id = created(store, text).await;
    let trunk = chain(None, 3);
    let branch = chain(Some(trunk[0].id), 2);
    must("append", store.append(&id, &trunk).await);
    must("append", store.append(&id, &branch).await);
    must("set_head", store.set_head(&id, None, Some(trunk[2].id)).await);
    id
}

async fn listed(
    store: &dyn ConversationStore,
    limit: Option<usize>,
    offset: usize,
) -> Vec<(String, usize, SystemTime)> {
    let summaries = must("list", store.list(&Query { limit, offset }).await);
    let line =
        |summary: crate::ConversationSummary| (summary.record.id.into(), summary.nodes, summary.updated);
    summaries.into_iter().map(line).collect()
}

async fn move_head(store: &dyn ConversationStore, id: &ConversationId, to: NodeId) {
    loop {
        let from = must("record", store.record(id).await).head;
        match store.set_head(id, from, Some(to)).await {
            Err(error) if error.is_conflict() => {}
            outcome => return must("set_head", outcome),
        }
    }
}
