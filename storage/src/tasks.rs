//! A thread with an event loop that runs the calls of a store concurrently.

use std::fmt;
use std::rc::Rc;
use std::sync::{Mutex, MutexGuard, PoisonError};

use alloquy_core::Result;
use futures::StreamExt;
use futures::channel::mpsc::{UnboundedReceiver, UnboundedSender, unbounded};
use futures::channel::oneshot;
use futures::future::LocalBoxFuture;
use tokio::task::{JoinSet, LocalSet};

use crate::failure::Failure;
use crate::thread::{StoreThread, cannot_start};

type Job<S> = Box<dyn FnOnce(Rc<S>) -> LocalBoxFuture<'static, ()> + Send>;

/// Whether a job still runs when its caller has stopped waiting before it begins.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Wanted {
    WhileAwaited,
    Always,
}

/// Runs asynchronous jobs on a state that never leaves its thread. The caller may use any runtime, or none.
///
/// A job that has begun runs to its end even when its future is dropped, so a dropped future leaves all of its work or
/// none. A job whose future is dropped before it begins is skipped, unless it is to be [completed](Self::complete).
pub(crate) struct Tasks<S> {
    /// `None` once the store is closed. Declared before the thread, so that dropping the tasks first ends the queue and then
    /// waits for the thread.
    jobs: Mutex<Option<UnboundedSender<Job<S>>>>,
    thread: StoreThread,
}

impl<S: 'static> Tasks<S> {
    /// Starts the thread of the store named `store`, and opens the state on it.
    pub(crate) async fn start<F>(store: &str, open: impl FnOnce() -> F + Send + 'static) -> Result<Self>
    where
        F: Future<Output = Result<S, Failure>> + 'static,
    {
        let (jobs, queue) = unbounded();
        let (opened, opening) = oneshot::channel();
        let thread = StoreThread::start(store, move || work(open, opened, queue))?;
        let tasks = Self { jobs: Mutex::new(Some(jobs)), thread };
        opening.await.map_err(|_| Failure::Ended)??;
        Ok(tasks)
    }

    /// Runs a job beside the running ones and waits for its result.
    pub(crate) async fn run<T: Send + 'static, F>(
        &self,
        job: impl FnOnce(Rc<S>) -> F + Send + 'static,
    ) -> Result<T>
    where
        F: Future<Output = Result<T, Failure>> + 'static,
    {
        self.submit(Wanted::WhileAwaited, job).await
    }

    /// Runs a job as [`run`](Self::run) does, but also when its future is dropped before it begins: the thread owns it from
    /// the first poll.
    pub(crate) async fn complete<T: Send + 'static, F>(
        &self,
        job: impl FnOnce(Rc<S>) -> F + Send + 'static,
    ) -> Result<T>
    where
        F: Future<Output = Result<T, Failure>> + 'static,
    {
        self.submit(Wanted::Always, job).await
    }

    async fn submit<T: Send + 'static, F>(
        &self,
        wanted: Wanted,
        job: impl FnOnce(Rc<S>) -> F + Send + 'static,
    ) -> Result<T>
    where
        F: Future<Output = Result<T, Failure>> + 'static,
    {
        let (reply, answer) = oneshot::channel();
        let job: Job<S> = Box::new(move |state| {
            Box::pin(async move {
                if wanted == Wanted::Always || !reply.is_canceled() {
                    // A caller that has stopped waiting meanwhile does not need the answer.
                    let _ = reply.send(job(state).await);
                }
            })
        });
        self.send(job)?;
        Ok(answer.await.map_err(|_| Failure::Ended)??)
    }

    fn send(&self, job: Job<S>) -> Result<(), Failure> {
        match self.jobs().as_ref() {
            Some(jobs) => jobs.unbounded_send(job).map_err(|_| Failure::Ended),
            None => Err(Failure::Closed),
        }
    }

    fn jobs(&self) -> MutexGuard<'_, Option<UnboundedSender<Job<S>>>> {
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Refuses further jobs, and waits until the earlier ones are done and the state is dropped.
    pub(crate) async fn close(&self) {
        self.jobs().take();
        self.thread.ended().await;
    }
}

fn work<S: 'static, F>(
    open: impl FnOnce() -> F,
    opened: oneshot::Sender<Result<(), Failure>>,
    queue: UnboundedReceiver<Job<S>>,
) where
    F: Future<Output = Result<S, Failure>> + 'static,
{
    // Sending fails only where the caller has stopped waiting for the store. It needs no reason then.
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(source) => {
            let _ = opened.send(Err(cannot_start().with_source(source).into()));
            return;
        }
    };
    LocalSet::new().block_on(&runtime, async move {
        match open().await {
            Ok(state) => {
                if opened.send(Ok(())).is_ok() {
                    serve(Rc::new(state), queue).await;
                }
            }
            Err(failure) => {
                let _ = opened.send(Err(failure));
            }
        }
    });
}

async fn serve<S: 'static>(state: Rc<S>, mut queue: UnboundedReceiver<Job<S>>) {
    let mut running = JoinSet::new();
    while let Some(job) = queue.next().await {
        running.spawn_local(job(Rc::clone(&state)));
        // A job that panicked drops its reply, which its caller receives as an error.
        while running.try_join_next().is_some() {}
    }
    while running.join_next().await.is_some() {}
}

impl<S> fmt::Debug for Tasks<S> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Tasks").finish_non_exhaustive()
    }
}
