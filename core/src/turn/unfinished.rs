//! What dropped turns have yet to store, kept without a thread or a runtime. Knows no turn.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::FutureExt;
use futures::future::{BoxFuture, Shared};

use crate::panics::caught_now;
use crate::{Error, ErrorKind, Result};

/// What becomes of a reply that is dropped while it is written, or whose model fails midway.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum PartialReplies {
    /// What was said becomes a node that is [interrupted](crate::tree::NodeStatus::Interrupted), and the head moves there
    /// unless another writer was faster. Nothing is left of a reply that was dropped before its first word.
    #[default]
    Keep,
    /// It is as if it had not been said: a model that fails is an error of the turn, and the head stays where it was.
    /// A reply that is [stopped](crate::Turn::stop) is kept all the same.
    Discard,
}

/// Starts work that nobody waits for, as a task of the host's runtime.
pub(crate) type Spawner = Arc<dyn Fn(BoxFuture<'static, ()>) + Send + Sync>;

type Work = Shared<BoxFuture<'static, std::result::Result<(), Arc<Error>>>>;

/// What dropped turns have yet to store.
///
/// Dropping does as much as the store does without waiting. The rest is done by whatever uses the manager next, which
/// waits for it: the same future, so that nothing is written twice, and nothing is read before it is there.
#[derive(Default)]
pub(crate) struct Unfinished {
    work: Mutex<Vec<Work>>,
    spawner: Option<Spawner>,
}

impl Unfinished {
    /// Also starts what is left with `spawner`.
    pub(crate) fn with_spawner(spawner: Option<Spawner>) -> Self {
        Self { work: Mutex::default(), spawner }
    }

    fn work(&self) -> MutexGuard<'_, Vec<Work>> {
        self.work.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn begin(&self, work: BoxFuture<'static, std::result::Result<(), Arc<Error>>>) {
        let work = work.shared();
        // The first poll hands the work to a store that has a thread of its own, which ends it even when nothing of this
        // process polls again.
        match work.clone().now_or_never() {
            Some(Ok(())) => return,
            Some(Err(_)) => {}
            None => self.spawn(work.clone()),
        }
        self.work().push(work);
    }

    /// Starts work with the host's spawner. Where that panics, as outside of its runtime, the work waits for the next call.
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

    /// Waits until all of it is stored, or cannot be. Only [`Unfinished::outcome`] asks which.
    pub(super) async fn settle(&self) {
        let waiting: Vec<_> = self.work().iter().filter(|work| work.peek().is_none()).cloned().collect();
        for work in waiting {
            // The outcome stays with the work.
            let _ = work.await;
        }
        // Of what failed the first is kept until somebody asks.
        let mut has_failed = false;
        self.work().retain(|work| match work.peek() {
            None => true,
            Some(Ok(())) => false,
            Some(Err(_)) => !std::mem::replace(&mut has_failed, true),
        });
    }

    /// Waits, and returns the first failure since it was asked last.
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
