//! The command line and its commands, a file each. A command reads its settings, opens what it needs, and prints.

pub(crate) mod ask;
pub(crate) mod bench;
pub(crate) mod bookmark;
pub(crate) mod branches;
pub(crate) mod chat;
pub(crate) mod complete;
pub(crate) mod completions;
pub(crate) mod config;
pub(crate) mod conversations;
pub(crate) mod convert;
pub(crate) mod cost;
pub(crate) mod delete;
pub(crate) mod diff;
pub(crate) mod doctor;
pub(crate) mod export;
pub(crate) mod flow;
pub(crate) mod fork;
pub(crate) mod goto;
pub(crate) mod guards;
pub(crate) mod history;
pub(crate) mod import;
pub(crate) mod index;
pub(crate) mod keys;
pub(crate) mod label;
pub(crate) mod man;
pub(crate) mod merge;
pub(crate) mod models;
pub(crate) mod note;
pub(crate) mod prompt;
pub(crate) mod prune;
pub(crate) mod pull;
pub(crate) mod remote;
pub(crate) mod render;
pub(crate) mod search;
pub(crate) mod serve;
pub(crate) mod tools;
pub(crate) mod tree;
pub(crate) mod undo;

use std::path::PathBuf;

use clap::parser::ValueSource;
use clap::{ArgMatches, CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::context::Context;
use crate::failure::Failure;
use crate::log;
use crate::notes::{Notes, Output};
use crate::settings::{Origin, Settings, Sources};

const EXAMPLES: &str = "\
Examples:
  alloquy ask \"What is the capital of Norway?\"      one answer, and nothing else, on standard output
  alloquy chat                                      talk; everything is kept
  alloquy chat -c                                   continue the last conversation
  alloquy tree                                      see its branches
  alloquy doctor                                    see whether everything is in place
  alloquy models --help                             see which real models there are
  alloquy pull onnx-community/Qwen3-0.6B-ONNX       fetch one
  alloquy chat --model onnx-community/Qwen3-0.6B-ONNX
  git diff | alloquy ask --model onnx-community/Qwen3-0.6B-ONNX \"Write a commit message\"
  alloquy chat --remote http://localhost:8000 --model Qwen/Qwen3-4B      the model is on a server

Every flag is also a variable (--top-k is ALLOQUY_TOP_K) and most are a key of the configuration file \
(top-k = 20). Flags win over variables, variables over the file, and the file over what the model's authors \
recommend; `alloquy config show` prints each value with where it came from.

Answers go to standard output, everything else to standard error.
Exit codes: 0 done, 1 failed, 2 wrong arguments, 130 interrupted.";

/// Hold, branch and keep conversations with language models, on this machine or on a server
#[derive(Debug, Parser)]
#[command(name = NAME, version, after_help = EXAMPLES, max_term_width = 110)]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(crate) output: Output,

    /// The configuration file
    #[arg(long, global = true, value_name = "FILE", env = "ALLOQUY_CONFIG")]
    pub(crate) config: Option<PathBuf>,

    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Chat(chat::Chat),
    Ask(ask::Ask),
    Complete(complete::Complete),
    Render(render::Render),
    Tree(tree::Tree),
    History(history::History),
    Conversations(conversations::Conversations),
    Search(search::Search),
    Branches(branches::Branches),
    #[command(alias = "switch")]
    Goto(goto::Goto),
    Undo(undo::Undo),
    #[command(alias = "branch")]
    Fork(fork::Fork),
    Merge(merge::Merge),
    Prompt(prompt::PromptCommand),
    Index(index::IndexCommand),
    Note(note::NoteCommand),
    Flow(flow::FlowCommand),
    Prune(prune::Prune),
    Label(label::Label),
    Bookmark(bookmark::Bookmark),
    Diff(diff::Diff),
    Cost(cost::Cost),
    #[command(alias = "rm")]
    Delete(delete::Delete),
    Convert(convert::Convert),
    Import(import::Import),
    Export(export::Export),
    Pull(pull::Pull),
    Models(models::Models),
    Remote(remote::Remote),
    Bench(bench::Bench),
    Tools(tools::Tools),
    Guards(guards::GuardsCommand),
    Serve(serve::Serve),
    Keys(keys::KeysCommand),
    Doctor(doctor::Doctor),
    Config(config::Config),
    Completions(completions::Completions),
    Man(man::Manual),
}

impl Command {
    /// Returns whether a command reports what is wrong in the configuration file itself, or does not use it.
    fn reports_settings(&self) -> bool {
        matches!(self, Self::Config(_) | Self::Doctor(_) | Self::Completions(_) | Self::Man(_))
    }
}

impl Arguments {
    /// Reads the arguments of this process and where each came from.
    ///
    /// # Errors
    /// When an argument is wrong. Help and the version are errors too, as in clap.
    pub(crate) fn read() -> Result<(Self, Sources), clap::Error> {
        let matches = command().try_get_matches()?;
        Ok((Self::from_arg_matches(&matches)?, sources(&matches)))
    }
}

/// The name of the program.
const NAME: &str = "alloquy";

/// Returns the whole command line.
fn command() -> clap::Command {
    let is_short = std::env::args_os().any(|argument| argument == "-h");
    adjusted(Arguments::command(), if is_short { Help::Short } else { Help::Long })
}

/// Returns the whole command line, with every flag in every help.
fn full_command() -> clap::Command {
    adjusted(Arguments::command(), Help::Manual)
}

/// For which help a command line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Help {
    /// `-h`, without rare flags and without the names of variables.
    Short,
    /// `--help`.
    Long,
    /// The manual and completions, which know no short help.
    Manual,
}

