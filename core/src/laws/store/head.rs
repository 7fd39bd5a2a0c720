//! The head: where it may stand, and who moves it.

use futures::future::join_all;

use super::samples::chain;
use super::{contents, created, kind, me, must};
use crate::{ConversationStore, ErrorKind, Message, Node, NodeId};

/// The head moves from where it stands, to any node and back before the first; from elsewhere it is a conflict.
pub async fn the_head_moves_by_compare_and_set(store: &dyn ConversationStore) {
    let id = created(store, "head").await;
    let nodes = chain(None, 3);
    must("append", store.append(&me(), &id, &nodes).await);
    let (first, last) = (Some(nodes[0].id), Some(nodes[2].id));
    for (from, to) in [(None, last), (last, first), (first, first), (first, None), (None, None)] {
        must("move the head", store.set_head(&me(), &id, from, to).await);
        let head = must("record", store.record(&me(), &id).await).head;
        assert_eq!(head, to, "the head stands where it was moved to");
        let loaded = contents(store, &id).await.0.head;
        assert_eq!(loaded, to, "a load shows the head where it was moved to");
    }
    must("move the head", store.set_head(&me(), &id, None, last).await);
    for from in [None, first, Some(NodeId::new())] {
        let error = kind(store.set_head(&me(), &id, from, first).await);
        assert_eq!(error, Some(ErrorKind::Conflict), "moving the head from elsewhere is a conflict");
    }
    let head = must("record", store.record(&me(), &id).await).head;
    assert_eq!(head, last, "a conflict leaves the head");
}

/// Of many writers that move the head from one place, exactly one succeeds.
pub async fn of_many_writers_one_moves_the_head(store: &dyn ConversationStore) {
    let owner = me();
    let id = created(store, "race").await;
    let answers: Vec<Node> = (0..16).map(|_| Node::new(None, Message::user("me"))).collect();
    must("append", store.append(&owner, &id, &answers).await);
    let moves = answers.iter().map(|node| store.set_head(&owner, &id, None, Some(node.id)));
    let outcomes: Vec<_> = join_all(moves).await.into_iter().map(kind).collect();
    let won = outcomes.iter().position(Option::is_none);
    let head = must("record", store.record(&owner, &id).await).head;
    assert_eq!(head, won.map(|index| answers[index].id), "the head stands where the winner put it");
    let lost = outcomes.iter().filter(|&&error| error == Some(ErrorKind::Conflict)).count();
    assert_eq!(lost, answers.len() - 1, "every writer but one gets a conflict: {outcomes:?}");
}

/// The head moves to a node that is there, and stays otherwise.
pub async fn a_head_must_exist(store: &dyn ConversationStore) {
    let id = created(store, "nowhere").await;
    let error = kind(store.set_head(&me(), &id, None, Some(NodeId::new())).await);
    assert_eq!(error, Some(ErrorKind::NotFound), "a head that is not there is not found");
    let head = must("record", store.record(&me(), &id).await).head;
    assert_eq!(head, None, "a head that is not there changes nothing");
}
