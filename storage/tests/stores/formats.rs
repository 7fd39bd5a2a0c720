//! What earlier versions wrote is read for ever: a fixture of each format.

use std::fs;
use std::path::{Path, PathBuf};

use alloquy_core::query::Filter;
use alloquy_core::store::{ConversationStore, ConversationStoreExt};
use alloquy_core::tree::NodeStatus;
use alloquy_core::{ErrorKind, Owner, Query};
use alloquy_storage::{FileStore, SqliteStore};
use pollster::block_on;
use rusqlite::Connection;
use serde_json::json;

use crate::{Places, me, say};

pub(crate) fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
}

pub(crate) fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let name = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy(&path, &name);
        } else {
            fs::copy(&path, &name).unwrap();
        }
    }
}

/// What a program of the first format had written, and everything that this one can do with it.
async fn holds_the_first_format(store: &dyn ConversationStore) {
    let id = "tea/green".parse().unwrap();
    let (record, tree) = store.load(&me(), &id).await.unwrap();
    assert_eq!((tree.len(), tree.path(record.head).unwrap().len(), record.revision), (4, 3, 0));
    assert_eq!(json!(record.metadata), json!({"title": "Tea", "user": {"name": "ann"}}));
    let leaves = tree.leaves();
    assert_eq!(tree.node(leaves[0]).unwrap().status, NodeStatus::Interrupted);
    let shown = tree.node(leaves[1]).unwrap().message.media().next().unwrap();
    assert!(store.get_media(&me(), shown).await.unwrap().bytes().is_some());
    let listed = store.list(&me(), &Query::default()).await.unwrap().conversations;
    assert_eq!(listed.iter().map(|line| line.nodes).collect::<Vec<_>>(), [4, 0]);
    let ann = Query::default().filter(Filter::equals("user.name", "ann")).text("緑茶").unwrap();
    assert_eq!(store.search(&me(), &ann).await.unwrap().hits.len(), 1);
    let stranger: Owner = "stranger".parse().unwrap();
    assert_eq!(store.count(&stranger, &Query::default()).await.unwrap(), 0);
    let next = say(record.head, "more");
    store.append(&me(), &id, std::slice::from_ref(&next)).await.unwrap();
    store.set_head(&me(), &id, record.head, Some(next.id)).await.unwrap();
    store.update_metadata(&me(), &id, 0, &record.metadata).await.unwrap();
    store.prune(&me(), &id, leaves[0]).await.unwrap();
    assert_eq!(store.collect_blobs(&me(), std::time::Duration::ZERO).await.unwrap(), 0);
    assert_eq!(store.load(&me(), &id).await.unwrap().1.len(), 4);
}

/// The same once more, by a store that reads it from the disk.
async fn holds_what_was_added(store: &dyn ConversationStore) {
    let (record, tree) = store.load(&me(), &"tea/green".parse().unwrap()).await.unwrap();
    assert_eq!((tree.len(), tree.path(record.head).unwrap().len(), record.revision), (4, 4, 1));
    assert_eq!(tree.tombstones().count(), 1);
}

#[test]
fn a_folder_of_the_first_format() {
    let places = Places::new();
    let root = places.next();
    copy(&fixture("format-1/files"), &root);
    block_on(async {
        holds_the_first_format(&FileStore::open(&root).await.unwrap()).await;
        let again = FileStore::open(&root).await.unwrap();
        holds_what_was_added(&again).await;
        assert_eq!(again.fsck().await.unwrap().findings, []);
    });
}

#[test]
fn a_database_of_the_first_format() {
    let places = Places::new();
    let path = places.next();
    let sql = fs::read_to_string(fixture("format-1/chats.sql")).unwrap();
    Connection::open(&path).unwrap().execute_batch(&sql).unwrap();
    block_on(async {
        holds_the_first_format(&SqliteStore::open(&path).await.unwrap()).await;
        holds_what_was_added(&SqliteStore::open(&path).await.unwrap()).await;
    });
    let left: i64 = Connection::open(&path)
        .unwrap()
        .query_row("SELECT count(*) FROM sqlite_schema WHERE name LIKE 'first_%'", [], |row| row.get(0))
        .unwrap();
    assert_eq!(left, 0, "nothing of the old tables is left");
}

#[test]
fn a_database_of_the_second_format() {
    let places = Places::new();
    let path = places.next();
    fs::copy(fixture("format-2/chats.db"), &path).unwrap();
    block_on(async {
        let store = SqliteStore::open(&path).await.unwrap();
        // The words of three nodes were written, those of the last one were not.
        for text in ["sencha", "緑茶", "gyok"] {
            let query = Query::default().text(text).unwrap();
            assert_eq!(store.search(&me(), &query).await.unwrap().hits.len(), 1, "{text}");
            assert_eq!(store.count(&me(), &query).await.unwrap(), 1, "{text}");
        }
        // What the earlier formats hold is the same.
        holds_the_first_format(&store).await;
        drop(store);
        holds_what_was_added(&SqliteStore::open(&path).await.unwrap()).await;
    });
}

#[test]
fn damage_comes_along_and_is_still_told() {
    let places = Places::new();
    let path = places.next();
    let sql = fs::read_to_string(fixture("format-1/chats.sql")).unwrap();
    let connection = Connection::open(&path).unwrap();
    connection.execute_batch(&sql).unwrap();
    connection.execute_batch("UPDATE nodes SET body = '{' WHERE position = 3").unwrap();
    connection.execute_batch("UPDATE conversations SET record = '[]' WHERE key = 2").unwrap();
    drop(connection);
    block_on(async {
        let store = SqliteStore::open(&path).await.unwrap();
        let error = store.load(&me(), &"tea/green".parse().unwrap()).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{error:#}");
        let page = store.list(&me(), &Query::default()).await.unwrap();
        assert_eq!(page.conversations.len(), 1, "the other conversation is listed");
        assert_eq!(page.damaged[0].name, "empty");
    });
}
