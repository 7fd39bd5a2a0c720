//! Pruning: which nodes are hidden, that they stay hidden, and what compacting keeps.

use alloquy_core::store::ConversationStore;
use alloquy_core::{ConversationId, ErrorKind, Message, Node, NodeId, Query};

use super::conversations::{contents, created};
use super::outcomes::{kind, me, must, text};
use super::samples::chain;

/// Creates a trunk of four nodes and a branch of three at its second. The branch contains "branch"; the head ends the trunk.
async fn branched(store: &dyn ConversationStore, name: &str) -> (ConversationId, Vec<Node>, Vec<Node>) {
    let id = created(store, name).await;
    let trunk = chain(None, 4);
    let mut branch = chain(Some(trunk[1].id), 3);
    branch[2].message = Message::user("at the end of a branch");
    must("append", store.append(&me(), &id, &trunk).await);
    must("append", store.append(&me(), &id, &branch).await);
    must("set_head", store.set_head(&me(), &id, None, Some(trunk[3].id)).await);
    (id, trunk, branch)
}

async fn prune(store: &dyn ConversationStore, id: &ConversationId, node: NodeId) {
    must("prune", store.prune(&me(), id, node).await);
}

/// A pruned node is gone with everything below it: from trees, paths, lists and searches. Its siblings stay.
pub async fn a_pruned_subtree_is_gone(store: &dyn ConversationStore) {
    let (id, trunk, branch) = branched(store, "pruned").await;
    let query = must("a text", Query::default().text("branch"));
    assert_eq!(must("search", store.search(&me(), &query).await).hits.len(), 1, "a branch is found before");
    let updated = must("list", store.list(&me(), &Query::default()).await).conversations[0].updated;
    prune(store, &id, branch[1].id).await;
    let (record, tree) = contents(store, &id).await;
    assert_eq!(tree.len(), 5, "a pruned node is gone with everything below it, and nothing else is");
    assert_eq!(tree.tombstones().collect::<Vec<_>>(), [branch[1].id], "a tree knows what was pruned");
    assert_eq!(record.head, Some(trunk[3].id), "pruning leaves the head");
    assert!(tree.children(Some(branch[0].id)).is_empty(), "a pruned node is no child");
    for node in &branch[1..] {
        let path = kind(store.load_path(&me(), &id, node.id).await);
        assert_eq!(path, Some(ErrorKind::NotFound), "there is no path to what was pruned");
        let alone = kind(store.load_node(&me(), &id, node.id).await);
        assert_eq!(alone, Some(ErrorKind::NotFound), "a pruned node is not found");
        let head = kind(store.set_head(&me(), &id, record.head, Some(node.id)).await);
        assert_eq!(head, Some(ErrorKind::NotFound), "the head does not move to what was pruned");
    }
    let summary = &must("list", store.list(&me(), &Query::default()).await).conversations[0];
    assert_eq!(
        (summary.nodes, summary.updated),
        (5, updated),
        "pruned nodes do not count, and pruning is no update"
    );
    assert_eq!(&must("summary", store.summary(&me(), &id).await), summary, "nor for the conversation alone");
    assert!(
        must("search", store.search(&me(), &query).await).hits.is_empty(),
        "what was pruned is not found"
    );
    assert_eq!(must("count", store.count(&me(), &query).await), 0, "nor counted");
}

/// A pruned node stays pruned: nothing is appended below it, and it is not appended again.
pub async fn a_pruned_node_stays_pruned(store: &dyn ConversationStore) {
    let (id, trunk, branch) = branched(store, "stays").await;
    prune(store, &id, branch[1].id).await;
    let before = contents(store, &id).await;
    prune(store, &id, branch[1].id).await;
    assert_eq!(contents(store, &id).await, before, "pruning again changes nothing");
    for compacted in [false, true] {
        let again = kind(store.append(&me(), &id, &branch[1..2]).await);
        assert_eq!(again, Some(ErrorKind::Conflict), "a pruned node is not appended again");
        let below = kind(store.append(&me(), &id, &branch[2..]).await);
        assert_eq!(below, Some(ErrorKind::NotFound), "nor is the node that was below it");
        let new = kind(store.append(&me(), &id, &chain(Some(branch[2].id), 1)).await);
        assert_eq!(new, Some(ErrorKind::NotFound), "nothing new is appended below it");
        let descendant = kind(store.prune(&me(), &id, branch[2].id).await);
        assert_eq!(descendant, Some(ErrorKind::NotFound), "nothing below it is pruned");
        assert_eq!(contents(store, &id).await, before, "a refused append changes nothing");
        if !compacted {
            must("compact", store.compact(&me(), &id).await);
        }
    }
    let missing = kind(store.prune(&me(), &id, NodeId::new()).await);
    assert_eq!(missing, Some(ErrorKind::NotFound), "a node that never was is not pruned");
    must("append beside it", store.append(&me(), &id, &chain(Some(branch[0].id), 2)).await);
    prune(store, &id, branch[0].id).await;
    let tree = contents(store, &id).await.1;
    assert_eq!(tree.len(), trunk.len(), "a tombstone may be below another");
}

/// The head and the nodes before it cannot be pruned. Once the head has moved they can, down to the first message.
pub async fn the_head_is_not_pruned(store: &dyn ConversationStore) {
    let (id, trunk, _) = branched(store, "above").await;
    let before = contents(store, &id).await;
    for node in &trunk {
        let error = kind(store.prune(&me(), &id, node.id).await);
        assert_eq!(error, Some(ErrorKind::Conflict), "a node on the path to the head is not pruned");
    }
    assert_eq!(contents(store, &id).await, before, "a refused pruning changes nothing");
    must("set_head", store.set_head(&me(), &id, Some(trunk[3].id), None).await);
    prune(store, &id, trunk[0].id).await;
    assert!(contents(store, &id).await.1.is_empty(), "a whole tree can be pruned");
    must("append a new beginning", store.append(&me(), &id, &chain(None, 2)).await);
    assert_eq!(contents(store, &id).await.1.len(), 2, "and begun again");
}

/// Compacting changes no answer, and later calls work.
pub async fn compacting_changes_no_answer(store: &dyn ConversationStore) {
    let (id, trunk, branch) = branched(store, "compacted").await;
    let later = chain(Some(branch[0].id), 1);
    must("append", store.append(&me(), &id, &later).await);
    prune(store, &id, branch[1].id).await;
    prune(store, &id, later[0].id).await;
    let before = contents(store, &id).await;
    let listed = must("list", store.list(&me(), &Query::default()).await);
    for _ in 0..2 {
        must("compact", store.compact(&me(), &id).await);
        let after = contents(store, &id).await;
        assert_eq!(after, before, "compacting changes no answer");
        assert_eq!(text(&after.0), text(&before.0), "nor the order of fields");
        assert_eq!(must("list", store.list(&me(), &Query::default()).await), listed, "nor a list");
    }
    let next = chain(Some(trunk[3].id), 1);
    must("append after compacting", store.append(&me(), &id, &next).await);
    must("set_head", store.set_head(&me(), &id, Some(trunk[3].id), Some(next[0].id)).await);
    let query = must("a text", Query::default().text("message"));
    let hits = must("search", store.search(&me(), &query).await).hits.len();
    assert_eq!(hits, 6, "what is left is found");
}