/// A command with more flags than this shows those of [`COMMON`] with `-h`, and all with `--help`.
const FEW: usize = 30;

/// The flags of such commands that `-h` shows beside those without a heading.
const COMMON: [&str; 17] = [
    "image",
    "audio",
    "model",
    "template",
    "last",
    "conversation",
    "store",
    "system",
    "thinking",
    "temperature",
    "seed",
    "max_tokens",
    "json_schema",
    "choice",
    "documents",
    "memory",
    "mcp",
];

/// Adjusts the arguments of a command and of its subcommands:
///
/// * Help shows the names of environment variables without their values, and `-h` none.
/// * `-h` hides rare flags of a command that has many.
/// * A negative number is a value, not an unknown flag, so that its error names the valid range.
fn adjusted(command: clap::Command, help: Help) -> clap::Command {
    let has_many = help != Help::Manual && command.get_arguments().count() > FEW;
    let command = command.mut_args(|argument| {
        let takes_value = argument.get_action().takes_values();
        let is_common = argument.get_help_heading().is_none() || COMMON.contains(&argument.get_id().as_str());
        let argument = argument.hide_short_help(has_many && !is_common).hide_env(help == Help::Short);
        argument.hide_env_values(true).allow_negative_numbers(takes_value)
    });
    command.mut_subcommands(|below| adjusted(below, help))
}

/// Returns where the given arguments came from, by their ids.
fn sources(matches: &ArgMatches) -> Sources {
    let mut sources = Sources::default();
    let mut next = Some(matches);
    while let Some(matches) = next {
        for id in matches.ids() {
            let origin = match matches.value_source(id.as_str()) {
                Some(ValueSource::CommandLine) => Origin::Flag,
                Some(ValueSource::EnvVariable) => Origin::Variable,
                _ => continue,
            };
            sources.insert(id.as_str(), origin);
        }
        next = matches.subcommand().map(|(_, matches)| matches);
    }
    sources
}

/// Runs the command that the arguments name.
pub(crate) fn run(arguments: Arguments, sources: Sources) -> Result<(), Failure> {
    let notes = Notes::new(&arguments.output);
    let settings = Settings::read(arguments.config.as_deref(), sources)?;
    let format = match &arguments.command {
        Command::Serve(serve) => Some(serve.log_format(&settings)?),
        _ => None,
    };
    let _log = log::begin(arguments.output.verbose, format)?;
    if !arguments.command.reports_settings() {
        settings.check()?;
    }
    let context = Context { settings, output: arguments.output, notes };
    match arguments.command {
        Command::Chat(chat) => chat.run(&context),
        Command::Ask(ask) => ask.run(&context),
        Command::Complete(complete) => complete.run(&context),
        Command::Render(render) => render.run(&context),
        Command::Tree(tree) => tree.run(&context),
        Command::History(history) => history.run(&context),
        Command::Conversations(conversations) => conversations.run(&context),
        Command::Search(search) => search.run(&context),
        Command::Branches(branches) => branches.run(&context),
        Command::Goto(goto) => goto.run(&context),
        Command::Undo(undo) => undo.run(&context),
        Command::Fork(fork) => fork.run(&context),
        Command::Merge(merge) => merge.run(&context),
        Command::Prompt(prompt) => prompt.run(&context),
        Command::Index(index) => index.run(&context),
        Command::Note(note) => note.run(&context),
        Command::Flow(flow) => flow.run(&context),
        Command::Prune(prune) => prune.run(&context),
        Command::Label(label) => label.run(&context),
        Command::Bookmark(bookmark) => bookmark.run(&context),
        Command::Diff(diff) => diff.run(&context),
        Command::Cost(cost) => cost.run(&context),
        Command::Delete(delete) => delete.run(&context),
        Command::Convert(convert) => convert.run(&context),
        Command::Import(import) => import.run(&context),
        Command::Export(export) => export.run(&context),
        Command::Pull(pull) => pull.run(&context),
        Command::Models(models) => models.run(&context),
        Command::Remote(remote) => remote.run(&context),
        Command::Bench(bench) => bench.run(&context),
        Command::Tools(tools) => tools.run(&context),
        Command::Guards(guards) => guards.run(&context),
        Command::Serve(serve) => serve.run(&context),
        Command::Keys(keys) => keys.run(&context),
        Command::Doctor(doctor) => doctor.run(&context),
        Command::Config(config) => config.run(&context),
        Command::Completions(completions) => completions.run(full_command(), &context),
        Command::Man(manual) => manual.run(full_command(), &context),
    }
}

/// Every argument of every command.
#[cfg(test)]
pub(crate) fn every_argument() -> Vec<clap::Arg> {
    fn of(command: &clap::Command) -> Vec<clap::Arg> {
        command.get_arguments().cloned().chain(command.get_subcommands().flat_map(of)).collect()
    }
    of(&command())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        command().debug_assert();
    }

    #[test]
    fn every_flag_is_also_a_variable_of_the_same_name() {
        let flags = every_argument();
        for flag in flags.iter().filter(|flag| !["help", "version"].contains(&flag.get_id().as_str())) {
            let Some(long) = flag.get_long() else { continue };
            // The variable of --limit would be the one of `conversations --limit N`.
            // The variable of `ask --prompt NAME` would be the one of `bench --prompt N`.
            let name = match flag.get_id().as_str() {
                "limits" => "limits",
                "prompt_name" => "prompt_name",
                _ => long,
            };
            let variable = format!("ALLOQUY_{}", name.replace('-', "_").to_uppercase());
            assert_eq!(flag.get_env().and_then(std::ffi::OsStr::to_str), Some(variable.as_str()), "--{long}");
        }
    }
}
