//! The head: which nodes it may be, and which of several writers moves it.

use alloquy_core::store::{ConversationStore, HeadMove};
use alloquy_core::{ErrorKind, Message, Node, NodeId};
use futures::future::join_all;

use super::conversations::{contents, created};
use super::outcomes::{kind, me, must, name};
use super::samples::chain;

/// The head moves from its current node to any node or to none. A move from another node is a conflict.
pub async fn the_head_moves_by_compare_and_set(store: &dyn ConversationStore) {
    let id = created(store, "head").await;
    let nodes = chain(None, 3);
    must("append", store.append(&me(), &id, &nodes).await);
    let first = Some(nodes[0].id);
    let last = Some(nodes[2].id);
    for (from, to) in [(None, last), (last, first), (first, first), (first, None), (None, None)] {
        must("move the head", store.set_head(&me(), &id, from, to).await);
        let head = must("record", store.record(&me(), &id).await).head;
        assert_eq!(head, to, "the head is the node that it was moved to");
        let loaded = contents(store, &id).await.0.head;
        assert_eq!(loaded, to, "a load shows the new head");
    }
    must("move the head", store.set_head(&me(), &id, None, last).await);
    for from in [None, first, Some(NodeId::new())] {
        let error = kind(store.set_head(&me(), &id, from, first).await);
        assert_eq!(error, Some(ErrorKind::Conflict), "moving the head from elsewhere is a conflict");
    }
    let head = must("record", store.record(&me(), &id).await).head;
    assert_eq!(head, last, "a conflict leaves the head");
}

/// One call appends nodes and moves the head to them. If another writer was faster, the nodes are a branch. The same call
/// again changes nothing, and a refused call changes nothing.
pub async fn nodes_are_appended_with_the_head(store: &dyn ConversationStore) {
    let owner = me();
    let id = created(store, "one step").await;
    let nodes = chain(None, 3);
    let late = chain(None, 2);
    let last = Some(nodes[2].id);
    for _ in 0..2 {
        let moved = must("append and move", store.append_and_move(&owner, &id, &nodes, None, last).await);
        assert_eq!(moved, HeadMove::Moved, "the head moves with the nodes, and stays when they come again");
        let (record, tree) = contents(store, &id).await;
        assert_eq!((record.head, tree.len()), (last, 3), "nodes and head are there");
    }
    let to = Some(late[1].id);
    let moved = must("append elsewhere", store.append_and_move(&owner, &id, &late, None, to).await);
    assert_eq!(moved, HeadMove::Branched { head: last }, "another writer has moved the head");
    let (record, tree) = contents(store, &id).await;
    assert_eq!((record.head, tree.len()), (last, 5), "what came too late is a branch");
    let moved = must("move alone", store.append_and_move(&owner, &id, &[], last, to).await);
    assert_eq!(moved, HeadMove::Moved, "without nodes the head alone moves");
    let before = contents(store, &id).await;
    let orphan = Node::new(Some(NodeId::new()), Message::user("whose?"));
    let orphaned = store.append_and_move(&owner, &id, &[orphan], to, to).await;
    assert_eq!(kind(orphaned), Some(ErrorKind::NotFound), "a parent must exist");
    let mut changed = late[0].clone();
    changed.message = Message::user("other");
    let changed = store.append_and_move(&owner, &id, &[changed], to, last).await;
    assert_eq!(kind(changed), Some(ErrorKind::Conflict), "a node never changes");
    let nowhere = store.append_and_move(&owner, &id, &[], to, Some(NodeId::new())).await;
    assert_eq!(kind(nowhere), Some(ErrorKind::NotFound), "a head must exist");
    assert_eq!(contents(store, &id).await, before, "what cannot be done changes nothing");
    let missing = name("no such conversation");
    let missing = store.append_and_move(&owner, &missing, &late, None, to).await;
    assert_eq!(kind(missing), Some(ErrorKind::NotFound), "a conversation must exist");
}

/// Of many writers that append and move the same head, one moves it, and the nodes of the others are branches.
pub async fn of_many_writers_one_appends_with_the_head(store: &dyn ConversationStore) {
    let owner = me();
    let id = created(store, "race of answers").await;
    let answers: Vec<Node> = (0..16).map(|_| Node::new(None, Message::user("me"))).collect();
    let moves = answers
        .iter()
        .map(|node| store.append_and_move(&owner, &id, std::slice::from_ref(node), None, Some(node.id)));
    let outcomes: Vec<_> = join_all(moves).await.into_iter().map(|moved| must("append", moved)).collect();
    let won = outcomes.iter().position(|moved| *moved == HeadMove::Moved);
    let (record, tree) = contents(store, &id).await;
    assert_eq!(record.head, won.map(|index| answers[index].id), "the head is where the winner put it");
    let branch = HeadMove::Branched { head: record.head };
    let lost = outcomes.iter().filter(|&&moved| moved == branch).count();
    assert_eq!(
        (lost, tree.len()),
        (15, 16),
        "the others are branches, and their calls report it: {outcomes:?}"
    );
}

/// Of many writers that move the same head, exactly one succeeds.
pub async fn of_many_writers_one_moves_the_head(store: &dyn ConversationStore) {
    let owner = me();
    let id = created(store, "race").await;
    let answers: Vec<Node> = (0..16).map(|_| Node::new(None, Message::user("me"))).collect();
    must("append", store.append(&owner, &id, &answers).await);
    let moves = answers.iter().map(|node| store.set_head(&owner, &id, None, Some(node.id)));
    let outcomes: Vec<_> = join_all(moves).await.into_iter().map(kind).collect();
    let won = outcomes.iter().position(Option::is_none);
    let head = must("record", store.record(&owner, &id).await).head;
    assert_eq!(head, won.map(|index| answers[index].id), "the head is where the winner put it");
    let lost = outcomes.iter().filter(|&&error| error == Some(ErrorKind::Conflict)).count();
    assert_eq!(lost, answers.len() - 1, "every writer but one gets a conflict: {outcomes:?}");
}

/// The head moves only to an existing node.
pub async fn a_head_must_exist(store: &dyn ConversationStore) {
    let id = created(store, "nowhere").await;
    let error = kind(store.set_head(&me(), &id, None, Some(NodeId::new())).await);
    assert_eq!(error, Some(ErrorKind::NotFound), "a head that is not there is not found");
    let head = must("record", store.record(&me(), &id).await).head;
    assert_eq!(head, None, "a head that is not there changes nothing");
}
