//! Whether a chat saves the model's cache. Saves nothing.

use clap::Args;
use clap::builder::BoolishValueParser as Switch;
use serde::{Deserialize, Serialize};

use crate::limits::count;

/// Whether the model's cache is saved.
#[derive(Args, Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default, rename_all = "kebab-case")]
#[command(next_help_heading = "Conversation")]
pub(crate) struct ResumeArguments {
    /// Save the model's cache in a file beside the store when the chat ends, and start from the cache of an earlier chat
    #[arg(long, env = "ALLOQUY_RESUME", value_parser = Switch::new())]
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) resume: bool,

    /// Let those files take N megabytes together; 4000 unless set. The least recently used are removed first
    #[arg(long, value_name = "N", env = "ALLOQUY_RESUME_QUOTA", value_parser = count::<u64>("resume-quota"))]
    pub(crate) resume_quota: Option<u64>,
}
