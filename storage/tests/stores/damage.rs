//! What stores make of damaged places: a prefix where a write was torn, an error that names the place elsewhere.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use alloquy_core::media::Digest;
use alloquy_core::store::{ConversationRecord, ConversationStore};
use alloquy_core::{ConversationId, ErrorKind, NodeId, Preface, Query};
use alloquy_storage::{FileStore, SqliteStore};
use pollster::block_on;
use rusqlite::Connection;
use serde_json::Value;

use crate::{Places, me, say};

/// A folder with one conversation, and what its log says after each line.
struct Sample {
    places: Places,
    root: PathBuf,
    log: PathBuf,
    bytes: Vec<u8>,
}

impl Sample {
    fn new() -> Self {
        let places = Places::new();
        let root = places.next();
        let store = block_on(FileStore::open(&root)).unwrap();
        block_on(write_sample(&store));
        let log = root.join("conversations/tea%2fgreen.jsonl");
        let bytes = fs::read(&log).unwrap();
        Self { places, root, log, bytes }
    }

    /// Opens a store that has seen nothing yet, with other bytes as the log.
    fn open_with(&self, bytes: &[u8]) -> FileStore {
        fs::write(&self.log, bytes).unwrap();
        block_on(FileStore::open(&self.root)).unwrap()
    }

    /// Where lines end.
    fn ends(&self) -> Vec<usize> {
        let feeds = self.bytes.iter().enumerate().filter(|&(_, &byte)| byte == b'\n');
        feeds.map(|(index, _)| index + 1).collect()
    }

    /// Checks that these bytes are called damaged, that the error names file and line, and that nothing is changed.
    fn is_damaged(&self, bytes: &[u8], line: usize, what: &str) {
        let store = self.open_with(bytes);
        let node = say(None, "next");
        let errors = [
            block_on(store.load(&me(), &id())).unwrap_err(),
            block_on(store.append(&me(), &id(), &[node])).unwrap_err(),
            block_on(store.set_head(&me(), &id(), None, None)).unwrap_err(),
            block_on(store.load_path(&me(), &id(), NodeId::new())).unwrap_err(),
        ];
        let place = format!("line {line} of {:?}", self.log.canonicalize().unwrap());
        for error in errors {
            assert_eq!(error.kind(), ErrorKind::Corrupt, "{what}: {error:#}");
            assert!(error.to_string().contains(&place), "{what}: {error:#}");
        }
        let page = block_on(store.list(&me(), &Query::default())).unwrap();
        assert!(page.conversations.is_empty(), "{what}");
        assert!(matches!(&*page.damaged, [one] if one.reason.contains(&place)), "{what}: {:?}", page.damaged);
        assert_eq!(fs::read(&self.log).unwrap(), bytes, "{what}");
    }
}

fn id() -> ConversationId {
    "tea/green".parse().unwrap()
}

/// Five lines: created, one node, the head, two nodes, the head.
async fn write_sample(store: &dyn ConversationStore) {
    store.create(&me(), &ConversationRecord::new(id(), Preface::system("Be brief."))).await.unwrap();
    let first = say(None, "Hello, \u{e9}\u{1f980}");
    let second = say(Some(first.id), "second");
    let third = say(Some(second.id), "third");
    store.append(&me(), &id(), std::slice::from_ref(&first)).await.unwrap();
    store.set_head(&me(), &id(), None, Some(first.id)).await.unwrap();
    store.append(&me(), &id(), &[second, third.clone()]).await.unwrap();
    store.set_head(&me(), &id(), Some(first.id), Some(third.id)).await.unwrap();
}

