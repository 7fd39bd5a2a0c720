//! Runs a model on a thread of its own, so that who waits for it is not blocked.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use alloquy_core::{Error, ErrorKind, Result};
use futures::channel::oneshot;

/// Whether the caller still waits for the result.
#[derive(Clone, Debug, Default)]
pub(super) struct Waiting {
    is_over: Arc<AtomicBool>,
}

impl Waiting {
    pub(super) fn end(&self) {
        self.is_over.store(true, Ordering::Relaxed);
    }

    /// Returns an error if the caller no longer waits, so that the work can end.
    pub(super) fn check(&self) -> Result<()> {
        if self.is_over.load(Ordering::Relaxed) {
            return Err(Error::new(ErrorKind::Cancelled, "the caller no longer waits for the result"));
        }
        Ok(())
    }
}

/// Ends the waiting when the future is dropped.
struct EndOnDrop(Waiting);

impl Drop for EndOnDrop {
    fn drop(&mut self) {
        self.0.end();
    }
}

/// Runs `work` on another thread, and waits for its result.
pub(super) async fn in_background<T: Send + 'static>(
    name: &str,
    work: impl FnOnce(&Waiting) -> Result<T> + Send + 'static,
) -> Result<T> {
    let waiting = Waiting::default();
    let end = EndOnDrop(waiting.clone());
    let (sender, receiver) = oneshot::channel();
    let thread = std::thread::Builder::new().name(name.to_owned()).spawn(move || {
        // The receiver is gone if the caller no longer waits.
        let _ = sender.send(work(&waiting));
    });
    thread.map_err(|source| {
        Error::new(ErrorKind::Backend, "no thread for a model could be started").with_source(source)
    })?;
    let result = receiver.await;
    drop(end);
    result.map_err(|_| Error::new(ErrorKind::Backend, "the thread of a model ended without a result"))?
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::sync::mpsc;
    use std::task::{Context, Waker};
    use std::time::Duration;

    use super::*;

    #[test]
    fn work_learns_that_its_future_was_dropped() {
        let (sender, ended) = mpsc::channel();
        {
            let work = in_background("test", move |waiting| -> Result<()> {
                while waiting.check().is_ok() {
                    std::thread::yield_now();
                }
                sender.send(()).unwrap();
                waiting.check()
            });
            let mut work = pin!(work);
            assert!(work.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
            assert_eq!(ended.try_recv(), Err(mpsc::TryRecvError::Empty));
        }
        ended.recv_timeout(Duration::from_secs(60)).unwrap();
    }
}
