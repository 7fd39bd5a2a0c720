//! The unfinished work of dropped turns, which is done without a thread or a runtime.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::FutureExt;
use futures::future::{BoxFuture, Shared};

use crate::panics::caught_now;
use crate::{Error, ErrorKind, Result};

/// What happens to a reply that is dropped while it is generated, or whose model fails midway.
///
/// [`ManagerBuilder::partial_replies`](crate::manager::ManagerBuilder::partial_replies) sets it for a
/// [manager](crate::Manager).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum PartialReplyPolicy {
    /// The text so far becomes an [interrupted](crate::tree::NodeStatus::Interrupted) node, and the head moves there
    /// unless another writer was faster. A reply that was dropped before its first word stores nothing.
    #[default]
    Keep,
    /// The text is dropped: a model that fails is an error of the turn, and the head does not move. A reply that is
    /// [cancelled](crate::Turn::cancel) is kept all the same.
    Discard,
}

/// Starts work in the background, as a task of the host's runtime.
pub(crate) type Spawner = Arc<dyn Fn(BoxFuture<'static, ()>) + Send + Sync>;

type Work = Shared<BoxFuture<'static, std::result::Result<(), Arc<Error>>>>;

/// What dropped turns still have to store.
///
/// Dropping a turn does as much as the store does without waiting. The next call of the manager awaits the rest. It is
/// the same future, so that no node is written twice, and no reader misses it.
#[derive(Default)]
pub(crate) struct Unfinished {
    work: Mutex<Vec<Work>>,
    spawner: Option<Spawner>,
}

impl Unfinished {
    /// Creates one that starts unfinished work with `spawner`.
    pub(crate) fn with_spawner(spawner: Option<Spawner>) -> Self {
        Self { work: Mutex::default(), spawner }
    }

    fn work(&self) -> MutexGuard<'_, Vec<Work>> {
        self.work.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn begin(&self, work: BoxFuture<'static, std::result::Result<(), Arc<Error>>>) {
        let work = work.shared();
        // A store with a thread of its own takes over the work at the first poll, and completes it even if it is never
        // polled again.
        match work.clone().now_or_never() {
            Some(Ok(())) => return,
            Some(Err(_)) => {}
            None => self.spawn(work.clone()),
        }
        self.work().push(work);
    }

    /// Starts work with the host's spawner. If that panics, for example outside of its runtime, the work waits for the
    /// next call.
    fn spawn(&self, work: Work) {
        let Some(spawner) = &self.spawner else { return };
        let started = caught_now(ErrorKind::Invalid, "the spawner", || {
            spawner(work.map(drop).boxed());
            Ok(())
        });
        if let Err(error) = started {
            tracing::warn!(%error, "a dropped reply is stored with the next call");
        }
    }

    /// Waits until all of it is stored or has failed. [`Unfinished::outcome`] returns the failure.
    pub(super) async fn settle(&self) {
        let waiting: Vec<_> = self.work().iter().filter(|work| work.peek().is_none()).cloned().collect();
        for work in waiting {
            // The outcome is kept in the work.
            let _ = work.await;
        }
        // The first failure is kept until it is returned.
        let mut has_failed = false;
        self.work().retain(|work| match work.peek() {
            None => true,
            Some(Ok(())) => false,
            Some(Err(_)) => !std::mem::replace(&mut has_failed, true),
        });
    }

    /// Waits, and returns the first failure since the last call.
    pub(crate) async fn outcome(&self) -> Result<()> {
        self.settle().await;
        let done = std::mem::take(&mut *self.work());
        let (done, waiting): (Vec<_>, Vec<_>) = done.into_iter().partition(|work| work.peek().is_some());
        self.work().extend(waiting);
        match done.iter().find_map(|work| work.peek()?.as_ref().err()) {
            None => Ok(()),
            Some(error) => {
                Err(Error::new(error.kind(), "a dropped reply could not be kept")
                    .with_source(Arc::clone(error)))
            }
        }
    }
}

impl fmt::Debug for Unfinished {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Unfinished").field("work", &self.work().len()).finish_non_exhaustive()
    }
}
