//! The thread that a server is spoken to from, so that hosts need no runtime.

use alloquy_core::{Error, ErrorKind, Result};
use tokio::runtime::{Builder, Runtime};
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
        let runtime =
            builder.worker_threads(1).thread_name("mcp").enable_all().build().map_err(|source| {
                Error::new(ErrorKind::Tool, "cannot start a thread for a server").with_source(source)
            })?;
        Ok(Self { runtime: Some(runtime) })
    }

    /// Does `work` on the thread. Dropping the future ends the work.
    pub(crate) async fn run<T, F>(&self, work: F) -> Result<T>
    where
        T: Send + 'static,
        F: Future<Output = T> + Send + 'static,
    {
        let ended = || Error::new(ErrorKind::Tool, "the thread that speaks to the server has ended");
        let runtime = self.runtime.as_ref().ok_or_else(ended)?;
        let mut work = Aborted(runtime.spawn(work));
        (&mut work.0).await.map_err(|source| ended().with_source(source))
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            // Waiting is not allowed where the host has a runtime of its own.
            runtime.shutdown_background();
        }
    }
}

/// Work that ends when nobody waits for it any more.
struct Aborted<T>(JoinHandle<T>);

impl<T> Drop for Aborted<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}
