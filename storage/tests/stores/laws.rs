//! Every store keeps the laws of a store.

use alloquy_storage::{Durability, FileStore, SqliteStore};
use alloquy_testing::laws::store::{
    all, closing_keeps_dropped_turns, dropped_turns_are_kept, large, persistent, threads_lose_nothing,
};
use pollster::block_on;
use rusqlite::Connection;

use crate::Places;

#[test]
fn files() {
    let places = Places::new();
    let open = async |path| FileStore::open(path).await.unwrap();
    block_on(all(async || open(places.next()).await));
    block_on(dropped_turns_are_kept(async || open(places.next()).await));
    let place = places.next();
    block_on(closing_keeps_dropped_turns(async || open(place.clone()).await));
    block_on(persistent(|| places.next(), open));
    threads_lose_nothing(&block_on(open(places.next())));
}

#[test]
fn files_that_do_not_wait_for_the_disk() {
    let places = Places::new();
    let open = async |path| FileStore::open_with(path, Durability::Crash).await.unwrap();
    block_on(all(async || open(places.next()).await));
    block_on(dropped_turns_are_kept(async || open(places.next()).await));
    let place = places.next();
    block_on(closing_keeps_dropped_turns(async || open(place.clone()).await));
    block_on(persistent(|| places.next(), open));
}

#[test]
fn sqlite() {
    let places = Places::new();
    let open = async |path| SqliteStore::open(path).await.unwrap();
    block_on(all(async || open(places.next()).await));
    block_on(dropped_turns_are_kept(async || open(places.next()).await));
    let place = places.next();
    block_on(closing_keeps_dropped_turns(async || open(place.clone()).await));
    block_on(persistent(|| places.next(), open));
    threads_lose_nothing(&block_on(open(places.next())));
}

/// Nodes of a stranger stand behind each node, so that every batch of words is full and is written at once.
const CROWD: &str = "INSERT INTO owners (key, name) VALUES (1000, 'crowd');
    INSERT INTO conversations (key, owner, id, record, checksum, created, updated)
        VALUES (1000, 1000, 'crowd', '', 0, 0, 0);
    CREATE TRIGGER crowd AFTER INSERT ON nodes BEGIN
        INSERT INTO nodes (position, conversation, id, body, checksum, pruned)
            VALUES (new.position + 63, 1000, new.position, '', 0, 1);
    END";

#[test]
fn sqlite_with_every_word_in_the_index() {
    let places = Places::new();
    let open = async || {
        let path = places.next();
        let store = SqliteStore::open(&path).await.unwrap();
        Connection::open(&path).unwrap().execute_batch(CROWD).unwrap();
        store
    };
    block_on(all(open));
}

#[test]
fn sqlite_in_memory() {
    block_on(all(async || SqliteStore::in_memory().await.unwrap()));
    block_on(dropped_turns_are_kept(async || SqliteStore::in_memory().await.unwrap()));
    threads_lose_nothing(&block_on(SqliteStore::in_memory()).unwrap());
}

#[test]
fn files_at_size() {
    let places = Places::new();
    block_on(large(async || FileStore::open(places.next()).await.unwrap()));
}

#[test]
fn sqlite_at_size() {
    let places = Places::new();
    block_on(large(async || SqliteStore::open(places.next()).await.unwrap()));
}
