//! A thread that owns the files or the connection of a store and runs its jobs in order.

use std::fmt;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, MutexGuard, PoisonError};

use alloquy_core::Result;
use futures::channel::oneshot;

use crate::failure::Failure;
use crate::thread::StoreThread;

type Job<S> = Box<dyn FnOnce(&mut S) + Send>;

/// Whether a job still runs when its caller has stopped waiting before its turn.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Wanted {
    WhileAwaited,
    Always,
}

/// Runs blocking jobs on a state that never leaves its thread.
///
/// A job that has begun runs to its end even when its future is dropped, so a dropped future leaves all of its work or
/// none. A job whose future is dropped before it begins is skipped, unless it is to be [completed](Self::complete).
pub(crate) struct Worker<S> {
    /// `None` once the store is closed. Declared before the thread, so that dropping the worker first ends the queue and then
    /// waits for the thread.
    jobs: Mutex<Option<Sender<Job<S>>>>,
    thread: StoreThread,
}

impl<S: 'static> Worker<S> {
    /// Starts the thread of the store named `store`, and opens the state on it.
    pub(crate) async fn start(
        store: &str,
        open: impl FnOnce() -> Result<S, Failure> + Send + 'static,
    ) -> Result<Self> {
        let (jobs, queue) = channel();
        let (opened, opening) = oneshot::channel();
        let thread = StoreThread::start(store, move || work(open, opened, &queue))?;
        let worker = Self { jobs: Mutex::new(Some(jobs)), thread };
        opening.await.map_err(|_| Failure::Ended)??;
        Ok(worker)
    }

    /// Runs a job after the queued ones and waits for its result.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        job: impl FnOnce(&mut S) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T> {
        self.submit(Wanted::WhileAwaited, job).await
    }

    /// Runs a job as [`run`](Self::run) does, but also when its future is dropped before its turn: the thread owns it from
    /// the first poll.
    pub(crate) async fn complete<T: Send + 'static>(
        &self,
        job: impl FnOnce(&mut S) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T> {
        self.submit(Wanted::Always, job).await
    }

    async fn submit<T: Send + 'static>(
        &self,
        wanted: Wanted,
        job: impl FnOnce(&mut S) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T> {
        let (reply, answer) = oneshot::channel();
        let job: Job<S> = Box::new(move |state| {
            if wanted == Wanted::Always || !reply.is_canceled() {
                // A caller that has stopped waiting meanwhile does not need the answer.
                let _ = reply.send(job(state));
            }
        });
        self.send(job)?;
        Ok(answer.await.map_err(|_| Failure::Ended)??)
    }

    fn send(&self, job: Job<S>) -> Result<(), Failure> {
        match self.jobs().as_ref() {
            Some(jobs) => jobs.send(job).map_err(|_| Failure::Ended),
            None => Err(Failure::Closed),
        }
    }

    fn jobs(&self) -> MutexGuard<'_, Option<Sender<Job<S>>>> {
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Refuses further jobs, and waits until the earlier ones are done and the state is dropped.
    pub(crate) async fn close(&self) {
        self.jobs().take();
        self.thread.ended().await;
    }
}

fn work<S>(
    open: impl FnOnce() -> Result<S, Failure>,
    opened: oneshot::Sender<Result<(), Failure>>,
    queue: &Receiver<Job<S>>,
) {
    let mut state = match open() {
        Ok(state) => state,
        Err(failure) => {
            // Sending fails only where the caller has stopped waiting for the store. It needs no reason then.
            let _ = opened.send(Err(failure));
            return;
        }
    };
    if opened.send(Ok(())).is_ok() {
        for job in queue {
            job(&mut state);
        }
    }
}

impl<S> fmt::Debug for Worker<S> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Worker").finish_non_exhaustive()
    }
}
