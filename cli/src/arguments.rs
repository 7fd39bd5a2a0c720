//! The arguments that several commands share. The arguments of a single command are in its own file.

mod documents;
mod guards;
mod library;
mod list;
mod media;
mod memory;
mod model;
mod prompt;
mod remote;
mod resume;
mod sampling;
mod serving;

use std::path::PathBuf;

use alloquy::core::{ConversationId, Error, ErrorKind, Owner, Preface, Result};
use clap::builder::BoolishValueParser as Switch;
use clap::{Args, ValueEnum};
use serde::{Deserialize, Serialize};

use crate::limits::count;

pub(crate) use documents::{DocumentsArguments, IndexArguments};
pub(crate) use guards::{CallLimit, Finds, Guard, GuardArguments, PriceArguments, RedactionArguments};
pub(crate) use library::{LibraryArguments, NamedPromptArguments, ValueArguments, values};
pub(crate) use list::names;
pub(crate) use media::MediaSettings;
pub(crate) use memory::MemoryArguments;
pub(crate) use model::{ModelArguments, NumberType, OptimizationLevel, Waiting};
pub(crate) use prompt::PromptArguments;
pub(crate) use remote::{
    AUTO as REMOTE_AUTO, NONE as REMOTE_NONE, RemoteArguments, dialect_names, is_address, protocol_names,
};
pub(crate) use resume::ResumeArguments;
pub(crate) use sampling::SamplingArguments;
pub(crate) use serving::{KeyArguments, LogFormat, ServingArguments};

/// Which tools a model may call, and under which rules they run.
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

    /// Whether calls run: ask, always or never; ask is never without a terminal
    #[arg(long, value_enum, value_name = "WHEN", env = "ALLOQUY_APPROVE", hide_possible_values = true)]
    pub(crate) approve: Option<Approve>,

    /// End a call after N seconds; 60 unless set
    #[arg(long, value_name = "N", env = "ALLOQUY_TOOL_TIMEOUT", value_parser = count::<u64>("tool-timeout"))]
    pub(crate) tool_timeout: Option<u64>,

    /// Let the model call tools N times in a turn; 8 unless set
    #[arg(long, value_name = "N", env = "ALLOQUY_TOOL_ROUNDS", value_parser = count::<usize>("tool-rounds"))]
    pub(crate) tool_rounds: Option<usize>,
}

/// Whether the calls of tools run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Approve {
    /// The person at the terminal decides on each call.
    #[default]
    Ask,
    /// Every call runs.
    Always,
    /// No call runs.
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

    /// The owner of the conversations; `local` unless set. Another owner sees none of them
    #[arg(long, value_name = "NAME", env = "ALLOQUY_OWNER")]
    pub(crate) owner: Option<Owner>,
}

impl StoreArguments {
    /// Returns the owner of the conversations.
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
    /// Instructions (system prompt) of a new conversation; @FILE reads them from a file
    #[arg(short, long, value_name = "TEXT", env = "ALLOQUY_SYSTEM")]
    pub(crate) system: Option<String>,
}

/// What happens to a conversation that exceeds the context.
#[derive(Args, Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default, rename_all = "kebab-case")]
#[command(next_help_heading = "Conversation")]
pub(crate) struct ContextArguments {
    /// What happens to a conversation that no longer fits: error, drop (the oldest turns), shift (more of them at
    /// once) or summarise; as the model's mlc-chat-config.json says unless set
    #[arg(
        long,
        value_enum,
        value_name = "POLICY",
        env = "ALLOQUY_CONTEXT_POLICY",
        hide_possible_values = true
    )]
    pub(crate) context_policy: Option<ContextPolicy>,
}

/// What happens to prompts that would not fit.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ContextPolicy {
    /// They are refused.
    Error,
    /// As few of the oldest turns as possible are omitted.
    Drop,
    /// So many of the oldest turns are omitted that there is room for a while.
    Shift,
    /// A summary by the model replaces the oldest turns.
    #[value(alias = "summarize")]
    #[serde(alias = "summarize")]
    Summarise,
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

impl SystemArguments {
    /// Returns the preface of a new conversation.
    ///
    /// # Errors
    /// As [`instructions`].
    pub(crate) fn preface(&self) -> Result<Preface> {
        match &self.system {
            Some(text) => Ok(Preface::system(instructions(text, PathBuf::from)?)),
            None => Ok(Preface::default()),
        }
    }
}

/// Returns the instructions that somebody typed: `@FILE` is the text of a file, and `@@` begins a text that begins with `@`.
///
/// # Errors
/// [`ErrorKind::Invalid`] when the file cannot be read.
pub(crate) fn instructions<'a>(typed: &'a str, path: impl FnOnce(&'a str) -> PathBuf) -> Result<String> {
    let Some(rest) = typed.strip_prefix('@') else { return Ok(typed.to_owned()) };
    if rest.starts_with('@') {
        return Ok(rest.to_owned());
    }
    let read = crate::file::any_text(&path(rest)).map_err(|source| {
        let message =
            format!("the instructions {rest:?} cannot be read; write @@ for a text that begins with @");
        Error::new(ErrorKind::Invalid, message).with_source(source)
    })?;
    Ok(read.trim_end().to_owned())
}

/// Everything that the configuration file may set.
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
    pub(crate) guards: GuardArguments,

    #[command(flatten)]
    #[serde(flatten)]
    pub(crate) library: LibraryArguments,

    #[command(flatten)]
    #[serde(flatten)]
    pub(crate) grounding: GroundingArguments,

    #[command(flatten)]
    #[serde(flatten)]
    pub(crate) resume: ResumeArguments,

    #[command(flatten)]
    #[serde(flatten)]
    pub(crate) history: HistoryArguments,

    #[command(flatten)]
    #[serde(flatten)]
    pub(crate) serving: ServingArguments,
}

/// What a model is shown beside the conversation.
#[derive(Args, Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub(crate) struct GroundingArguments {
    #[command(flatten)]
    #[serde(flatten)]
    pub(crate) documents: DocumentsArguments,

    #[command(flatten)]
    #[serde(flatten)]
    pub(crate) memory: MemoryArguments,
}

/// Which stored conversation a command uses.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Conversation")]
pub(crate) struct WhichConversation {
    /// Continue the conversation that was last updated
    #[arg(short = 'c', long = "continue", conflicts_with = "conversation", env = "ALLOQUY_CONTINUE", value_parser = Switch::new())]
    pub(crate) last: bool,

    /// Continue this conversation
    #[arg(long, value_name = "ID", env = "ALLOQUY_CONVERSATION")]
    pub(crate) conversation: Option<ConversationId>,
}
