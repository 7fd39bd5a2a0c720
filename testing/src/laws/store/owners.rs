//! Owners: no owner sees, counts, finds or removes the conversations of another.

use std::sync::Arc;
use std::time::Duration;

use alloquy_core::query::Filter;
use alloquy_core::store::{ConversationRecord, ConversationStore};
use alloquy_core::tree::Tree;
use alloquy_core::{ErrorKind, Message, Node, Owner, Preface, Query};
use serde_json::json;

use super::outcomes::{kind, must, name};
use super::samples::{chain, object};

fn owners() -> [Owner; 4] {
    ["ann", "Ann", "ann/bob", "%"].map(|name| must("an owner", name.parse()))
}

/// Creates a conversation with the owner in its preface; its name, title and text are the same for all owners.
async fn fill(store: &dyn ConversationStore, owner: &Owner) -> (ConversationRecord, Tree) {
    let mut record = ConversationRecord::new(name("same"), Preface::system(owner.as_str()));
    record.metadata = object(json!({"title": "shared"}));
    must("create", store.create(owner, &record).await);
    let node = Node::new(None, Message::user("a shared word"));
    must("append", store.append(owner, &record.id, std::slice::from_ref(&node)).await);
    must("set_head", store.set_head(owner, &record.id, None, Some(node.id)).await);
    must("load", store.load(owner, &record.id).await)
}

/// Two owners may use the same conversation id and the same bytes, and each sees its own.
pub async fn owners_are_apart(store: &dyn ConversationStore) {
    let id = name("same");
    let stranger: Owner = must("an owner", "stranger".parse());
    let mut filled = Vec::new();
    for owner in &owners() {
        filled.push(fill(store, owner).await);
    }
    for (owner, before) in owners().iter().zip(&filled) {
        let found = must("load", store.load(owner, &id).await);
        assert_eq!(&found, before, "owner {owner} sees its own conversation");
        let count = must("count", store.count(owner, &Query::default()).await);
        assert_eq!(count, 1, "owner {owner} counts its own");
    }
    let [ann, other, ..] = owners();
    let foreign = filled[1].0.head;
    let error = kind(store.set_head(&ann, &id, filled[0].0.head, foreign).await);
    assert_eq!(error, Some(ErrorKind::NotFound), "a node of another owner is no head");
    must("append", store.append(&ann, &id, &chain(filled[0].0.head, 2)).await);
    must("update_metadata", store.update_metadata(&ann, &id, 0, &object(json!({"title": "mine"}))).await);
    let query = Query::default().filter(Filter::equals("title", "mine"));
    let deleted = must("delete_matching", store.delete_matching(&ann, &query).await);
    assert_eq!(deleted, std::slice::from_ref(&id), "an owner deletes its own");
    for (owner, before) in owners().iter().zip(&filled).skip(1) {
        assert_eq!(&must("load", store.load(owner, &id).await), before, "{owner} keeps what is its own");
    }
    for owner in [&ann, &stranger] {
        let error = kind(store.record(owner, &id).await);
        assert_eq!(error, Some(ErrorKind::NotFound), "what another owner has is not found");
        assert_eq!(kind(store.delete(owner, &id).await), Some(ErrorKind::NotFound), "nor deleted");
        assert_eq!(must("count", store.count(owner, &Query::default()).await), 0, "nor counted");
        assert!(
            must("list", store.list(owner, &Query::default()).await).conversations.is_empty(),
            "nor listed"
        );
    }
    blobs_are_of_one_owner(store, &ann, &other).await;
}

async fn blobs_are_of_one_owner(store: &dyn ConversationStore, one: &Owner, two: &Owner) {
    let bytes: Arc<[u8]> = b"seen by its owner alone"[..].into();
    let digest = must("put_blob", store.put_blob(one, &bytes).await);
    let seen = must("get_blob", store.get_blob(two, digest).await);
    assert_eq!(seen, None, "who knows a digest does not see another owner's bytes");
    must("put_blob", store.put_blob(two, &bytes).await);
    let collected = must("collect_blobs", store.collect_blobs(one, Duration::ZERO).await);
    assert_eq!(collected, 1, "an owner collects its own");
    assert_eq!(must("get_blob", store.get_blob(one, digest).await), None, "which are gone then");
    assert_eq!(must("get_blob", store.get_blob(two, digest).await), Some(bytes), "and the other's are not");
}

/// A search finds what is of the owner who searches.
pub async fn owners_search_their_own(store: &dyn ConversationStore) {
    let mut filled = Vec::new();
    for owner in &owners() {
        filled.push(fill(store, owner).await);
    }
    let query = must("a text", Query::default().text("\"shared word\""));
    for (owner, (record, _)) in owners().iter().zip(&filled) {
        let page = must("search", store.search(owner, &query).await);
        let nodes: Vec<_> = page.hits.iter().map(|hit| Some(hit.node)).collect();
        assert_eq!(nodes, [record.head], "{owner} finds its own");
        assert_eq!(must("count", store.count(owner, &query).await), 1, "{owner} counts its own");
    }
    let stranger: Owner = must("an owner", "stranger".parse());
    assert!(
        must("search", store.search(&stranger, &query).await).hits.is_empty(),
        "a stranger finds nothing"
    );
}