#[test]
fn a_log_cut_anywhere_is_a_prefix() {
    let sample = Sample::new();
    let ends = sample.ends();
    // Nodes, and nodes above the head, after each line.
    let states = [(0, 0), (1, 0), (1, 1), (3, 1), (3, 3)];
    assert_eq!(ends.len(), states.len());
    for cut in ends[0]..=sample.bytes.len() {
        let lines = ends.iter().filter(|&&end| end <= cut).count();
        let (nodes, above) = states[lines - 1];
        let store = sample.open_with(&sample.bytes[..cut]);
        let (record, tree) = block_on(store.load(&me(), &id())).unwrap();
        assert_eq!((tree.len(), tree.path(record.head).unwrap().len()), (nodes, above), "cut at {cut}");
        let next = say(record.head, "next");
        block_on(store.append(&me(), &id(), std::slice::from_ref(&next))).unwrap();
        let written = fs::read(&sample.log).unwrap();
        let feeds = written.iter().filter(|&&byte| byte == b'\n').count();
        assert_eq!((feeds, written.last()), (lines + 1, Some(&b'\n')), "the torn line is cut away");
        let again = block_on(FileStore::open(&sample.root)).unwrap();
        let (_, tree) = block_on(again.load(&me(), &id())).unwrap();
        assert_eq!((tree.len(), tree.node(next.id).unwrap()), (nodes + 1, &next), "cut at {cut}");
    }
}

#[test]
fn a_log_without_its_first_line_is_damaged() {
    let sample = Sample::new();
    for cut in 0..sample.ends()[0] {
        sample.is_damaged(&sample.bytes[..cut], 1, &format!("cut at {cut}"));
    }
}

#[test]
fn every_changed_byte_is_noticed() {
    let sample = Sample::new();
    let ends = sample.ends();
    // One of its bits would make it a newer format, which is another test.
    let format = sample.bytes.windows(9).position(|bytes| bytes == b"\"format\":").unwrap() + 9;
    for (index, mask) in (0..sample.bytes.len()).zip([0x01, 0x80].into_iter().cycle()) {
        let mask = if index == format { 0x02 } else { mask };
        let line = ends.iter().filter(|&&end| end <= index).count() + 1;
        let mut bytes = sample.bytes.clone();
        bytes[index] ^= mask;
        sample.is_damaged(&bytes, line, &format!("byte {index}"));
    }
}

#[test]
fn lines_that_are_missing_or_moved_are_noticed() {
    let sample = Sample::new();
    let lines: Vec<&[u8]> = sample.bytes.split_inclusive(|&byte| byte == b'\n').collect();
    let order = |order: &[usize]| order.iter().flat_map(|&line| lines[line]).copied().collect::<Vec<u8>>();
    sample.is_damaged(&order(&[1, 2, 3, 4]), 1, "the first is missing");
    sample.is_damaged(&order(&[0, 2, 3, 4]), 2, "the second is missing");
    sample.is_damaged(&order(&[0, 1, 2, 4]), 4, "the last but one is missing");
    sample.is_damaged(&order(&[0, 1, 1, 2, 3, 4]), 3, "the second is there twice");
    sample.is_damaged(&order(&[0, 1, 3, 2, 4]), 3, "two are swapped");
    sample.is_damaged(&order(&[0, 1, 2, 3, 4, 0]), 6, "it begins again");
    sample.is_damaged(b"garbage\n", 1, "garbage");
    sample.is_damaged(b"\0\0\0\0\n", 1, "zeros");
    sample.is_damaged(b"\xff\xfe\n\n", 1, "not UTF-8");
    let mut garbage = sample.bytes.clone();
    garbage.extend(b"garbage\n");
    sample.is_damaged(&garbage, 6, "garbage at the end");
}

#[test]
fn zeros_at_the_end_are_a_torn_write() {
    let sample = Sample::new();
    let ends = sample.ends();
    for zeros in ends[3]..ends[4] {
        let mut bytes = sample.bytes.clone();
        bytes[ends[3]..=zeros].fill(0);
        let store = sample.open_with(&bytes);
        let (record, tree) = block_on(store.load(&me(), &id())).unwrap();
        assert_eq!((tree.len(), tree.path(record.head).unwrap().len()), (3, 1), "zeros up to {zeros}");
    }
}

