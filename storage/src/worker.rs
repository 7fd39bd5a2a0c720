//! A thread that owns a store's files or connection and does its jobs in order. Knows no store.

use std::fmt;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, MutexGuard, PoisonError};

use alloquy_core::Result;
use futures::channel::oneshot;

use crate::failure::Failure;
use crate::thread::StoreThread;

type Job<S> = Box<dyn FnOnce(&mut S) + Send>;

/// Whether a job runs that nobody waits for any more when its turn comes.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Wanted {
    WhileAwaited,
    Always,
}

/// Runs blocking jobs over a state that never leaves its thread.
///
/// A job that has begun runs to its end even when nobody waits for it any more, so a dropped future leaves all of
/// its work or none; a job that has not begun by then is left out, unless it is to be [completed](Self::complete).
pub(crate) struct Worker<S> {
    /// `None` once the store is closed. Above the thread, so that dropping the worker ends the jobs before it waits.
    jobs: Mutex<Option<Sender<Job<S>>>>,
    thread: StoreThread,
}

impl<S: 'static> Worker<S> {
    /// Starts the thread of the store of a name; the thread opens the state.
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

    /// Runs a job after those before it and waits for its result.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        job: impl FnOnce(&mut S) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T> {
        self.submit(Wanted::WhileAwaited, job).await
    }

    /// Runs a job as [`run`](Self::run) does, also when nobody waits for it any more once its turn comes: it is the thread's
    /// from the first poll.
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
                // Whoever has stopped waiting meanwhile does not want the answer.
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

    /// Refuses further jobs, and waits until those before are done and the state is dropped.
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
            // Nobody waits for the store any more: then nobody misses the reason either.
            let _ = opened.send(Err(failure));
            return;
        }
    };
    if opened.send(Ok(())).is_ok() {
        queue.iter().for_each(|job| job(&mut state));
    }
}

impl<S> fmt::Debug for Worker<S> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Worker").finish_non_exhaustive()
    }
}
