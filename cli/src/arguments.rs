//! The arguments that several commands share. What only one command takes stands in its own file.

mod prompt;

use std::path::PathBuf;
use std::str::FromStr;

use alloquy_core::{ConversationId, Owner, PenaltyScope, Preface, SamplingOptions, TokenId};
use clap::builder::BoolishValueParser as Switch;
use clap::parser::ValueSource;
use clap::{ArgMatches, Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};
use serde::{Deserialize, Serialize};

use crate::commands::{
    ask, chat, complete, config, conversations, convert, doctor, models, render, search, tools, tree,
};
use crate::settings::{Origin, Sources};

pub(crate) use prompt::PromptArguments;

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
    Convert(convert::Convert),
    Models(models::Models),
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

/// Which model answers, and how it runs.
#[derive(Args, Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default, rename_all = "kebab-case")]
#[command(next_help_heading = "Model")]
pub(crate) struct ModelArguments {
    /// The model's folder
    #[arg(short, long, value_name = "DIR", env = "ALLOQUY_MODEL")]
    pub(crate) model: Option<PathBuf>,

    /// A chat template in place of the model's: a Jinja file, or the name of a known one
    #[arg(long, value_name = "FILE|NAME", env = "ALLOQUY_TEMPLATE")]
    pub(crate) template: Option<String>,

    /// The model's family, where it is not recognised
    #[arg(long, value_name = "NAME", env = "ALLOQUY_FAMILY")]
    pub(crate) family: Option<String>,

    /// What computes: cpu, cuda, coreml, …
    #[arg(long, value_name = "NAME", env = "ALLOQUY_PROVIDER")]
    pub(crate) provider: Option<String>,

    /// How many threads compute
    #[arg(long, value_name = "N", env = "ALLOQUY_THREADS")]
    pub(crate) threads: Option<usize>,
}

/// How answers are sampled.
#[derive(Args, Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default, rename_all = "kebab-case")]
#[command(next_help_heading = "Sampling")]
pub(crate) struct SamplingArguments {
    /// Randomness: 0 always takes the likeliest token, 1 is the model's own
    #[arg(long, value_name = "X", env = "ALLOQUY_TEMPERATURE")]
    pub(crate) temperature: Option<f64>,

    /// Draw among the N likeliest tokens; 0 is all
    #[arg(long, value_name = "N", env = "ALLOQUY_TOP_K")]
    pub(crate) top_k: Option<usize>,

    /// Draw among the likeliest tokens that together reach this probability
    #[arg(long, value_name = "P", env = "ALLOQUY_TOP_P")]
    pub(crate) top_p: Option<f64>,

    /// Draw among the tokens at least this often as likely as the likeliest
    #[arg(long, value_name = "P", env = "ALLOQUY_MIN_P")]
    pub(crate) min_p: Option<f64>,

    /// Draw among the tokens nearest to what is expected that together reach this probability
    #[arg(long, value_name = "P", env = "ALLOQUY_TYPICAL_P")]
    pub(crate) typical_p: Option<f64>,

    /// Make tokens that occurred, in the prompt too, less likely by this factor; 1 is off
    #[arg(long, value_name = "X", env = "ALLOQUY_REPETITION_PENALTY")]
    pub(crate) repetition_penalty: Option<f64>,

    /// Make tokens that occurred in the answer less likely by this much
    #[arg(long, value_name = "X", env = "ALLOQUY_PRESENCE_PENALTY", allow_negative_numbers = true)]
    pub(crate) presence_penalty: Option<f64>,

    /// The same once for each time they occurred
    #[arg(long, value_name = "X", env = "ALLOQUY_FREQUENCY_PENALTY", allow_negative_numbers = true)]
    pub(crate) frequency_penalty: Option<f64>,

    /// Let penalties look at the last N tokens only; 0 is all
    #[arg(long, value_name = "N", env = "ALLOQUY_PENALTY_WINDOW")]
    pub(crate) penalty_window: Option<usize>,

    /// Which tokens count for penalties; unless set, each penalty has its own way
    #[arg(long, value_name = "SCOPE", env = "ALLOQUY_PENALTY_SCOPE")]
    pub(crate) penalty_scope: Option<Scope>,

    /// Never let N tokens follow each other twice; 0 is off
    #[arg(long, value_name = "N", env = "ALLOQUY_NO_REPEAT_NGRAM")]
    pub(crate) no_repeat_ngram: Option<usize>,

    /// Add X to the logit of the token with this id; may be repeated
    #[arg(long, value_name = "ID=X", env = "ALLOQUY_LOGIT_BIAS", value_delimiter = ',')]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) logit_bias: Vec<TokenBias>,

    /// Make the draw repeatable
    #[arg(long, value_name = "N", env = "ALLOQUY_SEED")]
    pub(crate) seed: Option<u64>,

    /// End an answer after N tokens
    #[arg(long, value_name = "N", env = "ALLOQUY_MAX_TOKENS")]
    pub(crate) max_tokens: Option<usize>,

    /// End an answer at this text, which is left out; may be repeated
    #[arg(long, value_name = "TEXT", env = "ALLOQUY_STOP")]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) stop: Vec<String>,

    /// Say how likely each token was, and the N likeliest in its place; with --json
    #[arg(long, value_name = "N", env = "ALLOQUY_LOGPROBS")]
    pub(crate) logprobs: Option<usize>,
}

/// Which tokens count for penalties.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Scope {
    Reply,
    PromptAndReply,
}

impl Scope {
    fn option(self) -> PenaltyScope {
        match self {
            Self::Reply => PenaltyScope::Reply,
            Self::PromptAndReply => PenaltyScope::PromptAndReply,
        }
    }

