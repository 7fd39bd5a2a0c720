//! The thread of a decoder, which spares the host a runtime.

use alloquy_core::{Error, ErrorKind, Result};
use futures::{Stream, stream};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::mpsc::Receiver;
use tokio::task::JoinHandle;

/// One thread with a runtime.
#[derive(Debug)]
pub(crate) struct Worker {
    /// `None` only while it is dropped.
    runtime: Option<Runtime>,
}

impl Worker {
    pub(crate) fn start() -> Result<Self> {
        let mut builder = Builder::new_multi_thread();
        let runtime = builder.worker_threads(1).thread_name("remote").enable_all().build();
        let runtime = runtime.map_err(|source| {
            Error::new(ErrorKind::Backend, "cannot start a thread for a server").with_source(source)
        })?;
        Ok(Self { runtime: Some(runtime) })
    }

    /// Starts `work` on the thread. Dropping the result ends the work.
    pub(crate) fn spawn<T, F>(&self, work: F) -> Result<Running<T>>
    where
        T: Send + 'static,
        F: Future<Output = T> + Send + 'static,
    {
        let Some(runtime) = &self.runtime else { return Err(ended()) };
        Ok(Running(runtime.spawn(work)))
    }

    /// Runs `work` on the thread. Dropping the future ends the work.
    pub(crate) async fn run<T, F>(&self, work: F) -> Result<T>
    where
        T: Send + 'static,
        F: Future<Output = T> + Send + 'static,
    {
        let mut running = self.spawn(work)?;
        (&mut running.0).await.map_err(|source| ended().with_source(source))
    }
}

fn ended() -> Error {
    Error::new(ErrorKind::Backend, "the thread that speaks to the server has ended")
}

impl Drop for Worker {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            // Dropping a runtime waits for it, which panics inside a runtime of the host.
            runtime.shutdown_background();
        }
    }
}

/// Work that is aborted when it is dropped.
#[derive(Debug)]
pub(crate) struct Running<T>(JoinHandle<T>);

impl<T> Running<T> {
    /// Waits for the end of the work. Returns why it has no result, if it panicked or its thread has ended.
    async fn failure(&mut self) -> Option<Error> {
        let source = (&mut self.0).await.err()?;
        let message = if source.is_panic() {
            "the client of the server has panicked: this is a defect, so please report it with the output of the program"
        } else {
            "the thread that speaks to the server has ended"
        };
        Some(Error::new(ErrorKind::Backend, message).with_source(source))
    }
}

/// Returns what `running` sends to `received`, and keeps `kept` as long. Work that panics ends the stream with an error.
pub(crate) fn item_stream<T, K>(
    received: Receiver<Result<T>>,
    running: Running<()>,
    kept: K,
) -> impl Stream<Item = Result<T>> + Send
where
    T: Send + 'static,
    K: Send + 'static,
{
    stream::unfold(Some((received, running, kept)), |state| async {
        let (mut received, mut running, kept) = state?;
        if let Some(item) = received.recv().await {
            return Some((item, Some((received, running, kept))));
        }
        // The sender is gone, so the work has ended in one way or the other.
        let error = running.failure().await?;
        Some((Err(error), None))
    })
}

impl<T> Drop for Running<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

#[cfg(test)]
mod tests;
