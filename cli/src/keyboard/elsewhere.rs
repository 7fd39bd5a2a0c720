//! Where terminals are read another way: the editor reads the keyboard itself, and nothing has to be put back.

use std::io;

use crate::interrupts::Interrupts;

/// No key draws a line again.
pub(crate) const REDRAW: char = '\u{1e}';

/// What becomes of typed keys that nobody has read when the program ends: the editor has read them.
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

pub(crate) fn answer(_: impl FnOnce()) -> Option<String> {
    None
}

pub(crate) fn forget_typed() {}
