//! The thread of a store: how it starts and how it ends.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle};

use alloquy_core::{Error, ErrorKind, Result};
use futures::FutureExt;
use futures::channel::oneshot;
use futures::executor::block_on;
use futures::future::{Shared, join_all};
use tokio::runtime::Handle;

/// Completes when a thread has ended. Nothing is ever sent: the sender is dropped.
type Ended = Shared<oneshot::Receiver<()>>;

/// Threads that were still running when their store was dropped, by the name of the store.
static ENDING: Mutex<Vec<(String, Ended)>> = Mutex::new(Vec::new());

/// The thread of a store.
///
/// Dropping it waits until the thread has ended. A thread of tokio's runtime must not block, so a drop there does not wait.
/// The next store of that name waits instead before it opens, so that it finds every change of this one.
#[derive(Debug)]
pub(crate) struct StoreThread {
    store: String,
    /// `None` only while it is dropped.
    thread: Option<JoinHandle<()>>,
    ended: Ended,
}

impl StoreThread {
    /// Starts the thread of the store named `store`.
    pub(crate) fn start(store: &str, work: impl FnOnce() + Send + 'static) -> Result<Self> {
        let former = ending_of(store);
        let (alive, ended) = oneshot::channel::<()>();
        let started = Builder::new().name("alloquy-storage".to_owned()).spawn(move || {
            // Dropped when the thread ends, also by a panic.
            let _alive = alive;
            block_on(join_all(former));
            work();
        });
        match started {
            Ok(thread) => Ok(Self { store: store.to_owned(), thread: Some(thread), ended: ended.shared() }),
            Err(source) => Err(cannot_start().with_source(source)),
        }
    }

    /// Waits until the thread has ended.
    pub(crate) async fn ended(&self) {
        let _ = self.ended.clone().await;
    }
}

impl Drop for StoreThread {
    fn drop(&mut self) {
        let Some(thread) = self.thread.take() else { return };
        if Handle::try_current().is_ok() {
            let mut ending = ending();
            ending.retain(|(_, ended)| ended.peek().is_none());
            ending.push((std::mem::take(&mut self.store), self.ended.clone()));
        } else {
            // A panic of the thread was reported to the caller that waited for the job.
            let _ = thread.join();
        }
    }
}

fn ending() -> MutexGuard<'static, Vec<(String, Ended)>> {
    ENDING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the threads of former stores of a name that have not ended yet.
fn ending_of(store: &str) -> Vec<Ended> {
    let mut former = Vec::new();
    for (name, ended) in ending().iter() {
        if name == store {
            former.push(ended.clone());
        }
    }
    former
}

pub(crate) fn cannot_start() -> Error {
    Error::new(ErrorKind::Store, "cannot start the thread of the store")
}
