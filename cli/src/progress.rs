//! What takes long, on standard error: a line that moves on a terminal, plain lines elsewhere.

use std::borrow::Cow;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::notes::{Loudness, Notes};
use crate::screen;
use crate::visible::on_one_line;

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
        if !screen::is_err_a_terminal() || notes.loudness() == Loudness::Quiet {
            return Progress::Lines(notes);
        }
        let bar = ProgressBar::new_spinner();
        bar.enable_steady_tick(Duration::from_millis(100));
        Progress::Moving(bar)
    }

    /// Starts showing how much of `size` is done; in a log, that is said no more often than every few seconds.
    pub(crate) fn of(notes: Notes, size: usize) -> Counted {
        let is_shown = screen::is_err_a_terminal() && notes.loudness() != Loudness::Quiet;
        let bar = ProgressBar::with_draw_target(Some(size as u64), ProgressDrawTarget::hidden());
        if is_shown {
            bar.set_draw_target(ProgressDrawTarget::stderr_with_hz(20));
        }
        // One that is not valid is a mistake here, and the usual one shows as much.
        if let Ok(style) = ProgressStyle::with_template("{bar:30} {percent:>3} % in {elapsed}, {eta} left") {
            bar.set_style(style);
        }
        Counted { bar, log: (!is_shown).then_some(notes), said: Instant::now() }
    }

    /// Shows what is going on now.
    pub(crate) fn step(&self, what: impl Into<Cow<'static, str>>) {
        let what: Cow<'static, str> = what.into();
        match self {
            Progress::Moving(bar) => bar.set_message(on_one_line(&what)),
            Progress::Lines(notes) => notes.say(what),
        }
    }
}

/// Shows how much is done of what can be counted, until it is dropped.
#[derive(Debug)]
pub(crate) struct Counted {
    bar: ProgressBar,
    /// Where there is no terminal to show a bar on.
    log: Option<Notes>,
    said: Instant,
}

/// How often a log is told.
const OFTEN: Duration = Duration::from_secs(5);

impl Counted {
    /// Shows that so much is done.
    pub(crate) fn advance_to(&mut self, done: usize) {
        self.bar.set_position(done as u64);
        if let Some(notes) = self.log.filter(|_| self.said.elapsed() >= OFTEN) {
            let percent = done as u64 * 100 / self.bar.length().unwrap_or_default().max(1);
            notes.say(format_args!("{percent} % done"));
            self.said = Instant::now();
        }
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Progress::Moving(bar) = self {
            bar.finish_and_clear();
        }
    }
}
