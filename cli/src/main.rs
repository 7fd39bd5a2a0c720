//! The command line of Alloquy: reads arguments, opens a model and a store, and prints.

mod arguments;
mod asking;
mod commands;
mod condition;
mod context;
mod current;
mod embedders;
mod exit;
mod failure;
mod file;
mod folders;
mod form;
mod found;
mod grounding;
mod guarded_model;
mod guards;
mod hub;
mod indexes;
mod interrupts;
mod kept;
mod key_file;
#[cfg_attr(not(unix), path = "keyboard/elsewhere.rs")]
mod keyboard;
mod limit_counts;
mod limit_database;
mod limits;
mod listener;
mod log;
mod media;
mod messages;
mod names;
mod nearest;
mod notes;
mod notice;
mod open;
mod open_model;
mod opener;
mod outline;
mod overflow;
mod panics;
mod peers;
mod piped;
mod pocket;
mod preview;
mod prices;
mod printer;
mod progress;
mod prompts;
mod question;
mod remote;
mod repl;
mod resume;
mod runtime;
mod schema;
mod screen;
mod served;
mod served_library;
mod served_list;
mod served_retrieval;
mod served_snapshots;
mod served_tools;
mod settings;
mod stored;
mod table;
mod times;
mod tools;
mod usage;
mod visible;

use std::process::ExitCode;

use commands::Arguments;

fn main() -> ExitCode {
    panics::filter();
    let (arguments, sources) = match Arguments::read() {
        Ok(read) => read,
        Err(mut error) => {
            peers::advise(&mut error);
            return usage::report(&error);
        }
    };
    let output = arguments.output.clone();
    match commands::run(arguments, sources) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => exit::report(failure, &output),
    }
}
