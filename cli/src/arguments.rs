//! The arguments that several commands share. What only one command takes stands in its own file.

mod media;
mod model;
mod prompt;
mod sampling;

use std::path::PathBuf;

use alloquy::ModelBuilder;
use alloquy::core::{ConversationId, Owner, Preface};
use clap::builder::BoolishValueParser as Switch;
use clap::parser::ValueSource;
use clap::{ArgMatches, Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};
use serde::{Deserialize, Serialize};

use crate::commands::{
    ask, bench, bookmark, branches, chat, complete, config, conversations, convert, cost, diff, doctor,
    export, fork, goto, import, label, merge, models, prune, render, search, tools, tree,
};
use crate::limits::count;
use crate::resume::ResumeArguments;
use crate::settings::{Origin, Settings, Sources};

pub(crate) use media::MediaSettings;
pub(crate) use model::{ModelArguments, OptimizationLevel, Waiting, names};
pub(crate) use prompt::PromptArguments;
pub(crate) use sampling::SamplingArguments;

const EXAMPLES: &str = "\
Examples:
  alloquy doctor                                   see whether everything is in place
  alloquy models ~/models                          see which models there are
  alloquy chat --model ~/models/qwen3-0.6b         talk
  alloquy chat -c                                  go on where you left off
  alloquy ask \"What is a monad?\"                   one answer, and nothing else, on standard output
  git diff | alloquy ask \"Write a commit message\"  what is piped in joins the question
  alloquy tree                                     see the branches of the last conversation

Every flag is also a variable (--top-k is ALLOQUY_TOP_K) and most are a key of the configuration file \
(top-k = 20). Flags win over variables, variables over the file, and the file over what the model's makers \
recommend; `alloquy config show` prints each value with where it came from.

Answers go to standard output, everything else to standard error.
Exit codes: 0 done, 1 failed, 2 wrong arguments, 130 interrupted.";

/// Hold, branch and keep conversations with language models that run on this machine
#[derive(Debug, Parser)]
#[command(name = "alloquy", version, after_help = EXAMPLES, max_term_width = 110)]
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
    Conversations(conversations::Conversations),
    Search(search::Search),
    Branches(branches::Branches),
    Goto(goto::Goto),
    Fork(fork::Fork),
    Merge(merge::Merge),
    Prune(prune::Prune),
    Label(label::Label),
    Bookmark(bookmark::Bookmark),
    Diff(diff::Diff),
    Cost(cost::Cost),
    Convert(convert::Convert),
    Import(import::Import),
    Export(export::Export),
    Models(models::Models),
    Bench(bench::Bench),
    Tools(tools::Tools),
    Doctor(doctor::Doctor),
    Config(config::Config),
}

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

/// Which tools a model may ask for, and under which rules they run.
#[derive(Args, Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default, rename_all = "kebab-case")]
#[command(next_help_heading = "Tools")]
pub(crate) struct ToolArguments {
    /// Offer the tools of an MCP server that this command starts; may be repeated
    #[arg(long, value_name = "COMMAND", env = "ALLOQUY_MCP")]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) mcp: Vec<String>,

    /// Offer the tools of the MCP server at this address; may be repeated
    #[arg(long, value_name = "URL", env = "ALLOQUY_MCP_URL")]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) mcp_url: Vec<String>,

    /// Whether calls run: ask, always or never; where nobody can be asked, ask is never
    #[arg(long, value_enum, value_name = "WHEN", env = "ALLOQUY_APPROVE", hide_possible_values = true)]
    pub(crate) approve: Option<Approve>,

    /// End a call after N seconds; 60 unless set
    #[arg(long, value_name = "N", env = "ALLOQUY_TOOL_TIMEOUT", value_parser = count::<u64>("tool-timeout"))]
    pub(crate) tool_timeout: Option<u64>,

    /// Let the model ask for tools N times in a turn; 8 unless set
    #[arg(long, value_name = "N", env = "ALLOQUY_TOOL_ROUNDS", value_parser = count::<usize>("tool-rounds"))]
    pub(crate) tool_rounds: Option<usize>,
}

