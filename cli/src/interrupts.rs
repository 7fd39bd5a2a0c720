//! Ctrl-C: ends the answer that is being written, or the program when none is.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use alloquy_core::{Error, ErrorKind, Result, StopSignal};

use crate::failure::INTERRUPTED;

/// What the next Ctrl-C ends. Clones share it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Interrupts(Arc<Mutex<Option<StopSignal>>>);

impl Interrupts {
    /// Listens to Ctrl-C from here on.
    pub(crate) fn install() -> Result<Self> {
        let interrupts = Self::default();
        let shared = interrupts.clone();
        ctrlc::set_handler(move || shared.interrupt()).map_err(|source| {
            Error::new(ErrorKind::Unsupported, "cannot listen to Ctrl-C").with_source(source)
        })?;
        Ok(interrupts)
    }

    /// Lets the next Ctrl-C end what `signal` ends; a second one ends the program.
    pub(crate) fn end_with(&self, signal: StopSignal) {
        *self.armed() = Some(signal);
    }

    /// Lets Ctrl-C end the program again.
    pub(crate) fn disarm(&self) {
        *self.armed() = None;
    }

    fn interrupt(&self) {
        match self.armed().take() {
            Some(signal) => signal.stop(),
            None => std::process::exit(i32::from(INTERRUPTED)),
        }
    }

    fn armed(&self) -> MutexGuard<'_, Option<StopSignal>> {
        // An option is whole whatever happened to the thread that held the lock.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_interrupt_ends_the_answer() {
        let (interrupts, signal) = (Interrupts::default(), StopSignal::default());
        interrupts.end_with(signal.clone());
        interrupts.interrupt();
        assert!(signal.is_stopped());
        assert!(interrupts.armed().is_none(), "the second one ends the program");
    }
}
