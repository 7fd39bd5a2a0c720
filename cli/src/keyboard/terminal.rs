//! The terminal that a keyboard has taken: what its threads share, and how it is restored.

use std::fs::File;
use std::io;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::modes::{Modes, Unread};

/// The key by which the editor redraws its line; no keyboard has it.
pub(crate) const REDRAW: char = '\u{1e}';

/// The taker of what is typed.
#[derive(Debug)]
pub(super) enum Taker {
    /// The line editor.
    Editor,
    /// None: what is typed is kept.
    None,
    /// None, and the sender reports when everything is kept that was typed before a question.
    Settling(Sender<()>),
    /// A question, which gets the next line that is typed.
    Question(Sender<String>),
    /// The terminal is gone, or the keyboard is.
    Gone,
}

/// What the threads of a keyboard share.
#[derive(Debug)]
pub(super) struct Shared {
    /// The terminal itself; standard input is the pseudo-terminal while a keyboard exists.
    pub(super) terminal: File,
    pub(super) modes: Mutex<Modes>,
    pub(super) taker: Mutex<Taker>,
    /// A byte written here makes the thread check what has changed.
    pub(super) wake: UnixStream,
    /// The editor must redraw its line.
    pub(super) redraw: AtomicBool,
}

/// The keyboard in use: every end of the program restores the terminal through it.
static IN_USE: Mutex<Option<Arc<Shared>>> = Mutex::new(None);

/// Restores the terminal, where a keyboard has taken it.
pub(crate) fn restore(unread: Unread) {
    if let Some(shared) = in_use().take() {
        shared.modes().leave(&shared.terminal, unread);
    }
}

impl Shared {
    /// Sets the terminal's mode, and returns the lines that were typed before.
    pub(super) fn take_over(&self) -> io::Result<Vec<u8>> {
        self.modes().enter(&self.terminal)
    }

    pub(super) fn give_to(&self, taker: Taker) {
        let mut current = self.taker();
        if !matches!(*current, Taker::Gone) {
            *current = taker;
        }
        drop(current);
        self.wake();
    }

    /// Makes the editor redraw its line.
    pub(super) fn redraw(&self) {
        self.redraw.store(true, Ordering::Relaxed);
        self.wake();
    }

    pub(super) fn wake(&self) {
        // The thread ends only with the keyboard.
        let _ = io::Write::write(&mut &self.wake, b".");
    }

    pub(super) fn taker(&self) -> MutexGuard<'_, Taker> {
        self.taker.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn modes(&self) -> MutexGuard<'_, Modes> {
        self.modes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(super) fn in_use() -> MutexGuard<'static, Option<Arc<Shared>>> {
    // An option is valid even when the thread that held the lock panicked.
    IN_USE.lock().unwrap_or_else(PoisonError::into_inner)
}