/// Whether the calls of tools run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Approve {
    /// The person at the terminal says so of each.
    #[default]
    Ask,
    /// Each does.
    Always,
    /// None does.
    Never,
}

/// Where conversations are kept.
#[derive(Args, Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default, rename_all = "kebab-case")]
#[command(next_help_heading = "Conversation")]
pub(crate) struct StoreArguments {
    /// Where conversations are kept: sqlite:FILE, file:FOLDER or memory:
    #[arg(long, value_name = "URL", env = "ALLOQUY_STORE")]
    pub(crate) store: Option<String>,

    /// Whose conversations; `local` unless set. Another owner sees none of them
    #[arg(long, value_name = "NAME", env = "ALLOQUY_OWNER")]
    pub(crate) owner: Option<Owner>,
}

impl StoreArguments {
    /// Returns whose conversations are meant.
    pub(crate) fn owner(&self) -> Owner {
        self.owner.clone().unwrap_or_else(Owner::local)
    }
}

/// Where the lines that were typed are remembered.
#[derive(Args, Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default, rename_all = "kebab-case")]
#[command(next_help_heading = "Conversation")]
pub(crate) struct HistoryArguments {
    /// Remember the lines typed here, for the arrow keys
    #[arg(long, value_name = "FILE", env = "ALLOQUY_HISTORY_FILE")]
    pub(crate) history_file: Option<PathBuf>,

    /// Remember no lines
    #[arg(long, env = "ALLOQUY_NO_HISTORY", value_parser = Switch::new())]
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) no_history: bool,
}

/// How a new conversation begins.
#[derive(Args, Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default, rename_all = "kebab-case")]
#[command(next_help_heading = "Conversation")]
pub(crate) struct SystemArguments {
    /// Standing instructions of a new conversation
    #[arg(short, long, value_name = "TEXT", env = "ALLOQUY_SYSTEM")]
    pub(crate) system: Option<String>,
}

/// What becomes of a conversation that outgrows the context.
#[derive(Args, Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default, rename_all = "kebab-case")]
#[command(next_help_heading = "Conversation")]
pub(crate) struct ContextArguments {
    /// What becomes of a conversation that no longer fits: error, drop (the oldest turns), shift (more of them at
    /// once) or summarise; else as the model's mlc-chat-config.json says
    #[arg(
        long,
        value_enum,
        value_name = "POLICY",
        env = "ALLOQUY_CONTEXT_POLICY",
        hide_possible_values = true
    )]
    pub(crate) context_policy: Option<ContextPolicy>,

    /// on is --context-policy shift, off is error
    #[arg(
        long,
        value_enum,
        value_name = "ON|OFF",
        env = "ALLOQUY_CONTEXT_SHIFT",
        hide_possible_values = true
    )]
    pub(crate) context_shift: Option<Shift>,
}

/// What becomes of prompts that would not fit.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ContextPolicy {
    /// They are refused.
    Error,
    /// They go without as few of the oldest turns as possible.
    Drop,
    /// They go without so many of the oldest turns that there is room for a while.
    Shift,
    /// A summary by the model stands for the oldest turns.
    #[value(alias = "summarize")]
    #[serde(alias = "summarize")]
    Summarise,
}

/// Whether prompts go without the oldest messages once they would not fit.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Shift {
    On,
    Off,
}

impl From<ContextPolicy> for alloquy::ContextPolicy {
    fn from(policy: ContextPolicy) -> Self {
        match policy {
            ContextPolicy::Error => Self::Error,
            ContextPolicy::Drop => Self::Drop,
            ContextPolicy::Shift => Self::Shift,
            ContextPolicy::Summarise => Self::Summarize,
        }
    }
}

impl From<alloquy::ContextPolicy> for ContextPolicy {
    fn from(policy: alloquy::ContextPolicy) -> Self {
        match policy {
            alloquy::ContextPolicy::Error => Self::Error,
            alloquy::ContextPolicy::Drop => Self::Drop,
            alloquy::ContextPolicy::Shift => Self::Shift,
            alloquy::ContextPolicy::Summarize => Self::Summarise,
        }
    }
}

impl From<Shift> for ContextPolicy {
    fn from(shift: Shift) -> Self {
        match shift {
            Shift::On => Self::Shift,
            Shift::Off => Self::Error,
        }
    }
}

