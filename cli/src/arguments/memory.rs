//! Whether a model is reminded of notes, and of how many.

use clap::Args;
use clap::builder::BoolishValueParser as Switch;
use serde::{Deserialize, Serialize};

use crate::limits::count;

/// Whether a model is reminded of notes.
#[derive(Args, Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default, rename_all = "kebab-case")]
#[command(next_help_heading = "Documents and memory")]
pub(crate) struct MemoryArguments {
    /// Remind the model of the notes that fit each question
    ///
    /// They are those of `alloquy note add`, and of /remember in a chat.
    #[arg(long, env = "ALLOQUY_MEMORY", value_parser = Switch::new())]
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) memory: bool,

    /// Remind it of at most N notes; 5 unless set
    #[arg(long, value_name = "N", env = "ALLOQUY_MEMORY_NOTES", value_parser = count::<usize>("memory-notes"))]
    pub(crate) memory_notes: Option<usize>,

    /// Let these notes take at most N tokens together; 256 unless set
    #[arg(long, value_name = "N", env = "ALLOQUY_MEMORY_TOKENS", value_parser = count::<usize>("memory-tokens"))]
    pub(crate) memory_tokens: Option<usize>,
}
