//! What is kept after a store is closed, and what a second store at the same place sees.

use std::sync::Arc;

use alloquy_core::store::{ConversationStore, ConversationStoreExt};
use alloquy_core::{ConversationId, ErrorKind, Message, Node, Query};
use futures::future::join_all;
use serde_json::json;

use super::conversations::{contents, created, filled};
use super::outcomes::{kind, me, must};
use super::samples::{chain, object, rich_nodes, rich_record};

/// Acknowledged changes are there after the store is opened again. `open` opens the same place each time.
pub async fn what_was_acknowledged_survives<S: ConversationStore>(open: impl AsyncFn() -> S) {
    let store = open().await;
    let record = rich_record();
    must("create", store.create(&me(), &record).await);
    must("append", store.append(&me(), &record.id, &rich_nodes()).await);
    let bytes: Arc<[u8]> = b"image"[..].into();
    let digest = must("put_blob", store.put_blob(&me(), &bytes).await);
    let gone = filled(&store, "gone").await;
    must("delete", store.delete(&me(), &gone).await);
    let last = contents(&store, &record.id).await.1.leaves().into_iter().next_back();
    must("set_head", store.set_head(&me(), &record.id, None, last).await);
    let pruned = changed(&store, &record.id).await;
    let before = contents(&store, &record.id).await;
    let listed_before = must("list", store.list(&me(), &Query::default()).await);
    drop(store);
    let store = open().await;
    assert_eq!(contents(&store, &record.id).await, before, "a conversation survives");
    let again = kind(store.append(&me(), &record.id, std::slice::from_ref(&pruned)).await);
    assert_eq!(again, Some(ErrorKind::Conflict), "what was pruned stays so");
    let listed_after = must("list", store.list(&me(), &Query::default()).await);
    assert_eq!(listed_after, listed_before, "the list survives");
    let read = must("get_blob", store.get_blob(&me(), digest).await);
    assert_eq!(read, Some(bytes), "a blob survives");
    assert!(!must("exists", store.exists(&me(), &gone).await), "a deletion survives");
    must("append after reopening", store.append(&me(), &record.id, &chain(last, 2)).await);
}

/// A store may be closed several times. After that a call works or fails with [`ErrorKind::Store`], and acknowledged changes
/// are there when the place is opened again.
pub async fn what_was_acknowledged_survives_closing<S: ConversationStore>(open: impl AsyncFn() -> S) {
    let store = open().await;
    let id = filled(&store, "closed").await;
    let before = contents(&store, &id).await;
    must("close", store.close().await);
    must("close again", store.close().await);
    let late = Node::new(None, Message::user("late"));
    let refused = kind(store.append(&me(), &id, &[late]).await);
    assert!(
        refused.is_none_or(|kind| kind == ErrorKind::Store),
        "a call on a closed store works or fails with a store error: {refused:?}"
    );
    if refused.is_some() {
        let reopened = open().await;
        assert_eq!(contents(&reopened, &id).await, before, "a conversation survives closing");
    }
}

/// Replaces the metadata, and compacts a conversation from which a node was pruned.
async fn changed(store: &dyn ConversationStore, id: &ConversationId) -> Node {
    let pruned = Node::new(None, Message::user("pruned"));
    must("append", store.append(&me(), id, std::slice::from_ref(&pruned)).await);
    must("prune", store.prune(&me(), id, pruned.id).await);
    must("compact", store.compact(&me(), id).await);
    let metadata = object(json!({"survives": true}));
    must("update_metadata", store.update_metadata(&me(), id, 0, &metadata).await);
    pruned
}