#[test]
fn a_handle_notices_a_torn_end_that_came_after_it_read() {
    let sample = Sample::new();
    let store = sample.open_with(&sample.bytes);
    let (record, tree) = block_on(store.load(&me(), &id())).unwrap();
    let mut bytes = sample.bytes.clone();
    bytes.extend(b"[{\"nodes\":[{\"id\":\"0199");
    fs::write(&sample.log, &bytes).unwrap();
    assert_eq!(block_on(store.load(&me(), &id())).unwrap(), (record.clone(), tree));
    let next = say(record.head, "next");
    block_on(store.append(&me(), &id(), std::slice::from_ref(&next))).unwrap();
    let fresh = block_on(FileStore::open(&sample.root)).unwrap();
    assert_eq!(block_on(fresh.load_path(&me(), &id(), next.id)).unwrap().len(), 4);
}

#[test]
fn a_newer_log_is_refused() {
    let sample = Sample::new();
    let newer = String::from_utf8(sample.bytes.clone()).unwrap().replacen("\"format\":3", "\"format\":4", 1);
    let store = sample.open_with(newer.as_bytes());
    let error = block_on(store.load(&me(), &id())).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported, "{error:#}");
    assert!(error.to_string().contains("format 4"), "{error:#}");
}

/// A later version may go on with a log of this format in its own.
#[test]
fn a_log_that_announces_a_newer_format_is_refused() {
    let sample = Sample::new();
    let log = String::from_utf8(sample.bytes.clone()).unwrap();
    let last: Value = serde_json::from_str(log.lines().last().unwrap()).unwrap();
    let entry = r#"{"format":4}"#;
    let digest = Digest::of(format!("{}{entry}", last[1].as_str().unwrap()).as_bytes()).to_string();
    let newer = format!("{log}[{entry},\"{}\"]\n", &digest[..16]);
    let store = sample.open_with(newer.as_bytes());
    let error = block_on(store.load(&me(), &id())).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported, "{error:#}");
    assert!(error.to_string().contains("format 4"), "{error:#}");
    block_on(store.append(&me(), &id(), &[say(None, "next")])).unwrap_err();
    assert_eq!(fs::read_to_string(&sample.log).unwrap(), newer, "nothing is changed");
}

#[test]
fn a_log_under_another_name_is_damaged() {
    let sample = Sample::new();
    fs::copy(&sample.log, sample.log.with_file_name("coffee.jsonl")).unwrap();
    let store = sample.open_with(&sample.bytes);
    let error = block_on(store.load(&me(), &"coffee".parse().unwrap())).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt, "{error:#}");
}

#[test]
fn a_damaged_conversation_can_be_deleted() {
    let sample = Sample::new();
    let store = sample.open_with(b"garbage\n");
    let taken = ConversationRecord::new(id(), Preface::default());
    assert!(block_on(store.create(&me(), &taken)).unwrap_err().is_conflict());
    block_on(store.delete(&me(), &id())).unwrap();
    block_on(store.create(&me(), &taken)).unwrap();
}

#[test]
fn what_interrupted_writers_left_is_ignored_and_removed() {
    let sample = Sample::new();
    let left = ["half.new", "tea%2fgreen.deleted"].map(|name| sample.log.with_file_name(name));
    left.iter().for_each(|path| fs::write(path, "[{\"created\"").unwrap());
    let store = sample.open_with(&sample.bytes);
    assert_eq!(block_on(store.list(&me(), &Query::default())).unwrap().conversations.len(), 1);
    assert!(left.iter().all(|path| !path.exists()));
}

#[test]
fn a_damaged_blob_is_noticed_and_mended_by_the_right_bytes() {
    let sample = Sample::new();
    let store = sample.open_with(&sample.bytes);
    let bytes = b"picture"[..].into();
    let digest = block_on(store.put_blob(&me(), &bytes)).unwrap();
    let path = sample.root.join(format!("blobs/{:.2}/{digest}", digest.to_string()));
    assert_eq!(fs::read(&path).unwrap(), b"picture");
    fs::write(&path, "pictura").unwrap();
    let error = block_on(store.get_blob(&me(), digest)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt, "{error:#}");
    block_on(store.put_blob(&me(), &bytes)).unwrap();
    assert_eq!(block_on(store.get_blob(&me(), digest)).unwrap(), Some(bytes));
}

