//! `alloquy keys revoke`: ends a key.

use clap::Args;
use serde_json::json;

use crate::arguments::KeyArguments;
use crate::context::Context;
use crate::failure::Failure;
use crate::key_file;

const EXAMPLES: &str = "\
Examples:
  alloquy keys revoke key_0123456789ab

The key stays in the list, with the time. A running server reads the file at SIGHUP.";

/// Revoke a key by its id; its conversations stay
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Revoke {
    /// The id, as `alloquy keys list` shows it
    id: String,
    #[command(flatten)]
    keys: KeyArguments,
}

impl Revoke {
    pub(crate) fn run(self, context: &Context) -> Result<(), Failure> {
        let arguments = context.settings.settle(&self.keys)?;
        key_file::change(&arguments, |keys| keys.revoke(&self.id))?;
        context.notes.say(format_args!("{} is revoked: a running server reads it at SIGHUP", self.id));
        context.print("", &json!({"revoked": self.id}))
    }
}
