//! A flag that cancels running work. Knows no work.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use alloquy_core::{Error, ErrorKind, Result};

/// Cancels running work; clones share the flag.
///
/// ```
/// use alloquy_engine::CancelToken;
///
/// let cancel = CancelToken::default();
/// let seen_by_worker = cancel.clone();
/// cancel.cancel();
/// assert!(seen_by_worker.check().unwrap_err().is_cancelled());
/// ```
#[derive(Clone, Default)]
pub struct CancelToken(Arc<State>);

#[derive(Default)]
struct State {
    is_cancelled: AtomicBool,
    /// Ends the running step, if it can be ended.
    end: Mutex<Option<End>>,
}

type End = Box<dyn Fn() + Send>;

impl CancelToken {
    /// Sets the flag, and ends the running step.
    pub fn cancel(&self) {
        self.0.is_cancelled.store(true, Ordering::SeqCst);
        self.end_step();
    }

    /// Returns whether the flag is set.
    pub fn is_cancelled(&self) -> bool {
        self.0.is_cancelled.load(Ordering::SeqCst)
    }

    /// Checks the flag between two steps.
    ///
    /// # Errors
    /// [`ErrorKind::Cancelled`] once the flag is set.
    pub fn check(&self) -> Result<()> {
        if self.is_cancelled() {
            return Err(Error::new(ErrorKind::Cancelled, "cancelled"));
        }
        Ok(())
    }

    /// Runs a step that does not check the flag itself. To end it, `end` is called on the thread that cancels.
    ///
    /// `end` may be called more than once, and before the step begins, but never after this returns. Only one step at a time
    /// can be ended in this way.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use std::sync::atomic::{AtomicBool, Ordering};
    ///
    /// use alloquy_engine::CancelToken;
    ///
    /// let cancel = CancelToken::default();
    /// let elsewhere = cancel.clone();
    /// let is_over = Arc::new(AtomicBool::new(false));
    /// let end = Arc::clone(&is_over);
    /// cancel.during(move || end.store(true, Ordering::SeqCst), || {
    ///     std::thread::spawn(move || elsewhere.cancel());
    ///     while !is_over.load(Ordering::SeqCst) {}
    /// });
    /// ```
    pub fn during<T>(&self, end: impl Fn() + Send + 'static, step: impl FnOnce() -> T) -> T {
        let _running = Running::new(self, Box::new(end));
        // Cancelled between the last check and now: `cancel` found no step to end.
        if self.is_cancelled() {
            self.end_step();
        }
        step()
    }

    fn end_step(&self) {
        if let Some(end) = &*self.end() {
            end();
        }
    }

    fn end(&self) -> MutexGuard<'_, Option<End>> {
        self.0.end.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for CancelToken {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Cancel").field(&self.is_cancelled()).finish()
    }
}

/// A step that can be ended, for as long as it runs, also when it panics.
struct Running<'a>(&'a CancelToken);

impl<'a> Running<'a> {
    fn new(cancel: &'a CancelToken, end: End) -> Self {
        *cancel.end() = Some(end);
        Self(cancel)
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        *self.0.end() = None;
    }
}
