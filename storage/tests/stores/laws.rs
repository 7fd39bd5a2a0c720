//! Every store keeps the laws of a store.

use alloquy_core::laws::store::{all, large, persistent, threads_lose_nothing};
use alloquy_storage::{Durability, FileStore, SqliteStore};
use pollster::block_on;

use crate::Places;

#[test]
fn files() {
    let places = Places::new();
    let open = async |path| FileStore::open(path).await.unwrap();
    block_on(all(async || open(places.next()).await));
    block_on(persistent(|| places.next(), open));
    threads_lose_nothing(&block_on(open(places.next())));
}

#[test]
fn files_that_do_not_wait_for_the_disk() {
    let places = Places::new();
    let open = async |path| FileStore::open_with(path, Durability::Crash).await.unwrap();
    block_on(all(async || open(places.next()).await));
    block_on(persistent(|| places.next(), open));
}

#[test]
fn sqlite() {
    let places = Places::new();
    let open = async |path| SqliteStore::open(path).await.unwrap();
    block_on(all(async || open(places.next()).await));
    block_on(persistent(|| places.next(), open));
    threads_lose_nothing(&block_on(open(places.next())));
}

#[test]
fn sqlite_in_memory() {
    block_on(all(async || SqliteStore::in_memory().await.unwrap()));
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