/// A change that is acknowledged through one handle is visible through another at once.
pub async fn handles_see_each_other(one: &dyn ConversationStore, two: &dyn ConversationStore) {
    let id = created(one, "shared").await;
    let mut parent = None;
    for turn in 0..6 {
        let (writer, reader) = if turn % 2 == 0 { (one, two) } else { (two, one) };
        let nodes = chain(parent, 2);
        must("append", writer.append(&me(), &id, &nodes).await);
        let next = Some(nodes[1].id);
        must("set_head", writer.set_head(&me(), &id, parent, next).await);
        let (record, tree) = contents(reader, &id).await;
        assert_eq!((record.head, tree.len()), (next, 2 * turn + 2), "another handle sees turn {turn}");
        let summaries = must("list", reader.list(&me(), &Query::default()).await);
        assert_eq!(summaries.conversations[0].nodes, 2 * turn + 2, "another handle lists turn {turn}");
        parent = next;
    }
    must("delete", one.delete(&me(), &id).await);
    assert!(!must("exists", two.exists(&me(), &id).await), "another handle sees a deletion");
    let again = filled(one, "shared").await;
    assert_eq!(contents(two, &again).await, contents(one, &again).await, "and the name in use again");
}

/// Of two handles that move the head from one place, one succeeds.
pub async fn of_two_handles_one_moves_the_head(one: &dyn ConversationStore, two: &dyn ConversationStore) {
    let owner = me();
    let id = created(one, "handles").await;
    for _ in 0..20 {
        let nodes = [one, two].map(|_| Node::new(None, Message::user("me")));
        must("append", one.append(&owner, &id, &nodes).await);
        let from = must("record", two.record(&owner, &id).await).head;
        let moves = [
            one.set_head(&owner, &id, from, Some(nodes[0].id)),
            two.set_head(&owner, &id, from, Some(nodes[1].id)),
        ];
        let outcomes: Vec<_> = join_all(moves).await.into_iter().map(kind).collect();
        let one_won = outcomes == [None, Some(ErrorKind::Conflict)];
        let two_won = outcomes == [Some(ErrorKind::Conflict), None];
        assert!(one_won || two_won, "of two handles one moves the head: {outcomes:?}");
    }
}

/// Of two handles that replace the metadata of one revision, one succeeds.
pub async fn of_two_handles_one_replaces_metadata(one: &dyn ConversationStore, two: &dyn ConversationStore) {
    let owner = me();
    let id = created(one, "revisions").await;
    for revision in 0..20 {
        let metadata = [1, 2].map(|handle| object(json!({"handle": handle, "revision": revision})));
        let changes = [
            one.update_metadata(&owner, &id, revision, &metadata[0]),
            two.update_metadata(&owner, &id, revision, &metadata[1]),
        ];
        let outcomes: Vec<_> = join_all(changes).await;
        let won: Vec<usize> = (0..2).filter(|&handle| outcomes[handle].is_ok()).collect();
        assert_eq!(won.len(), 1, "of two handles one replaces the metadata: {outcomes:?}");
        for reader in [one, two] {
            let found = must("record", reader.record(&owner, &id).await);
            assert_eq!(
                (found.revision, &found.metadata),
                (revision + 1, &metadata[won[0]]),
                "which both see"
            );
        }
    }
}

/// Concurrent appends through two handles lose nothing, whatever the other handle prunes and compacts meanwhile.
pub async fn two_handles_lose_nothing(one: &dyn ConversationStore, two: &dyn ConversationStore) {
    let owner = &me();
    let id = &created(one, "both").await;
    let root = chain(None, 1);
    must("append", one.append(owner, id, &root).await);
    let batches: Vec<Vec<Node>> = (0..24).map(|_| chain(Some(root[0].id), 3)).collect();
    let handles = [one, two];
    let writes = batches.iter().zip(handles.iter().cycle()).map(|(batch, store)| async move {
        must("append", store.append(owner, id, batch).await);
        must("prune", store.prune(owner, id, batch[2].id).await);
        must("compact", store.compact(owner, id).await);
    });
    join_all(writes).await;
    for reader in [one, two] {
        let tree = contents(reader, id).await.1;
        assert_eq!(tree.len(), 1 + 24 * 2, "two handles lose no node, and prune what they prune");
        for node in batches.iter().flat_map(|batch| &batch[..2]) {
            assert!(tree.node(node.id).is_ok(), "each node is there");
        }
    }
}
