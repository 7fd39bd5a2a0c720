//! The file store keeps the laws of a store.
#![cfg(feature = "file")]

use alloquy_core::laws;
use alloquy_storage::FileStore;

#[test]
fn laws_of_a_store() {
    let folder = tempfile::tempdir().unwrap();
    let numbers = std::cell::Cell::new(0);
    let place = || folder.path().join(numbers.replace(numbers.get() + 1).to_string());
    let open = async |path| FileStore::open(path).await.unwrap();
    pollster::block_on(async {
        laws::store::all(async || open(place()).await).await;
        laws::store::persistent(place, open).await;
    });
    laws::store::threads_lose_nothing(&pollster::block_on(open(place())));
}
