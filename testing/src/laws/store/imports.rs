//! Imports of many whole conversations.

use std::collections::BTreeMap;

use alloquy_core::store::{Archive, ConversationRecord, ConversationStore, ConversationStoreExt};
use alloquy_core::{Content, ErrorKind, Media, Message, Node, Preface, Query, Role};

use super::outcomes::{kind, me, must, name};

/// Returns a conversation of a question with an image and two answers. The first answer is the head.
fn sample(title: &str) -> Archive {
    let media = Media::new("image/png", title.as_bytes().to_vec());
    let parts = vec![Content::Text(format!("what is {title} tea")), Content::Image(media)];
    let question = Node::new(None, Message::new(Role::User, parts));
    let answers = ["green", "black"].map(|text| Node::new(Some(question.id), Message::assistant(text)));
    let mut record = ConversationRecord::new(name(title), Preface::system("Be brief."));
    record.metadata.insert("title".to_owned(), title.into());
    record.head = Some(answers[0].id);
    must("an archive", Archive::new(record, [vec![question], answers.to_vec()].concat()))
}

/// Each conversation is imported whole or refused alone, whatever the others are. Searches and lists find it like any other.
pub async fn each_comes_in_or_is_refused(store: &dyn ConversationStore) {
    let names = ["one", "two", "three", "four"];
    let all: Vec<Archive> = names.iter().map(|name| sample(name)).collect();
    let mut without_bytes = sample("bare");
    without_bytes.blobs = BTreeMap::new();
    let many =
        vec![all[0].clone(), all[1].clone(), all[0].clone(), without_bytes, all[2].clone(), all[3].clone()];
    let outcomes = store.import_all(&me(), many).await;
    let kinds: Vec<_> = outcomes.into_iter().map(kind).collect();
    let refused = [None, None, Some(ErrorKind::Conflict), Some(ErrorKind::Invalid), None, None];
    assert_eq!(kinds, refused, "existing and incomplete conversations are refused, the others are imported");
    for archive in &all {
        let id = &archive.record.id;
        assert_eq!(
            must("export", store.export(&me(), id).await),
            *archive,
            "an export is the same as the import"
        );
        let path = store.load_path(&me(), id, archive.nodes[1].id).await;
        assert_eq!(must("load_path", path).len(), 2);
    }
    let count = must("count", store.count(&me(), &Query::default()).await);
    assert_eq!(count, 4, "a refused conversation leaves nothing");
    let query = must("a text", Query::default().text("what tea"));
    assert_eq!(
        must("search", store.search(&me(), &query).await).hits.len(),
        4,
        "every conversation is found"
    );
    let next = Node::new(all[1].record.head, Message::user("and then"));
    let id = &all[1].record.id;
    let head = all[1].record.head;
    must("append", store.append(&me(), id, std::slice::from_ref(&next)).await);
    must("set_head", store.set_head(&me(), id, head, Some(next.id)).await);
    assert!(store.import_all(&me(), Vec::new()).await.is_empty());
}

/// The same import again completes an interrupted one. A complete conversation is a conflict.
pub async fn what_was_begun_is_finished(store: &dyn ConversationStore) {
    let archive = sample("begun");
    let id = &archive.record.id;
    must("create", store.create(&me(), &archive.new_record()).await);
    must("append", store.append(&me(), id, &archive.nodes[..2]).await);
    let outcomes = store.import_all(&me(), vec![archive.clone(), sample("other")]).await;
    assert!(outcomes.iter().all(Result::is_ok), "{outcomes:?}");
    assert_eq!(must("export", store.export(&me(), id).await), archive);
    let again: Vec<_> = store.import_all(&me(), vec![archive]).await.into_iter().map(kind).collect();
    assert_eq!(again, [Some(ErrorKind::Conflict)], "it is there by now");
}
