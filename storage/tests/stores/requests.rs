//! The store of objects when requests fail: every one, before and after it took effect, alone and with all that follow.

use std::fmt;
use std::ops::Range;
use std::sync::{Arc, Mutex};

use alloquy_storage::BucketStore;
use async_trait::async_trait;
use futures::stream::{BoxStream, StreamExt, once};
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{
    CopyOptions, Error, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore,
    PutMultipartOptions, PutOptions, PutPayload, PutResult, Result,
};
use pollster::block_on;

use crate::calls::{CALLS, Call, Sample, delete_rubbish, seen, write_rubbish};

/// When a request fails.
#[derive(Clone, Copy, Debug, PartialEq)]
enum When {
    /// Before it took effect.
    Before,
    /// After it took effect: the answer is lost.
    After,
}

/// Fails the requests of some numbers.
#[derive(Debug)]
struct Failing {
    inner: Arc<InMemory>,
    plan: Mutex<Plan>,
}

#[derive(Debug)]
struct Plan {
    made: usize,
    fails: Range<usize>,
    when: When,
}

impl Failing {
    fn new(inner: Arc<InMemory>) -> Arc<Self> {
        Arc::new(Self { inner, plan: Mutex::new(Plan { made: 0, fails: 0..0, when: When::Before }) })
    }

    /// Counts from here on.
    fn begin(&self, fails: Range<usize>, when: When) {
        *self.plan.lock().unwrap() = Plan { made: 0, fails, when };
    }

    fn end(&self) -> usize {
        let mut plan = self.plan.lock().unwrap();
        plan.fails = 0..0;
        plan.made
    }

    fn failure(&self) -> Option<When> {
        let mut plan = self.plan.lock().unwrap();
        let number = plan.made;
        plan.made += 1;
        plan.fails.contains(&number).then_some(plan.when)
    }

    async fn pass<T>(&self, request: impl Future<Output = Result<T>>) -> Result<T> {
        match self.failure() {
            None => request.await,
            Some(When::Before) => Err(failed()),
            Some(When::After) => {
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
        match self.failure() {
            None => self.inner.delete_stream(keys),
            Some(When::Before) => once(async { Err(failed()) }).boxed(),
            Some(When::After) => self.inner.delete_stream(keys).map(|_| Err(failed())).boxed(),
        }
    }

    fn list(&self, below: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        match self.failure() {
            None => self.inner.list(below),
            Some(_) => once(async { Err(failed()) }).boxed(),
        }
    }

    async fn list_with_delimiter(&self, below: Option<&Path>) -> Result<ListResult> {
        self.pass(self.inner.list_with_delimiter(below)).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.pass(self.inner.copy_opts(from, to, options)).await
    }
}

/// A store to copy for each failure, and what stands in it before and after a call.
struct Bench {
    sample: Sample,
    objects: InMemory,
    is_warm: bool,
}

/// A call, the requests of it that fail, and what is seen before and after it.
struct Case<'a> {
    call: Call,
    fails: Range<usize>,
    when: When,
    before: &'a [String],
    after: &'a [String],
}

impl Bench {
    fn new(is_warm: bool) -> Self {
        let sample = Sample::new();
        let objects = Arc::new(InMemory::new());
        let store = block_on(over(objects.clone()));
        block_on(sample.write(&store)).unwrap();
        drop(store);
        Self { sample, objects: Arc::into_inner(objects).unwrap(), is_warm }
    }

    fn open(&self, objects: &Arc<Failing>) -> BucketStore {
        let store = block_on(over(objects.clone()));
        if self.is_warm {
            block_on(self.sample.warm(&store));
        }
        store
    }

    fn seen(&self, objects: &Arc<Failing>) -> Vec<String> {
        block_on(async { seen(&over(objects.inner.clone()).await, &self.sample).await })
    }

    /// Makes a call with each of its requests failing, and returns how many requests that were.
    fn visit(&self, call: Call) -> usize {
        let objects = Failing::new(Arc::new(self.objects.fork()));
        let before = self.seen(&objects);
        let store = self.open(&objects);
        objects.begin(0..0, When::Before);
        block_on(call.make(&store, &self.sample)).unwrap();
        let count = objects.end();
        let after = self.seen(&objects);
        // Most of the time is spent waiting for the next try.
        std::thread::scope(|scope| {
            for number in 0..count {
                for (when, until) in [
                    (When::Before, number + 1),
                    (When::After, number + 1),
                    (When::Before, usize::MAX),
                    (When::After, usize::MAX),
                ] {
                    let case = Case { call, fails: number..until, when, before: &before, after: &after };
                    scope.spawn(move || self.fail(&case));
                }
            }
        });
        count
    }

    fn fail(&self, case: &Case<'_>) {
        let objects = Failing::new(Arc::new(self.objects.fork()));
        let store = self.open(&objects);
        objects.begin(case.fails.clone(), case.when);
        let outcome = block_on(case.call.make(&store, &self.sample));
        objects.end();
        let what = format!("{:?}, requests {:?} fail, {:?}: {outcome:?}", case.call, case.fails, case.when);
        let found = self.seen(&objects);
        match (&outcome, case.fails.end) {
            (Ok(()), _) => assert_eq!(found, case.after, "what was acknowledged is there: {what}"),
            (Err(_), usize::MAX) => {
                assert!(found == case.after || found == case.before, "all or nothing: {what}");
            }
            (Err(_), _) => assert_eq!(found, case.before, "a failed call changed nothing: {what}"),
        }
        assert_eq!(block_on(seen(&store, &self.sample)), found, "the store knows what is there: {what}");
        let again = block_on(case.call.make(&store, &self.sample));
        let is_done =
            again.as_ref().map_or_else(|error| found == case.after && case.call.is_done(error), |()| true);
        assert!(is_done, "{what}, then {again:?}");
        assert_eq!(self.seen(&objects), case.after, "the same call completes it: {what}");
        if case.call == Call::Delete {
            block_on(self.sample.leaves_no_blobs(&store, &what));
        }
    }
}

async fn over(objects: Arc<dyn ObjectStore>) -> BucketStore {
    BucketStore::new(objects, "some/prefix").await.unwrap()
}

#[test]
fn every_request_may_fail() {
    for is_warm in [false, true] {
        let bench = Bench::new(is_warm);
        let counts: Vec<_> = CALLS.iter().map(|&call| (call, bench.visit(call))).collect();
        let sum: usize = counts.iter().map(|(_, count)| count).sum();
        println!("warm {is_warm}: {sum} requests, each failed in four ways: {counts:?}");
    }
}

#[test]
fn a_deletion_of_many_that_fails_midway_says_what_is_gone() {
    let bench = Bench::new(false);
    let delete = |fails: Range<usize>, when| {
        let objects = Failing::new(Arc::new(bench.objects.fork()));
        let store = bench.open(&objects);
        block_on(write_rubbish(&store));
        objects.begin(fails, when);
        let mut made = 0;
        let end = || made = objects.end();
        block_on(delete_rubbish(&store, end, async || over(objects.inner.clone()).await));
        made
    };
    let count = delete(0..0, When::Before);
    for number in 0..count {
        for when in [When::Before, When::After] {
            delete(number..number + 1, when);
            // All that follow fail, so nothing reports what a call did whose answer is lost.
            if when == When::Before {
                delete(number..usize::MAX, when);
            }
        }
    }
    println!("{count} requests of a deletion of three conversations");
}
