//! What takes long, on standard error: a line that moves on a terminal, plain lines elsewhere.

use std::borrow::Cow;
use std::io::{IsTerminal, stderr};
use std::time::Duration;

use indicatif::ProgressBar;

use crate::notes::{Loudness, Notes};

/// Shows that something is going on, until it is dropped.
#[derive(Debug)]
pub(crate) enum Progress {
    /// On a terminal.
    Moving(ProgressBar),
    /// In a log.
    Lines(Notes),
}

impl Progress {
    /// Starts showing; nothing is shown when the caller wants it quiet.
    pub(crate) fn new(notes: Notes) -> Self {
        if !stderr().is_terminal() || notes.loudness() == Loudness::Quiet {
            return Progress::Lines(notes);
        }
        let bar = ProgressBar::new_spinner();
        bar.enable_steady_tick(Duration::from_millis(100));
        Progress::Moving(bar)
    }

    /// Shows what is going on now.
    pub(crate) fn step(&self, what: impl Into<Cow<'static, str>>) {
        match self {
            Progress::Moving(bar) => bar.set_message(what),
            Progress::Lines(notes) => notes.say(what.into()),
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Progress::Moving(bar) = self {
            bar.finish_and_clear();
        }
    }
}
