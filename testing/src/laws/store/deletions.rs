//! Deleting one conversation and many, and calls on missing conversations.

use alloquy_core::query::{Filter, Sort, SortKey};
use alloquy_core::store::{ConversationRecord, ConversationStore, ConversationStoreExt};
use alloquy_core::{ConversationId, ErrorKind, Message, Node, Preface, Query};
use serde_json::{Map, json};

use super::conversations::{contents, created, filled, listed};
use super::outcomes::{kind, me, must, name};
use super::samples::object;

/// Every call on a missing conversation fails with "not found".
pub async fn a_missing_conversation_is_not_found(store: &dyn ConversationStore) {
    let id = name("missing");
    let node = Node::new(None, Message::user("lost"));
    let calls = [
        ("append", kind(store.append(&me(), &id, &[]).await)),
        ("append a node", kind(store.append(&me(), &id, std::slice::from_ref(&node)).await)),
        ("set_head", kind(store.set_head(&me(), &id, None, None).await)),
        ("update_metadata", kind(store.update_metadata(&me(), &id, 0, &Map::new()).await)),
        ("prune", kind(store.prune(&me(), &id, node.id).await)),
        ("compact", kind(store.compact(&me(), &id).await)),
        ("summary", kind(store.summary(&me(), &id).await)),
        ("record", kind(store.record(&me(), &id).await)),
        ("load", kind(store.load(&me(), &id).await)),
        ("load_path", kind(store.load_path(&me(), &id, node.id).await)),
        ("load_node", kind(store.load_node(&me(), &id, node.id).await)),
        ("delete", kind(store.delete(&me(), &id).await)),
    ];
    for (call, error) in calls {
        assert_eq!(error, Some(ErrorKind::NotFound), "{call} on a missing conversation is not found");
    }
    let exists = must("exists", store.exists(&me(), &id).await);
    assert!(!exists, "asking for a conversation does not create it");
    assert_eq!(must("count", store.count(&me(), &Query::default()).await), 0, "an empty store counts none");
    let listed = must("list", store.list(&me(), &Query::default()).await);
    assert!(listed.conversations.is_empty(), "an empty store lists nothing");
}

/// A deleted conversation is gone, twice is not found, and its name can be taken again.
pub async fn a_deleted_conversation_is_gone(store: &dyn ConversationStore) {
    let id = filled(store, "deleted").await;
    let other = filled(store, "kept").await;
    let before = contents(store, &other).await;
    let old = contents(store, &id).await.1;
    must("delete", store.delete(&me(), &id).await);
    assert!(!must("exists", store.exists(&me(), &id).await), "a deleted conversation is gone");
    assert_eq!(
        must("count", store.count(&me(), &Query::default()).await),
        1,
        "a deleted conversation is not counted"
    );
    let error = kind(store.delete(&me(), &id).await);
    assert_eq!(error, Some(ErrorKind::NotFound), "deleting twice is not found");
    let (record, tree) = contents(store, &created(store, "deleted").await).await;
    assert!(tree.is_empty() && record.head.is_none(), "a name that is taken again starts empty");
    let nodes: Vec<Node> = old.walk().map(|(_, node)| node.clone()).collect();
    must("append what was deleted to the new conversation", store.append(&me(), &id, &nodes).await);
    assert_eq!(contents(store, &other).await, before, "deleting leaves other conversations");
}

async fn numbered(store: &dyn ConversationStore, number: usize) -> ConversationId {
    let mut record = ConversationRecord::new(name(&format!("chat {number}")), Preface::default());
    record.metadata = object(json!({"number": number, "even": number.is_multiple_of(2)}));
    must("create", store.create(&me(), &record).await);
    let node = Node::new(None, Message::user(format!("number{number} said this")));
    must("append", store.append(&me(), &record.id, &[node]).await);
    record.id
}

/// Exactly the conversations that match a query are deleted. The preview of the query lists them and deletes nothing.
pub async fn what_matches_is_deleted(store: &dyn ConversationStore) {
    for number in 0..8 {
        numbered(store, number).await;
    }
    let ascending = Query::default().sort(Sort::ascending(SortKey::Id));
    let odd = ascending.clone().filter(Filter::equals("even", false)).limit(3);
    let three: Vec<ConversationId> = ["chat 1", "chat 3", "chat 5"].map(name).into();
    let preview = must("preview_deletion", store.preview_deletion(&me(), &odd).await);
    assert_eq!(preview, three, "a preview says what would be deleted");
    assert_eq!(must("count", store.count(&me(), &Query::default()).await), 8, "a preview deletes nothing");
    let deleted = must("delete_matching", store.delete_matching(&me(), &odd).await);
    assert_eq!(deleted, three, "what matches is deleted, in the order and up to the limit of the query");
    let rest = ["chat 0", "chat 2", "chat 4", "chat 6", "chat 7"];
    assert_eq!(listed(store, &ascending).await, rest, "what does not match stays");
    for gone in &three {
        assert!(!must("exists", store.exists(&me(), gone).await), "what was deleted is gone");
    }
    let said = must("a text", Query::default().text("number4"));
    let deleted = must("delete_matching", store.delete_matching(&me(), &said).await);
    assert_eq!(deleted, [name("chat 4")], "conversations are deleted by what was said");
    assert!(must("search", store.search(&me(), &said).await).hits.is_empty(), "and not found any more");
    let none = must("delete_matching", store.delete_matching(&me(), &said).await);
    assert!(none.is_empty(), "where nothing matches, nothing is deleted");
    assert_eq!(listed(store, &ascending).await.len(), 4, "four are left");
}

/// A query without a condition deletes nothing, whatever its order and limit.
pub async fn deleting_everything_is_refused(store: &dyn ConversationStore) {
    let id = filled(store, "kept").await;
    let sorted = Query::default().sort(Sort::ascending(SortKey::Id)).limit(1);
    for query in [Query::default(), sorted, Query::default().created(..)] {
        let error = kind(store.delete_matching(&me(), &query).await);
        assert_eq!(error, Some(ErrorKind::Invalid), "a query without a condition deletes nothing");
        let error = kind(store.preview_deletion(&me(), &query).await);
        assert_eq!(error, Some(ErrorKind::Invalid), "and has no preview");
    }
    assert!(must("exists", store.exists(&me(), &id).await), "what is not deleted is there");
}
