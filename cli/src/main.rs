//! The command line of Alloquy: choose, wire, print.

mod arguments;
mod commands;
mod condition;
mod current;
mod drawing;
mod failure;
mod form;
mod interrupts;
mod messages;
mod notes;
mod open;
mod piped;
mod preview;
mod printer;
mod progress;
mod repl;
mod settings;
mod tools;
mod visible;

use std::process::ExitCode;

use arguments::Arguments;
use failure::Failure;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}

fn run() -> Result<(), Failure> {
    let (arguments, sources) = Arguments::read();
    commands::run(arguments, sources)
}