impl From<ContextPolicy> for Shift {
    fn from(policy: ContextPolicy) -> Self {
        match policy {
            ContextPolicy::Shift => Self::On,
            ContextPolicy::Error | ContextPolicy::Drop | ContextPolicy::Summarise => Self::Off,
        }
    }
}

impl ContextArguments {
    /// Returns the policy that was asked for by either of the two, and by which: the one that was said more strongly, or else
    /// the policy.
    pub(crate) fn asked(&self, settings: &Settings) -> Option<(ContextPolicy, Origin)> {
        let policy = self.context_policy.map(|policy| (policy, settings.origin("context-policy")));
        let shift = self.context_shift.map(|shift| (shift.into(), settings.origin("context-shift")));
        policy.into_iter().chain(shift).min_by_key(|(_, origin)| *origin)
    }

    /// Adds the policy to a model, where one was asked for.
    pub(crate) fn added_to(&self, builder: ModelBuilder, settings: &Settings) -> ModelBuilder {
        match self.asked(settings) {
            Some((policy, _)) => builder.context_policy(policy.into()),
            None => builder,
        }
    }
}

impl SystemArguments {
    /// Returns what stands before the first message of a new conversation.
    pub(crate) fn preface(&self) -> Preface {
        self.system.as_deref().map_or_else(Preface::default, Preface::system)
    }
}

/// Everything that may stand in the configuration file.
#[derive(Args, Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub(crate) struct Settable {
    #[command(flatten)]
    #[serde(flatten)]
    pub(crate) model: ModelArguments,

    #[command(flatten)]
    #[serde(flatten)]
    pub(crate) sampling: SamplingArguments,

    #[command(flatten)]
    #[serde(flatten)]
    pub(crate) tools: ToolArguments,

    #[command(flatten)]
    #[serde(flatten)]
    pub(crate) prompt: PromptArguments,

    #[command(flatten)]
    #[serde(flatten)]
    pub(crate) store: StoreArguments,

    #[command(flatten)]
    #[serde(flatten)]
    pub(crate) system: SystemArguments,

    #[command(flatten)]
    #[serde(flatten)]
    pub(crate) context: ContextArguments,

    #[command(flatten)]
    #[serde(flatten)]
    pub(crate) resume: ResumeArguments,

    #[command(flatten)]
    #[serde(flatten)]
    pub(crate) history: HistoryArguments,
}

/// Which stored conversation is meant.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Conversation")]
pub(crate) struct WhichConversation {
    /// Go on with the conversation that was last updated
    #[arg(short = 'c', long = "continue", conflicts_with = "conversation", env = "ALLOQUY_CONTINUE", value_parser = Switch::new())]
    pub(crate) last: bool,

    /// Go on with this conversation
    #[arg(long, value_name = "ID", env = "ALLOQUY_CONVERSATION")]
    pub(crate) conversation: Option<ConversationId>,
}

impl Arguments {
    /// Reads the arguments of this process and where each came from.
    ///
    /// # Errors
    /// What is wrong with them; help and the version count as errors too, as clap has it.
    pub(crate) fn read() -> Result<(Self, Sources), clap::Error> {
        let matches = command().try_get_matches()?;
        Ok((Self::from_arg_matches(&matches)?, sources(&matches)))
    }
}

/// Returns the whole command line.
fn command() -> clap::Command {
    adjusted(Arguments::command())
}

/// Help shows the names of variables, not what is in them; and a number below zero is a value, whose error says what
/// would have been valid, and no flag that nobody knows.
fn adjusted(command: clap::Command) -> clap::Command {
    let adjust = |argument: clap::Arg| {
        let takes_value = argument.get_action().takes_values();
        argument.hide_env_values(true).allow_negative_numbers(takes_value)
    };
    command.mut_args(adjust).mut_subcommands(adjusted)
}

/// Where the given arguments came from, by their ids.
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
            let variable = format!("ALLOQUY_{}", long.replace('-', "_").to_uppercase());
            assert_eq!(flag.get_env().and_then(std::ffi::OsStr::to_str), Some(variable.as_str()), "--{long}");
        }
    }
}
