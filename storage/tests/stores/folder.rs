//! What a folder does beside the contract: locks that are waited for with patience, owners in folders of their own,
//! and a look at every byte.

use std::fs;
use std::time::{Duration, Instant};

use alloquy_core::store::{ConversationRecord, ConversationStore};
use alloquy_core::{Content, ErrorKind, Media, Message, Node, Owner, Preface, Query, Role};
use alloquy_storage::{Defect, FileStore};
use pollster::block_on;

use crate::{Places, me, say};

fn record(name: &str) -> ConversationRecord {
    ConversationRecord::new(name.parse().unwrap(), Preface::default())
}

#[test]
fn whoever_waits_too_long_is_told_and_others_go_on() {
    let places = Places::new();
    let root = places.next();
    let patience = Duration::from_millis(100);
    let store = block_on(FileStore::open_with_patience(&root, patience)).unwrap();
    for name in ["held", "free"] {
        block_on(store.create(&me(), &record(name))).unwrap();
    }
    let held = fs::File::open(root.join("locks/held.jsonl")).unwrap();
    held.lock().unwrap();
    let began = Instant::now();
    let error = block_on(store.append(&me(), &"held".parse().unwrap(), &[say(None, "late")])).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Busy, "{error:#}");
    assert!(error.to_string().contains("held.jsonl"), "{error:#}");
    assert!(began.elapsed() >= patience && began.elapsed() < Duration::from_secs(30));
    block_on(store.append(&me(), &"free".parse().unwrap(), &[say(None, "in time")])).unwrap();
    drop(held);
    block_on(store.append(&me(), &"held".parse().unwrap(), &[say(None, "in time")])).unwrap();
}

#[test]
fn a_damaged_conversation_is_named_beside_the_others() {
    let places = Places::new();
    let root = places.next();
    let store = block_on(FileStore::open(&root)).unwrap();
    for name in ["good", "bad", "worse"] {
        block_on(store.create(&me(), &record(name))).unwrap();
        block_on(store.append(&me(), &name.parse().unwrap(), &[say(None, "a word")])).unwrap();
    }
    drop(store);
    let log = root.join("conversations/bad.jsonl");
    let text = fs::read_to_string(&log).unwrap().replace("a word", "a sword");
    fs::write(&log, text).unwrap();
    fs::write(root.join("conversations/worse.jsonl"), "garbage\n").unwrap();
    let store = block_on(FileStore::open(&root)).unwrap();
    let page = block_on(store.list(&me(), &Query::default())).unwrap();
    let mut named: Vec<_> = page.damaged.iter().map(|damaged| damaged.name.clone()).collect();
    named.sort();
    assert_eq!(page.conversations.len(), 1);
    assert!(named[0].ends_with("worse.jsonl") && named[1] == "bad", "{named:?}");
    let found = block_on(store.search(&me(), &Query::default().text("word").unwrap())).unwrap();
    assert_eq!((found.hits.len(), found.damaged.len()), (1, 2));
    let error = block_on(store.collect_blobs(&me(), Duration::ZERO));
    assert_eq!(error.map_err(|error| error.kind()), Ok(0), "without blobs there is nothing to lose");
    block_on(store.put_blob(&me(), &b"blob"[..].into())).unwrap();
    let error = block_on(store.collect_blobs(&me(), Duration::ZERO)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt, "what damage may refer to is not removed");
}

#[test]
fn every_flaw_is_found() {
    let places = Places::new();
    let root = places.next();
    let other: Owner = "Ann / B".parse().unwrap();
    let store = block_on(FileStore::open(&root)).unwrap();
    let image = Media::new("image/png", b"picture".to_vec());
    let shown = Node::new(None, Message::new(Role::User, vec![Content::Image(image.clone())]));
    block_on(async {
        for owner in [&me(), &other] {
            store.create(owner, &record("tea")).await.unwrap();
            store.append(owner, &"tea".parse().unwrap(), &[say(None, "one"), shown.clone()]).await.unwrap();
            store.put_blob(owner, image.bytes().unwrap()).await.unwrap();
        }
    });
    let report = block_on(store.fsck()).unwrap();
    assert_eq!((report.conversations, report.nodes, report.blobs, report.findings.len()), (2, 4, 2, 0));
    let log = root.join("conversations/tea.jsonl");
    let mut bytes = fs::read(&log).unwrap();
    bytes.extend(b"[{\"nodes\"");
    fs::write(&log, bytes).unwrap();
    let digest = image.digest().to_string();
    let blob = format!("blobs/{digest:.2}/{digest}");
    fs::write(root.join(&blob), "pictura").unwrap();
    let owned = root.join("owners/%41nn%20%2f%20%42");
    fs::remove_file(owned.join(&blob)).unwrap();
    let report = block_on(store.fsck()).unwrap();
    let defects: Vec<_> = report.findings.iter().map(|finding| &finding.defect).collect();
    assert!(
        matches!(defects[..], [Defect::Damaged(_), Defect::Torn(9), Defect::MissingBlob(_)]),
        "{defects:?}"
    );
}

#[test]
fn a_deleted_conversation_leaves_no_lock() {
    let places = Places::new();
    let root = places.next();
    let one = block_on(FileStore::open(&root)).unwrap();
    let two = block_on(FileStore::open(&root)).unwrap();
    for store in [&one, &two, &one] {
        block_on(store.create(&me(), &record("again"))).unwrap();
        block_on(store.append(&me(), &"again".parse().unwrap(), &[say(None, "hello")])).unwrap();
        block_on(store.delete(&me(), &"again".parse().unwrap())).unwrap();
    }
    if cfg!(unix) {
        assert_eq!(fs::read_dir(root.join("locks")).unwrap().count(), 0);
    }
}
