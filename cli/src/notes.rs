//! Notes beside an answer, on standard error. Never on standard output.

use std::fmt::Display;
use std::io::Write as _;

use alloquy::core::query::PageCursor;
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

    /// Print the tokens and the time of each answer, and trace what happens (-vv: in detail)
    #[arg(short, long, global = true, action = clap::ArgAction::Count, env = "ALLOQUY_VERBOSE")]
    pub(crate) verbose: u8,
}

/// How many notes are printed beside an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Loudness {
    /// Errors only.
    Quiet,
    /// Notes that a person needs.
    Normal,
    /// The tokens and the time of each answer, too.
    Verbose,
}

/// Prints notes beside an answer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Notes {
    loudness: Loudness,
    style: Style,
}

impl Notes {
    /// Creates notes of the loudness that the arguments set.
    pub(crate) fn new(output: &Output) -> Self {
        let loudness = if output.quiet {
            Loudness::Quiet
        } else if output.verbose == 0 {
            Loudness::Normal
        } else {
            Loudness::Verbose
        };
        Self { loudness, style: Style::of_err() }
    }

    /// Returns how much is printed.
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

    /// Notes how to see more of a list that ends at `limit`.
    pub(crate) fn more(self, limit: Option<usize>, next: Option<&PageCursor>) {
        if let (Some(limit), Some(_)) = (limit, next) {
            let more = limit.saturating_mul(2).max(1);
            self.say(format_args!(
                "… there are more: --limit {more} (with --json, \"next\" is the cursor for --after)"
            ));
        }
    }

    /// Prints a note on one line, unless `--quiet` is set.
    pub(crate) fn say(self, note: impl Display) {
        if self.loudness >= Loudness::Normal {
            let mut err = screen::err();
            // Standard error may be closed, which is not worth an error.
            let _ = err.styled(self.style, &bounded(&note.to_string())).and_then(|()| err.write_all(b"\n"));
        }
    }
}
