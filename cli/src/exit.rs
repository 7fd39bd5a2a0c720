//! How the program ends when it does not end well: what it prints, and its exit code.

use std::io;
use std::process::ExitCode;

use alloquy::core::{Error, ErrorKind};

use crate::failure::{Failure, INTERRUPTED, print};
use crate::notes::{Loudness, Output};
use crate::printer::{Events, Printer as _};
use crate::screen;
use crate::usage::WRONG_ARGUMENTS;
use crate::visible::Rule;

/// Prints what a person needs to know, and with `--json` an event, and returns the exit code.
pub(crate) fn report(failure: Failure, output: &Output) -> ExitCode {
    match failure {
        // Whoever read our output has what they wanted, as with `| head`.
        Failure::Output(error) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Failure::Output(error) => {
            let message = "standard output cannot be written";
            print(&Error::new(ErrorKind::Invalid, message).with_source(error));
            ExitCode::FAILURE
        }
        Failure::Error(error) => {
            told(&error, output);
            ExitCode::FAILURE
        }
        Failure::Arguments(error) => {
            told(&error, output);
            ExitCode::from(WRONG_ARGUMENTS)
        }
        Failure::Interrupted => ExitCode::from(INTERRUPTED),
        Failure::Problems => ExitCode::FAILURE,
    }
}

fn told(error: &Error, output: &Output) {
    print(error);
    if output.json {
        // Nobody may be listening there any more, which the exit code says as well.
        let _ = Events::new(screen::out(Rule::Json), Loudness::Normal).error(error);
    }
}
