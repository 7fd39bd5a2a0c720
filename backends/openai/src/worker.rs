//! The thread of a decoder, which spares the host a runtime.

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

impl<T> Drop for Running<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}
