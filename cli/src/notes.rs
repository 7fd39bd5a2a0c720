//! What is said beside an answer, on standard error. Never on standard output.

use std::fmt::Display;
use std::io::{IsTerminal, Write, stderr};

use alloquy_core::{Cursor, DamagedConversation};

use crate::arguments::Output;

/// How much is said beside an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Loudness {
    /// Errors only.
    Quiet,
    /// What a person would miss otherwise.
    Normal,
    /// How each answer came about, too.
    Verbose,
}

/// Says things beside an answer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Notes {
    loudness: Loudness,
    style: Style,
}

/// Whether notes and thoughts are dimmed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    /// No escape sequences.
    Plain,
    /// Dimmed, so that answers stand out.
    Dimmed,
}

impl Style {
    /// Looks at the terminal behind standard error, and at `NO_COLOR`.
    fn of_stderr() -> Self {
        let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        match stderr().is_terminal() && !refused {
            true => Style::Dimmed,
            false => Style::Plain,
        }
    }

    /// What stands before dimmed text.
    pub(crate) fn start(self) -> &'static str {
        match self {
            Style::Plain => "",
            Style::Dimmed => "\x1b[2m",
        }
    }

    /// What stands after dimmed text.
    pub(crate) fn end(self) -> &'static str {
        match self {
            Style::Plain => "",
            Style::Dimmed => "\x1b[0m",
        }
    }
}

impl Notes {
    /// Says as much as the arguments ask for.
    pub(crate) fn new(output: &Output) -> Self {
        let loudness = match (output.quiet, output.verbose) {
            (true, _) => Loudness::Quiet,
            (false, 0) => Loudness::Normal,
            (false, _) => Loudness::Verbose,
        };
        Self { loudness, style: Style::of_stderr() }
    }

    /// Returns how much is said.
    pub(crate) fn loudness(self) -> Loudness {
        self.loudness
    }

    /// Returns how it looks.
    pub(crate) fn style(self) -> Style {
        self.style
    }

    /// Names conversations that could not be read.
    pub(crate) fn damaged(self, damaged: &[DamagedConversation]) {
        for DamagedConversation { name, reason } in damaged {
            self.say(format_args!("conversation {name:?} is left out: {reason}"));
        }
    }

    /// Says how an answer goes on that was cut short.
    pub(crate) fn more(self, next: Option<&Cursor>) {
        if let Some(next) = next {
            self.say(format_args!("there is more: --after {next}"));
        }
    }

    /// Says a line unless the caller wants it quiet.
    pub(crate) fn say(self, note: impl Display) {
        if self.loudness >= Loudness::Normal {
            // Nobody may be listening there, which is not worth an error.
            let _ = writeln!(stderr(), "{}{note}{}", self.style.start(), self.style.end());
        }
    }
}
