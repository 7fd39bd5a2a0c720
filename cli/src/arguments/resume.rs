//! Whether a chat keeps what the model has computed. Keeps nothing.

use clap::Args;
use clap::builder::BoolishValueParser as Switch;
use serde::{Deserialize, Serialize};

use crate::limits::count;

/// Whether what was computed is kept.
#[derive(Args, Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default, rename_all = "kebab-case")]
#[command(next_help_heading = "Conversation")]
pub(crate) struct ResumeArguments {
    /// Keep what the model has computed in a file beside the store when the chat ends, and go on from what an earlier
    /// one kept
    #[arg(long, env = "ALLOQUY_RESUME", value_parser = Switch::new())]
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) resume: bool,

    /// Let those files take N megabytes together; 4000 unless set. What was not used for the longest time leaves
    #[arg(long, value_name = "N", env = "ALLOQUY_RESUME_QUOTA", value_parser = count::<u64>("resume-quota"))]
    pub(crate) resume_quota: Option<u64>,
}
