//! Ctrl-C: interrupts the answer that is generated, or ends the program when there is none.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use alloquy::core::stop::StopSignal;
use alloquy::core::{Error, ErrorKind, Result};

use crate::failure::INTERRUPTED;
use crate::keyboard::{Unread, restore};

/// What the next Ctrl-C ends. Clones share it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Interrupts(Arc<Mutex<Next>>);

/// What the next Ctrl-C does.
#[derive(Debug, Default)]
enum Next {
    /// It ends the program.
    #[default]
    Leave,
    /// It ends the answer that is about to start.
    Wait,
    /// It ends the answer of this signal.
    Stop(StopSignal),
    /// It was pressed before the answer started. A second one ends the program.
    Asked,
}

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

    /// Lets the next Ctrl-C end the answer that [`Interrupts::end_with`] is about to be called for.
    pub(crate) fn expect(&self) {
        *self.next() = Next::Wait;
    }

    /// Lets the next Ctrl-C end the answer of `signal`, or ends it now if Ctrl-C was pressed before; a second one ends the
    /// program.
    pub(crate) fn end_with(&self, signal: StopSignal) {
        let mut next = self.next();
        if matches!(*next, Next::Asked) {
            signal.stop();
            *next = Next::Leave;
        } else {
            *next = Next::Stop(signal);
        }
    }

    /// Lets Ctrl-C end the program again.
    pub(crate) fn disarm(&self) {
        *self.next() = Next::Leave;
    }

    /// Does what Ctrl-C does.
    pub(crate) fn interrupt(&self) {
        let mut next = self.next();
        match std::mem::take(&mut *next) {
            Next::Stop(signal) => signal.stop(),
            Next::Wait => *next = Next::Asked,
            Next::Leave | Next::Asked => {
                restore(Unread::Dropped);
                std::process::exit(i32::from(INTERRUPTED));
            }
        }
    }

    fn next(&self) -> MutexGuard<'_, Next> {
        // It is valid even when the thread that held the lock panicked.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_interrupt_ends_the_answer() {
        let interrupts = Interrupts::default();
        let signal = StopSignal::default();
        interrupts.end_with(signal.clone());
        interrupts.interrupt();
        assert!(signal.is_stopped());
        assert!(matches!(*interrupts.next(), Next::Leave), "the second one ends the program");
    }

    #[test]
    fn an_interrupt_before_the_answer_ends_it_when_it_begins() {
        let interrupts = Interrupts::default();
        let signal = StopSignal::default();
        interrupts.expect();
        interrupts.interrupt();
        assert!(matches!(*interrupts.next(), Next::Asked), "the second one ends the program");
        interrupts.end_with(signal.clone());
        assert!(signal.is_stopped());
        interrupts.disarm();
        interrupts.end_with(StopSignal::default());
        assert!(matches!(*interrupts.next(), Next::Stop(_)));
    }
}
