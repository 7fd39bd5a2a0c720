//! The command line of Alloquy: choose, wire, print.

mod arguments;
mod commands;
mod condition;
mod current;
mod failure;
mod file;
mod form;
mod interrupts;
mod media;
mod messages;
mod notes;
mod open;
mod piped;
mod preview;
mod printer;
mod progress;
mod repl;
mod resume;
mod settings;
mod stored;
mod tools;
mod visible;

use std::process::ExitCode;

use arguments::Arguments;

fn main() -> ExitCode {
    let (arguments, sources) = Arguments::read();
    let output = arguments.output.clone();
    match commands::run(arguments, sources) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(&output),
    }
}
