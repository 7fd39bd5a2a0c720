//! A thread that owns a store's files or connection and does its jobs in order. Knows no store.

use std::fmt;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{Builder, JoinHandle};

use alloquy_core::{Error, ErrorKind, Result};
use futures::channel::oneshot;

use crate::failure::Failure;

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
    jobs: Option<Sender<Job<S>>>,
    thread: Option<JoinHandle<()>>,
}

impl<S: 'static> Worker<S> {
    /// Starts the thread, which opens the state.
    pub(crate) async fn start(open: impl FnOnce() -> Result<S, Failure> + Send + 'static) -> Result<Self> {
        let (jobs, queue) = channel();
        let (opened, opening) = oneshot::channel();
        let thread = Builder::new()
            .name("alloquy-storage".to_owned())
            .spawn(move || work(open, opened, &queue))
            .map_err(|source| {
                Error::new(ErrorKind::Store, "cannot start the thread of the store").with_source(source)
            })?;
        let worker = Self { jobs: Some(jobs), thread: Some(thread) };
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
        let job = Box::new(move |state: &mut S| {
            if wanted == Wanted::Always || !reply.is_canceled() {
                // Whoever has stopped waiting meanwhile does not want the answer.
                let _ = reply.send(job(state));
            }
        });
        let jobs = self.jobs.as_ref().ok_or(Failure::Ended)?;
        jobs.send(job).map_err(|_| Failure::Ended)?;
        Ok(answer.await.map_err(|_| Failure::Ended)??)
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

impl<S> Drop for Worker<S> {
    /// Waits for the jobs that are wanted and for the state to close, so that a store that was dropped is closed.
    fn drop(&mut self) {
        drop(self.jobs.take());
        if let Some(thread) = self.thread.take() {
            // A panic of the thread was answered to whoever waited for the job.
            let _ = thread.join();
        }
    }
}

impl<S> fmt::Debug for Worker<S> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Worker").finish_non_exhaustive()
    }
}