    fn of(scope: PenaltyScope) -> Option<Self> {
        match scope {
            PenaltyScope::Reply => Some(Self::Reply),
            PenaltyScope::PromptAndReply => Some(Self::PromptAndReply),
            _ => None,
        }
    }
}

/// A token's id and what is added to its logit, as `ID=X`.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(try_from = "String", into = "String")]
pub(crate) struct TokenBias(TokenId, f32);

impl FromStr for TokenBias {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let pair = text.split_once('=').and_then(|(id, bias)| Some((id.parse().ok()?, bias.parse().ok()?)));
        let (id, bias) =
            pair.ok_or_else(|| format!("{text:?} is not a token's id and a number, as in 15=-2.5"))?;
        Ok(Self(id, bias))
    }
}

impl TryFrom<String> for TokenBias {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<TokenBias> for String {
    fn from(TokenBias(id, bias): TokenBias) -> Self {
        format!("{id}={bias}")
    }
}

impl SamplingArguments {
    /// Returns the options as the library takes them.
    pub(crate) fn options(&self) -> SamplingOptions {
        let narrowed = |value: Option<f64>| value.map(|value| value as f32);
        SamplingOptions {
            temperature: narrowed(self.temperature),
            top_k: self.top_k,
            top_p: narrowed(self.top_p),
            min_p: narrowed(self.min_p),
            typical_p: narrowed(self.typical_p),
            repetition_penalty: narrowed(self.repetition_penalty),
            presence_penalty: narrowed(self.presence_penalty),
            frequency_penalty: narrowed(self.frequency_penalty),
            penalty_window: self.penalty_window,
            penalty_scope: self.penalty_scope.map(Scope::option),
            no_repeat_ngram: self.no_repeat_ngram,
            logit_bias: self.logit_bias.iter().map(|&TokenBias(id, bias)| (id, bias)).collect(),
            logprobs: self.logprobs,
            seed: self.seed,
            max_tokens: self.max_tokens,
            stop: self.stop.clone(),
            ..SamplingOptions::default()
        }
    }
}

impl From<SamplingOptions> for SamplingArguments {
    fn from(options: SamplingOptions) -> Self {
        // Through text: 0.6 as f32 is 0.6000000238 as f64, which nobody wrote.
        let widened = |value: f32| value.to_string().parse().unwrap_or(f64::from(value));
        Self {
            temperature: options.temperature.map(widened),
            top_k: options.top_k,
            top_p: options.top_p.map(widened),
            min_p: options.min_p.map(widened),
            typical_p: options.typical_p.map(widened),
            repetition_penalty: options.repetition_penalty.map(widened),
            presence_penalty: options.presence_penalty.map(widened),
            frequency_penalty: options.frequency_penalty.map(widened),
            penalty_window: options.penalty_window,
            penalty_scope: options.penalty_scope.and_then(Scope::of),
            no_repeat_ngram: options.no_repeat_ngram,
            logit_bias: options.logit_bias.into_iter().map(|(id, bias)| TokenBias(id, bias)).collect(),
            logprobs: options.logprobs,
            seed: options.seed,
            max_tokens: options.max_tokens,
            stop: options.stop,
        }
    }
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
    #[arg(long, value_name = "N", env = "ALLOQUY_TOOL_TIMEOUT")]
    pub(crate) tool_timeout: Option<u64>,

    /// Let the model ask for tools N times in a turn; 8 unless set
    #[arg(long, value_name = "N", env = "ALLOQUY_TOOL_ROUNDS")]
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
pub(crate) struct ShiftArguments {
    /// Go on without the oldest messages when they no longer fit: on or off, else as the model's
    /// mlc-chat-config.json says
    #[arg(
        long,
        value_enum,
        value_name = "ON|OFF",
        env = "ALLOQUY_CONTEXT_SHIFT",
        hide_possible_values = true
    )]
    pub(crate) context_shift: Option<Shift>,
}

/// Whether prompts go without the oldest messages once they would not fit.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Shift {
    On,
    Off,
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
    pub(crate) shift: ShiftArguments,

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
    /// Reads the arguments of this process and where each came from, or ends the process with what is wrong.
    pub(crate) fn read() -> (Self, Sources) {
        let matches = command().get_matches();
        match Self::from_arg_matches(&matches) {
            Ok(arguments) => (arguments, sources(&matches)),
            Err(error) => error.exit(),
        }
    }
}

/// Returns the whole command line; help shows the names of variables, not what is in them.
fn command() -> clap::Command {
    hide_values(Arguments::command())
}

fn hide_values(command: clap::Command) -> clap::Command {
    command.mut_args(|argument| argument.hide_env_values(true)).mut_subcommands(hide_values)
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

#[cfg(test)]
mod tests {
    use super::*;

    fn every_argument(command: &clap::Command) -> Vec<clap::Arg> {
        let below = command.get_subcommands().flat_map(every_argument);
        command.get_arguments().cloned().chain(below).collect()
    }

    #[test]
    fn the_command_line_is_sound() {
        command().debug_assert();
    }

    #[test]
    fn every_flag_is_also_a_variable_of_the_same_name() {
        let flags = every_argument(&command());
        for flag in flags.iter().filter(|flag| !["help", "version"].contains(&flag.get_id().as_str())) {
            let Some(long) = flag.get_long() else { continue };
            let variable = format!("ALLOQUY_{}", long.replace('-', "_").to_uppercase());
            assert_eq!(flag.get_env().and_then(std::ffi::OsStr::to_str), Some(variable.as_str()), "--{long}");
        }
    }
}