#[test]
fn what_would_not_read_back_is_refused() {
    let sample = Sample::new();
    let deep = (0..200).fold(serde_json::json!(1), |inner, _| serde_json::json!([inner]));
    let mut node = say(None, "deep");
    node.metadata.insert("deep".to_owned(), deep);
    let created_at = |created| {
        let mut record = ConversationRecord::new("early".parse().unwrap(), Preface::default());
        record.created = created;
        record
    };
    let early = created_at(UNIX_EPOCH - Duration::from_secs(1));
    let fine = created_at(UNIX_EPOCH + Duration::from_micros(1));
    let files = sample.open_with(&sample.bytes);
    let sqlite = block_on(SqliteStore::in_memory()).unwrap();
    block_on(write_sample(&sqlite));
    for store in [&files as &dyn ConversationStore, &sqlite] {
        let refused = block_on(store.append(&me(), &id(), std::slice::from_ref(&node))).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Invalid, "{refused:#}");
        assert_eq!(block_on(store.load(&me(), &id())).unwrap().1.len(), 3, "nothing of it is kept");
        for record in [&early, &fine] {
            let refused = block_on(store.create(&me(), record)).unwrap_err();
            assert_eq!(refused.kind(), ErrorKind::Invalid, "{refused:#}");
        }
        assert_eq!(block_on(store.count(&me(), &Query::default())).unwrap(), 1);
    }
}

/// Opens a database that was changed by hand.
fn changed(places: &Places, sql: &str) -> alloquy_core::Result<SqliteStore> {
    let path = places.next();
    block_on(async { write_sample(&SqliteStore::open(&path).await.unwrap()).await });
    Connection::open(&path).unwrap().execute_batch(sql).unwrap();
    block_on(SqliteStore::open(&path))
}

#[test]
fn databases_of_others_are_refused_and_left_alone() {
    let places = Sample::new().places;
    let path = places.next();
    fs::write(&path, "this is not a database, but it is longer than the header of one would be. ".repeat(20))
        .unwrap();
    refused(&path, ErrorKind::Corrupt);
    let path = places.next();
    Connection::open(&path).unwrap().execute_batch("CREATE TABLE conversations (id)").unwrap();
    refused(&path, ErrorKind::Unsupported);
    let error = changed(&places, "PRAGMA user_version = 5").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported, "{error:#}");
    assert!(error.to_string().contains("format 5"), "{error:#}");
}

fn refused(path: &Path, kind: ErrorKind) {
    let before = fs::read(path).unwrap();
    let error = block_on(SqliteStore::open(path)).unwrap_err();
    assert_eq!(error.kind(), kind, "{error:#}");
    assert!(error.to_string().contains(&format!("{path:?}")), "{error:#}");
    assert_eq!(fs::read(path).unwrap(), before);
}

#[test]
fn damaged_rows_are_noticed() {
    let places = Places::new();
    let last = "(SELECT max(position) FROM nodes)";
    let changes = [
        format!("UPDATE nodes SET body = substr(body, 2) WHERE position = {last}"),
        format!("UPDATE nodes SET body = replace(body, 'third', 'other') WHERE position = {last}"),
        "UPDATE conversations SET record = replace(record, 'brief', 'vague')".to_owned(),
        format!("UPDATE nodes SET parent = NULL WHERE position = {last}"),
        "DELETE FROM nodes WHERE position = 2".to_owned(),
        "UPDATE conversations SET record = '{}'".to_owned(),
        "UPDATE conversations SET head = 'x'".to_owned(),
        format!("DELETE FROM nodes WHERE position = {last}"),
        "UPDATE conversations SET nodes = nodes + 1".to_owned(),
        "INSERT INTO tombstones SELECT conversation, id FROM nodes WHERE position = 2".to_owned(),
    ];
    for sql in changes {
        let store = changed(&places, &sql).unwrap();
        let error = block_on(store.load(&me(), &id())).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{sql}: {error:#}");
    }
    let store = changed(&places, "DELETE FROM nodes WHERE position = 1").unwrap();
    let record = block_on(store.record(&me(), &id())).unwrap();
    let error = block_on(store.load_path(&me(), &id(), record.head.unwrap())).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt, "{error:#}");
}
