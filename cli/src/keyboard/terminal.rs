//! The terminal that a keyboard has taken: what its threads share, and how it is put back.

use std::fs::File;
use std::io;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::modes::{Modes, Unread};

/// The key by which the editor draws its line again; no keyboard has it.
pub(crate) const REDRAW: char = '\u{1e}';

/// Who takes what is typed.
#[derive(Debug)]
pub(super) enum Taker {
    /// The line editor.
    Editor,
    /// Nobody yet: it is kept.
    Nobody,
    /// Nobody yet, and whoever is about to put a question is told when all is kept that was typed before.
    Settling(Sender<()>),
    /// A question, which gets one line of what is typed from now on.
    Question(Sender<String>),
    /// The terminal is gone, or the keyboard is.
    Gone,
}

/// What the threads of a keyboard share.
#[derive(Debug)]
pub(super) struct Shared {
    /// The terminal itself; standard input is the pseudo-terminal meanwhile.
    pub(super) terminal: File,
    pub(super) modes: Mutex<Modes>,
    pub(super) taker: Mutex<Taker>,
    /// A byte written here makes the thread look at what has changed.
    pub(super) wake: UnixStream,
    /// What the editor shows is to be drawn again.
    pub(super) redraw: AtomicBool,
}

/// The keyboard in use: whatever ends the program puts the terminal back through it.
static IN_USE: Mutex<Option<Arc<Shared>>> = Mutex::new(None);

/// Puts the terminal back as it was, where a keyboard has taken it.
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

    /// Draws what the editor shows again.
    pub(super) fn redraw(&self) {
        self.redraw.store(true, Ordering::Relaxed);
        self.wake();
    }

    pub(super) fn wake(&self) {
        // The thread is gone only when the keyboard is.
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
    // An option is whole whatever happened to the thread that held the lock.
    IN_USE.lock().unwrap_or_else(PoisonError::into_inner)
}
