//! What the store of objects does: over memory, a folder and a server, and when requests fail.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use alloquy_core::laws::store::{all, large, persistent, threads_lose_nothing};
use alloquy_core::{ConversationRecord, ConversationStore, ErrorKind, Preface, Query};
use alloquy_storage::BucketStore;
use async_trait::async_trait;
use futures::stream::{BoxStream, StreamExt, once};
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{
    CopyOptions, Error, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore,
    ObjectStoreExt, PutMultipartOptions, PutOptions, PutPayload, PutResult, Result,
};
use pollster::block_on;

use crate::servers::buckets;
use crate::{Places, me, say};

async fn over(objects: &Arc<InMemory>) -> BucketStore {
    BucketStore::new(objects.clone(), "some/prefix").await.unwrap()
}

#[test]
fn laws_in_memory() {
    block_on(all(async || BucketStore::in_memory().await.unwrap()));
    block_on(persistent(|| Arc::new(InMemory::new()), async |objects| over(&objects).await));
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
    block_on(persistent(|| places.next(), open));
    threads_lose_nothing(&block_on(open(places.next())));
}

#[test]
fn laws_on_a_server() {
    let Some(fresh) = buckets() else { return };
    let open = async |url: String| BucketStore::open(&url).await.unwrap();
    block_on(all(async || open(fresh()).await));
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

/// When a request fails.
#[derive(Clone, Copy, Debug, PartialEq)]
enum When {
    /// Before it took effect.
    Before,
    /// After it took effect: the answer is lost.
    After,
}

/// Fails the request of a number, and with `goes_on` every one behind it: the process or the server is gone.
#[derive(Debug)]
struct Failing {
    inner: Arc<InMemory>,
    made: AtomicUsize,
    fails: usize,
    when: When,
    until: usize,
}

impl Failing {
    fn is_down(&self) -> bool {
        let number = self.made.fetch_add(1, Ordering::Relaxed);
        (self.fails..self.until).contains(&number)
    }

    async fn pass<T>(&self, request: impl Future<Output = Result<T>>) -> Result<T> {
        match (self.is_down(), self.when) {
            (false, _) => request.await,
            (true, When::Before) => Err(failed()),
            (true, When::After) => {
                let _ = request.await;
                Err(failed())
            }
        }
    }
}

fn failed() -> Error {
    Error::Generic { store: "failing", source: "it was told to".into() }
}

impl fmt::Display for Failing {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("failing")
    }
}

#[async_trait]
impl ObjectStore for Failing {
    async fn put_opts(&self, key: &Path, payload: PutPayload, options: PutOptions) -> Result<PutResult> {
        self.pass(self.inner.put_opts(key, payload, options)).await
    }

    async fn put_multipart_opts(
        &self,
        key: &Path,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        self.pass(self.inner.put_multipart_opts(key, options)).await
    }

    async fn get_opts(&self, key: &Path, options: GetOptions) -> Result<GetResult> {
        self.pass(self.inner.get_opts(key, options)).await
    }

    fn delete_stream(&self, keys: BoxStream<'static, Result<Path>>) -> BoxStream<'static, Result<Path>> {
        match (self.is_down(), self.when) {
            (false, _) => self.inner.delete_stream(keys),
            (true, When::Before) => once(async { Err(failed()) }).boxed(),
            (true, When::After) => self.inner.delete_stream(keys).map(|_| Err(failed())).boxed(),
        }
    }

    fn list(&self, below: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        match self.is_down() {
            false => self.inner.list(below),
            true => once(async { Err(failed()) }).boxed(),
        }
    }

    async fn list_with_delimiter(&self, below: Option<&Path>) -> Result<ListResult> {
        self.pass(self.inner.list_with_delimiter(below)).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.pass(self.inner.copy_opts(from, to, options)).await
    }
}

/// Appends and moves the head while requests fail, and returns how many were made.
fn with_failures(fails: usize, until: usize, when: When) -> usize {
    let inner = Arc::new(InMemory::new());
    let whole = block_on(over(&inner));
    let record = ConversationRecord::new("tea".parse().unwrap(), Preface::default());
    block_on(whole.create(&me(), &record)).unwrap();
    let first = say(None, "green tea");
    block_on(whole.append(&me(), &record.id, std::slice::from_ref(&first))).unwrap();
    let failing = Arc::new(Failing { inner: inner.clone(), made: AtomicUsize::new(0), fails, when, until });
    let store = block_on(BucketStore::new(failing.clone(), "some/prefix")).unwrap();
    let next = [say(Some(first.id), "one"), say(Some(first.id), "two")];
    let appended = block_on(store.append(&me(), &record.id, &next));
    let moved = block_on(store.set_head(&me(), &record.id, None, Some(next[0].id)));
    let what = format!("request {fails} of {until}, {when:?}: {appended:?} {moved:?}");
    let fresh = block_on(over(&inner));
    let (found, tree) = block_on(fresh.load(&me(), &record.id)).unwrap();
    assert!(tree.len() == 1 || tree.len() == 3, "{what}: all or nothing, not {} nodes", tree.len());
    assert!(appended.is_err() || tree.len() == 3, "{what}: what was acknowledged is there");
    assert!(moved.is_err() || found.head == Some(next[0].id), "{what}: the head is where it was moved");
    let listed = block_on(fresh.list(&me(), &Query::default())).unwrap();
    assert_eq!(listed.conversations[0].nodes, tree.len(), "{what}: a list says the same");
    if until == fails.saturating_add(1) {
        assert_eq!(appended.is_ok(), tree.len() == 3, "{what}: a failed call changed nothing");
        assert_eq!(moved.is_ok(), found.head.is_some(), "{what}: a failed call changed nothing");
    }
    // Whatever happened, doing it again completes it.
    block_on(fresh.append(&me(), &record.id, &next)).unwrap();
    let to = Some(next[0].id);
    block_on(fresh.set_head(&me(), &record.id, found.head, to)).unwrap();
    assert_eq!(block_on(fresh.load(&me(), &record.id)).unwrap().1.len(), 3, "{what}");
    failing.made.load(Ordering::Relaxed)
}

#[test]
fn every_request_may_fail() {
    let made = with_failures(usize::MAX, usize::MAX, When::Before);
    assert!(made > 6, "an append and a move of the head are {made} requests");
    for number in 0..made {
        for when in [When::Before, When::After] {
            with_failures(number, number + 1, when);
            with_failures(number, usize::MAX, when);
        }
    }
    println!("{made} requests, each failed before and after it took effect, alone and with all that follow");
}
