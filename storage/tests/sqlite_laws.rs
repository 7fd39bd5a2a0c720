//! The SQLite store keeps the laws of a store.
#![cfg(feature = "sqlite")]

use alloquy_core::laws;
use alloquy_storage::SqliteStore;

#[test]
fn in_memory() {
    pollster::block_on(laws::store::all(async || SqliteStore::in_memory().await.unwrap()));
}

#[test]
fn on_disk() {
    let folder = tempfile::tempdir().unwrap();
    let numbers = std::cell::Cell::new(0);
    let place = || folder.path().join(format!("{}.db", numbers.replace(numbers.get() + 1)));
    let open = async |path| SqliteStore::open(path).await.unwrap();
    pollster::block_on(async {
        laws::store::all(async || open(place()).await).await;
        laws::store::persistent(place, open).await;
    });
    laws::store::threads_lose_nothing(&pollster::block_on(open(place())));
}
