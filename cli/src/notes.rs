//! What is said beside an answer, on standard error. Never on standard output.

use std::fmt::Display;
use std::io::Write as _;

use alloquy::core::query::Cursor;
use alloquy::core::store::DamagedConversation;
use clap::Args;
use clap::builder::BoolishValueParser as Switch;

use crate::screen::{self, Style};
use crate::visible::bounded;

/// How the output looks.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct Output {
    /// Print JSON: events one a line where an answer is written, one object elsewhere
    #[arg(long, global = true, env = "ALLOQUY_JSON", value_parser = Switch::new())]
    pub(crate) json: bool,

    /// Print nothing but the answer, and errors
    #[arg(short, long, global = true, env = "ALLOQUY_QUIET", value_parser = Switch::new())]
    pub(crate) quiet: bool,

    /// Say what each answer took, and trace what happens (-vv: in detail)
    #[arg(short, long, global = true, action = clap::ArgAction::Count, env = "ALLOQUY_VERBOSE")]
    pub(crate) verbose: u8,
}

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

impl Notes {
    /// Says as much as the arguments ask for.
    pub(crate) fn new(output: &Output) -> Self {
        let loudness = match (output.quiet, output.verbose) {
            (true, _) => Loudness::Quiet,
            (false, 0) => Loudness::Normal,
            (false, _) => Loudness::Verbose,
        };
        Self { loudness, style: Style::of_err() }
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
        for DamagedConversation { name, reason, .. } in damaged {
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
            let mut err = screen::err();
            // Nobody may be listening there, which is not worth an error.
            let _ = err.styled(self.style, &bounded(&note.to_string())).and_then(|()| err.write_all(b"\n"));
        }
    }
}
