//! Other systems than Unix: the editor reads the keyboard itself, and there is nothing to restore.

use std::io;

use crate::interrupts::Interrupts;

/// The key by which the editor redraws its line; it is never typed.
pub(crate) const REDRAW: char = '\u{1e}';

/// What happens to typed keys that are unread when the program ends: the editor has read them all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unread {
    Dropped,
}

/// A keyboard that the editor reads itself.
#[derive(Debug)]
pub(crate) struct Keyboard;

impl Keyboard {
    pub(crate) fn take(_: &Interrupts) -> io::Result<Self> {
        Ok(Self)
    }

    pub(crate) fn edit<T>(&self, edit: impl FnOnce() -> T) -> T {
        edit()
    }
}

pub(crate) fn restore(_: Unread) {}

pub(crate) fn is_taken() -> bool {
    false
}

pub(crate) fn answer(_: impl FnOnce()) -> Option<String> {
    None
}

pub(crate) fn forget_typed() {}
