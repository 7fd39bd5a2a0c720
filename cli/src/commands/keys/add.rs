//! `alloquy keys add`: creates a key.

use alloquy::core::Owner;
use alloquy_server::KeyLimits;
use clap::Args;
use serde_json::json;

use crate::arguments::KeyArguments;
use crate::context::Context;
use crate::failure::Failure;
use crate::key_file;
use crate::limits::count;

const EXAMPLES: &str = "\
Examples:
  alloquy keys add ann
  alloquy keys add bob --calls-per-minute 30 --tokens-per-day 100000 --concurrent 2
  alloquy keys add ann --keys keys.json --json

The key is printed on standard output, this once: the file has only its SHA-256. A running server reads the file at SIGHUP.";

/// Create a key and print it, once
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Add {
    /// Whose conversations the key opens
    owner: Owner,
    /// Allow N calls of models a minute
    #[arg(long, value_name = "N", env = "ALLOQUY_CALLS_PER_MINUTE", value_parser = count::<u32>("calls-per-minute"))]
    calls_per_minute: Option<u32>,
    /// Allow N tokens a day, of prompts and replies together
    #[arg(long, value_name = "N", env = "ALLOQUY_TOKENS_PER_DAY", value_parser = count::<u64>("tokens-per-day"))]
    tokens_per_day: Option<u64>,
    /// Answer N requests at once
    #[arg(long, value_name = "N", env = "ALLOQUY_CONCURRENT", value_parser = count::<usize>("concurrent"))]
    concurrent: Option<usize>,
    #[command(flatten)]
    keys: KeyArguments,
}

impl Add {
    pub(crate) fn run(self, context: &Context) -> Result<(), Failure> {
        let arguments = context.settings.settle(&self.keys)?;
        let mut limits = KeyLimits::default();
        limits.calls_per_minute = self.calls_per_minute;
        limits.tokens_per_day = self.tokens_per_day;
        limits.running = self.concurrent;
        let (secret, id) = key_file::change(&arguments, |keys| {
            let secret = keys.add(self.owner.clone(), limits)?;
            let id = keys.keys().last().map(|key| key.id.clone()).unwrap_or_default();
            Ok((secret, id))
        })?;
        context.notes.say(format_args!(
            "{id} is a key of {}: it is printed this once, and a running server reads it at SIGHUP",
            self.owner
        ));
        context.print(&format!("{secret}\n"), &json!({"id": id, "owner": self.owner, "key": secret}))
    }
}
