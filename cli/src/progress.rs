//! Shows progress on standard error: a moving line on a terminal, plain lines elsewhere.

use std::borrow::Cow;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::notes::{Loudness, Notes};
use crate::screen;
use crate::visible::on_one_line;

/// Shows the current step, until it is dropped.
#[derive(Debug)]
pub(crate) enum Progress {
    /// On a terminal.
    Moving(ProgressBar),
    /// In a log.
    Lines(Notes),
}

impl Progress {
    /// Starts showing steps; with `--quiet` nothing is shown.
    pub(crate) fn new(notes: Notes) -> Self {
        if !screen::is_err_a_terminal() || notes.loudness() == Loudness::Quiet {
            return Progress::Lines(notes);
        }
        let bar = ProgressBar::new_spinner();
        bar.enable_steady_tick(Duration::from_millis(100));
        Progress::Moving(bar)
    }

    /// Starts showing how much of `size` is done; in a log, every few seconds at most.
    pub(crate) fn of(notes: Notes, size: usize) -> Counted {
        let is_shown = screen::is_err_a_terminal() && notes.loudness() != Loudness::Quiet;
        let bar = ProgressBar::with_draw_target(Some(size as u64), ProgressDrawTarget::hidden());
        if is_shown {
            bar.set_draw_target(ProgressDrawTarget::stderr_with_hz(20));
        }
        // The template is valid; if it were not, the default style would do.
        if let Ok(style) = ProgressStyle::with_template("{bar:30} {percent:>3} % in {elapsed}, {eta} left") {
            bar.set_style(style);
        }
        Counted { bar, log: (!is_shown).then_some(notes), noted: Instant::now() }
    }

    /// Starts showing how many of so many bytes have arrived; in a log, every few seconds at most.
    pub(crate) fn of_bytes(notes: Notes, bytes: u64) -> Counted {
        let counted = Self::of(notes, 0);
        counted.bar.set_length(bytes);
        let template = "{bar:25} {bytes:>10} of {total_bytes}, {bytes_per_sec}, {eta} left";
        if let Ok(style) = ProgressStyle::with_template(template) {
            counted.bar.set_style(style);
        }
        counted
    }

    /// Shows the current step.
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
    /// The log, where there is no terminal for a bar.
    log: Option<Notes>,
    noted: Instant,
}

/// The time between two lines in a log.
const INTERVAL: Duration = Duration::from_secs(5);

impl Counted {
    /// Shows that so much is done.
    pub(crate) fn advance_to(&mut self, done: u64) {
        self.bar.set_position(done);
        if let Some(notes) = self.log
            && self.noted.elapsed() >= INTERVAL
        {
            let percent = done * 100 / self.bar.length().unwrap_or_default().max(1);
            notes.say(format_args!("{percent} % done"));
            self.noted = Instant::now();
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
