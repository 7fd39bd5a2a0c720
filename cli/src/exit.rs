//! Ends the program after a failure: what it prints, and its exit code.

use std::io::{self, Write as _};
use std::process::ExitCode;

use alloquy::core::{Error, ErrorKind};

use crate::failure::{Failure, INTERRUPTED, print};
use crate::notes::{Loudness, Output};
use crate::printer::{Events, Printer as _};
use crate::screen;
use crate::usage::WRONG_ARGUMENTS;
use crate::visible::Rule;

/// Prints the failure for a person, and with `--json` an event, and returns the exit code.
pub(crate) fn report(failure: Failure, output: &Output) -> ExitCode {
    match failure {
        // The reader has what it wanted, as with `| head`.
        Failure::Output(error) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Failure::Output(error) => {
            let message = "standard output cannot be written";
            print(&Error::new(ErrorKind::Invalid, message).with_source(error));
            ExitCode::FAILURE
        }
        Failure::Error(error) => {
            print_error(&error, output);
            ExitCode::FAILURE
        }
        Failure::Arguments(error) => {
            print_error(&error, output);
            // As after the errors that clap finds.
            let _ = writeln!(screen::err(), "\nFor more information, try '--help'.");
            ExitCode::from(WRONG_ARGUMENTS)
        }
        Failure::Interrupted => ExitCode::from(INTERRUPTED),
        Failure::Problems => ExitCode::FAILURE,
    }
}

fn print_error(error: &Error, output: &Output) {
    print(error);
    if output.json {
        // Standard output may be closed; the exit code says the same.
        let _ = Events::new(screen::out(Rule::Json), Loudness::Normal).error(error);
    }
}
