//! Records: their creation, names and metadata.

use alloquy_core::store::{Archive, ConversationRecord, ConversationStore, ConversationStoreExt};
use alloquy_core::{ConversationId, ErrorKind, NodeId, Owner, Preface, Query, Result};
use futures::future::join_all;
use serde_json::json;

use super::conversations::{contents, created, filled, listed};
use super::outcomes::{kind, me, must, name, text};
use super::samples::object;

/// Creating a conversation that exists is a conflict and changes nothing.
pub async fn creating_twice_is_a_conflict(store: &dyn ConversationStore) {
    let id = filled(store, "twice").await;
    let before = contents(store, &id).await;
    let again = ConversationRecord::new(id.clone(), Preface::system("other"));
    let error = kind(store.create(&me(), &again).await);
    assert_eq!(error, Some(ErrorKind::Conflict), "creating twice is a conflict");
    assert_eq!(contents(store, &id).await, before, "creating twice changes nothing");
}

/// A new conversation has no nodes, so a record with a head is invalid and creates nothing.
pub async fn a_new_conversation_has_no_head(store: &dyn ConversationStore) {
    let mut record = ConversationRecord::new(name("headless"), Preface::default());
    record.head = Some(NodeId::new());
    let error = kind(store.create(&me(), &record).await);
    assert_eq!(error, Some(ErrorKind::Invalid), "a new record with a head is invalid");
    let mut revised = record.clone();
    revised.head = None;
    revised.revision = 1;
    let error = kind(store.create(&me(), &revised).await);
    assert_eq!(error, Some(ErrorKind::Invalid), "a new record with a revision is invalid");
    let exists = must("exists", store.exists(&me(), &record.id).await);
    assert!(!exists, "an invalid record creates nothing");
}

/// The names of a new conversation and of its owner are visible text. A refused conversation does not exist.
pub async fn a_new_name_can_be_seen(store: &dyn ConversationStore) {
    let hidden: Owner = must("an owner", "a\u{200B}n".parse());
    let turned = name("a\u{202E}b");
    for (owner, id) in [(&me(), &turned), (&hidden, &name("seen"))] {
        let record = ConversationRecord::new(id.clone(), Preface::default());
        let error = kind(store.create(owner, &record).await);
        assert_eq!(error, Some(ErrorKind::Invalid), "conversation {id:?} of {owner:?} cannot be seen");
        let archive = must("an archive", Archive::new(record, Vec::new()));
        let error = kind(store.import(owner, &archive).await);
        assert_eq!(error, Some(ErrorKind::Invalid), "conversation {id:?} of {owner:?} cannot be imported");
        assert!(!must("exists", store.exists(owner, id).await), "a refused conversation does not exist");
        assert_eq!(
            kind(store.delete(owner, id).await),
            Some(ErrorKind::NotFound),
            "and its name may be used in calls"
        );
    }
}

/// Different names are different conversations, also where a file system treats them as one.
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
        must("create", store.create(&me(), &ConversationRecord::new(name(name_), preface)).await);
    }
    for name_ in &names {
        let record = must("record", store.record(&me(), &name(name_)).await);
        assert_eq!(record.id.as_str(), name_, "a conversation keeps its name");
        assert_eq!(record.preface, Preface::system(name_.as_str()), "conversation {name_:?} stays apart");
    }
    assert_eq!(
        must("count", store.count(&me(), &Query::default()).await),
        names.len(),
        "every name is counted"
    );
    let mut found: Vec<String> = listed(store, &Query::default()).await;
    let mut wanted = names.to_vec();
    found.sort();
    wanted.sort();
    assert_eq!(found, wanted, "every name is listed");
    for (deleted, name_) in names.iter().enumerate() {
        must("delete", store.delete(&me(), &name(name_)).await);
        let left = must("count", store.count(&me(), &Query::default()).await);
        assert_eq!(left, names.len() - deleted - 1, "deleting {name_:?} deletes one conversation");
    }
}

/// Metadata is replaced by a writer that read the current revision. Others get a conflict, and nothing else changes.
pub async fn metadata_is_replaced_by_compare_and_set(store: &dyn ConversationStore) {
    let id = filled(store, "metadata").await;
    let before = contents(store, &id).await;
    assert_eq!(before.0.revision, 0, "a new conversation has revision 0");
    let metadata = object(json!({"title": "Tee", "z": {"b": 1, "a": []}}));
    let first = must("update_metadata", store.update_metadata(&me(), &id, 0, &metadata).await);
    assert_eq!(first, 1, "replacing metadata makes the revision one higher");
    let stale = kind(store.update_metadata(&me(), &id, 0, &object(json!({}))).await);
    assert_eq!(stale, Some(ErrorKind::Conflict), "an old revision is a conflict");
    let ahead = kind(store.update_metadata(&me(), &id, 2, &object(json!({}))).await);
    assert_eq!(ahead, Some(ErrorKind::Conflict), "a revision that never was is a conflict");
    let (record, tree) = contents(store, &id).await;
    assert_eq!(
        text(&record.metadata),
        text(&metadata),
        "metadata is replaced whole, in the order of its fields"
    );
    let mut rest = record;
    rest.metadata = before.0.metadata.clone();
    rest.revision = 0;
    assert_eq!((rest, tree), before, "replacing metadata changes nothing else");
    let page = must("list", store.list(&me(), &Query::default()).await);
    assert_eq!(page.conversations[0].record.revision, 1, "a list shows the revision");
    let again = must("update_metadata", store.update_metadata(&me(), &id, 1, &object(json!({}))).await);
    assert_eq!(again, 2, "each replacement counts");
    assert!(must("record", store.record(&me(), &id).await).metadata.is_empty(), "metadata may be emptied");
}

/// Of many writers that replace the metadata of one revision, exactly one succeeds. Changes that are tried again are kept.
pub async fn of_many_writers_one_replaces_metadata(store: &dyn ConversationStore) {
    let owner = me();
    let id = created(store, "revisions").await;
    let contents: Vec<_> = (0..8).map(|writer: i32| object(json!({"writer": writer}))).collect();
    let calls = contents.iter().map(|metadata| store.update_metadata(&owner, &id, 0, metadata));
    let outcomes: Vec<_> = join_all(calls).await.into_iter().map(kind).collect();
    let won = outcomes.iter().filter(|outcome| outcome.is_none()).count();
    let lost = outcomes.iter().filter(|&&outcome| outcome == Some(ErrorKind::Conflict)).count();
    assert_eq!((won, lost), (1, 7), "one writer replaces metadata, the others get a conflict: {outcomes:?}");
    let names: Vec<String> = (0..8).map(|writer: i32| format!("writer {writer}")).collect();
    let changes = names.iter().map(|name| add_field(store, &owner, &id, name));
    let done = join_all(changes).await;
    let done: Vec<u64> = done.into_iter().map(|outcome| must("change_metadata", outcome)).collect();
    assert!(done.contains(&9), "the last change says how many there were: {done:?}");
    let record = must("record", store.record(&owner, &id).await);
    assert_eq!(record.revision, 9, "every change counts");
    assert!(
        names.iter().all(|name| record.metadata.contains_key(name)),
        "changes that are tried again are kept"
    );
}

async fn add_field(
    store: &dyn ConversationStore,
    owner: &Owner,
    id: &ConversationId,
    name: &str,
) -> Result<u64> {
    store
        .change_metadata(owner, id, |metadata| {
            metadata.insert(name.to_owned(), json!(1));
        })
        .await
}
