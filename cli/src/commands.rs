//! The commands, a file each. A command reads its settings, opens what it needs, and prints.

pub(crate) mod ask;
pub(crate) mod bench;
pub(crate) mod bookmark;
pub(crate) mod branches;
pub(crate) mod chat;
pub(crate) mod complete;
pub(crate) mod config;
pub(crate) mod conversations;
pub(crate) mod convert;
pub(crate) mod cost;
pub(crate) mod diff;
pub(crate) mod doctor;
pub(crate) mod export;
pub(crate) mod fork;
pub(crate) mod goto;
pub(crate) mod import;
pub(crate) mod label;
pub(crate) mod merge;
pub(crate) mod models;
pub(crate) mod prune;
pub(crate) mod render;
pub(crate) mod search;
pub(crate) mod tools;
pub(crate) mod tree;

use std::io::Write as _;

use serde_json::Value;
use tracing_subscriber::EnvFilter;

use crate::arguments::{Arguments, Command, Output};
use crate::failure::Failure;
use crate::notes::Notes;
use crate::screen;
use crate::settings::{Settings, Sources};
use crate::visible::Rule;

/// What every command is given.
#[derive(Debug)]
pub(crate) struct Context {
    pub(crate) settings: Settings,
    pub(crate) output: Output,
    pub(crate) notes: Notes,
}

/// Runs the command that the arguments name.
pub(crate) fn run(arguments: Arguments, sources: Sources) -> Result<(), Failure> {
    trace(arguments.output.verbose);
    let notes = Notes::new(&arguments.output);
    let settings = Settings::read(arguments.config.as_deref(), sources)?;
    let context = Context { settings, output: arguments.output, notes };
    match arguments.command {
        Command::Chat(chat) => chat.run(&context),
        Command::Ask(ask) => ask.run(&context),
        Command::Complete(complete) => complete.run(&context),
        Command::Render(render) => render.run(&context),
        Command::Tree(tree) => tree.run(&context),
        Command::Conversations(conversations) => conversations.run(&context),
        Command::Search(search) => search.run(&context),
        Command::Branches(branches) => branches.run(&context),
        Command::Goto(goto) => goto.run(&context),
        Command::Fork(fork) => fork.run(&context),
        Command::Merge(merge) => merge.run(&context),
        Command::Prune(prune) => prune.run(&context),
        Command::Label(label) => label.run(&context),
        Command::Bookmark(bookmark) => bookmark.run(&context),
        Command::Diff(diff) => diff.run(&context),
        Command::Cost(cost) => cost.run(&context),
        Command::Convert(convert) => convert.run(&context),
        Command::Import(import) => import.run(&context),
        Command::Export(export) => export.run(&context),
        Command::Models(models) => models.run(&context),
        Command::Bench(bench) => bench.run(&context),
        Command::Tools(tools) => tools.run(&context),
        Command::Doctor(doctor) => doctor.run(&context),
        Command::Config(config) => config.run(&context),
    }
}

impl Context {
    /// Prints a command's whole result: a list or a report for people, or JSON.
    pub(crate) fn print(&self, text: &str, json: &Value) -> Result<(), Failure> {
        self.write(text, Rule::Line, json)
    }

    /// Prints a document, which a file or a pipe gets byte for byte, or JSON.
    pub(crate) fn print_document(&self, text: &str, json: &Value) -> Result<(), Failure> {
        self.write(text, screen::of_documents(), json)
    }

    fn write(&self, text: &str, rule: Rule, json: &Value) -> Result<(), Failure> {
        if self.output.json {
            writeln!(screen::out(Rule::Json), "{json}")?;
        } else {
            screen::out(rule).write_all(text.as_bytes())?;
        }
        Ok(screen::out(rule).flush()?)
    }
}

/// Writes traces to standard error: as much as `-v` asks for, or what `RUST_LOG` names.
fn trace(verbose: u8) {
    let asked = match verbose {
        0 => "off",
        1 => "warn,alloquy=info",
        2 => "info,alloquy=debug",
        _ => "trace",
    };
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(asked));
    // Its colours would not pass the filter either.
    let traces = tracing_subscriber::fmt().with_env_filter(filter).with_ansi(false);
    traces.with_writer(screen::err).without_time().init();
}
