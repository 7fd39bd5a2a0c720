//! What the store of objects does: over memory, a folder and a server.

use std::sync::Arc;

use alloquy_core::store::{ConversationRecord, ConversationStore};
use alloquy_core::{ErrorKind, Preface, Query};
use alloquy_storage::BucketStore;
use alloquy_testing::laws::store::{
    all, closing_keeps_dropped_turns, dropped_turns_are_kept, large, persistent, threads_lose_nothing,
};
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{ObjectStoreExt, PutPayload};
use pollster::block_on;

use crate::servers::buckets;
use crate::{Places, me, say};

async fn over(objects: &Arc<InMemory>) -> BucketStore {
    BucketStore::new(objects.clone(), "some/prefix").await.unwrap()
}

#[test]
fn laws_in_memory() {
    block_on(all(async || BucketStore::in_memory().await.unwrap()));
    block_on(dropped_turns_are_kept(async || BucketStore::in_memory().await.unwrap()));
    block_on(persistent(|| Arc::new(InMemory::new()), async |objects| over(&objects).await));
    let objects = Arc::new(InMemory::new());
    block_on(closing_keeps_dropped_turns(async || over(&objects).await));
    threads_lose_nothing(&block_on(BucketStore::in_memory()).unwrap());
}

#[test]
fn laws_at_size() {
    block_on(large(async || BucketStore::in_memory().await.unwrap()));
}

#[test]
fn laws_in_a_folder() {
    let places = Places::new();
    let open = async |path| BucketStore::in_folder(path).await.unwrap();
    block_on(all(async || open(places.next()).await));
    block_on(dropped_turns_are_kept(async || open(places.next()).await));
    let place = places.next();
    block_on(closing_keeps_dropped_turns(async || open(place.clone()).await));
    block_on(persistent(|| places.next(), open));
    threads_lose_nothing(&block_on(open(places.next())));
}

#[test]
fn laws_on_a_server() {
    let Some(fresh) = buckets() else { return };
    let open = async |url: String| BucketStore::open(&url).await.unwrap();
    block_on(all(async || open(fresh()).await));
    block_on(dropped_turns_are_kept(async || open(fresh()).await));
    let place = fresh();
    block_on(closing_keeps_dropped_turns(async || open(place.clone()).await));
    block_on(persistent(&fresh, open));
    threads_lose_nothing(&block_on(open(fresh())));
}

#[test]
fn damage_is_found_and_can_be_deleted() {
    let objects = Arc::new(InMemory::new());
    let store = block_on(over(&objects));
    for name in ["one", "two"] {
        let record = ConversationRecord::new(name.parse().unwrap(), Preface::default());
        block_on(store.create(&me(), &record)).unwrap();
        block_on(store.append(&me(), &record.id, &[say(None, "green tea")])).unwrap();
    }
    let key = Path::from("some/prefix/local/log/one/00000000000000000002");
    block_on(objects.put(&key, PutPayload::from_static(b"{}\n00\n"))).unwrap();
    let store = block_on(over(&objects));
    let id = "one".parse().unwrap();
    assert_eq!(block_on(store.load(&me(), &id)).unwrap_err().kind(), ErrorKind::Corrupt);
    let page = block_on(store.list(&me(), &Query::default())).unwrap();
    assert_eq!((page.conversations.len(), page.damaged.len()), (1, 1));
    block_on(store.delete(&me(), &id)).unwrap();
    let page = block_on(store.list(&me(), &Query::default())).unwrap();
    assert_eq!((page.conversations.len(), page.damaged.len()), (1, 0));
    let record = ConversationRecord::new(id, Preface::default());
    block_on(store.create(&me(), &record)).unwrap();
}
