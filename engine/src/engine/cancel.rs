//! Asking running work to end soon. Knows no work.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use alloquy_core::{Error, ErrorKind, Result};

/// Asks running work to end soon; clones share the flag.
///
/// ```
/// use alloquy_engine::Cancel;
///
/// let cancel = Cancel::default();
/// let seen_by_worker = cancel.clone();
/// cancel.cancel();
/// assert!(seen_by_worker.check().unwrap_err().is_cancelled());
/// ```
#[derive(Clone, Default)]
pub struct Cancel(Arc<State>);

#[derive(Default)]
struct State {
    is_asked: AtomicBool,
    /// Ends the step that runs, where one can be ended.
    end: Mutex<Option<End>>,
}

type End = Box<dyn Fn() + Send>;

impl Cancel {
    /// Asks for the end, and ends the step that runs.
    pub fn cancel(&self) {
        self.0.is_asked.store(true, Ordering::SeqCst);
        self.end_step();
    }

    /// Says whether the end was asked for.
    pub fn is_cancelled(&self) -> bool {
        self.0.is_asked.load(Ordering::SeqCst)
    }

    /// Returns [`ErrorKind::Cancelled`] once the end was asked for.
    ///
    /// # Errors
    /// See above.
    pub fn check(&self) -> Result<()> {
        match self.is_cancelled() {
            true => Err(Error::new(ErrorKind::Cancelled, "cancelled")),
            false => Ok(()),
        }
    }

    /// Runs a step that does not look at the flag itself: `end` is called, on the thread that asks, to end it.
    ///
    /// It may be called more than once, and before the step begins, but never after this returns. One step at a time
    /// can be ended so.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use std::sync::atomic::{AtomicBool, Ordering};
    ///
    /// use alloquy_engine::Cancel;
    ///
    /// let cancel = Cancel::default();
    /// let (elsewhere, is_over) = (cancel.clone(), Arc::new(AtomicBool::new(false)));
    /// let end = Arc::clone(&is_over);
    /// cancel.during(move || end.store(true, Ordering::SeqCst), || {
    ///     std::thread::spawn(move || elsewhere.cancel());
    ///     while !is_over.load(Ordering::SeqCst) {}
    /// });
    /// ```
    pub fn during<T>(&self, end: impl Fn() + Send + 'static, step: impl FnOnce() -> T) -> T {
        let _running = Running::new(self, Box::new(end));
        // Asked for between the last look and now: whoever asked found nothing to end.
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

impl fmt::Debug for Cancel {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Cancel").field(&self.is_cancelled()).finish()
    }
}

/// A step that can be ended, for as long as it runs, also when it panics.
struct Running<'a>(&'a Cancel);

impl<'a> Running<'a> {
    fn new(cancel: &'a Cancel, end: End) -> Self {
        *cancel.end() = Some(end);
        Self(cancel)
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        *self.0.end() = None;
    }
}
