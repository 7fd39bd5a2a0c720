//! `alloquy keys`: adds, lists and revokes the keys of a server.

mod add;
mod list;
mod revoke;

use clap::{Args, Subcommand};

use crate::context::Context;
use crate::failure::Failure;

const EXAMPLES: &str = "\
Examples:
  alloquy keys add ann                              prints a key for ann, once
  alloquy keys add bob --calls-per-minute 30 --tokens-per-day 100000
  alloquy keys list
  alloquy keys revoke key_0123456789ab              and `kill -HUP` of the server, which then reads the file again

A key is 32 random bytes. The file has their SHA-256, the owner and the limits, so a reader of the file has no key. Each owner sees only \
conversations of their own; two keys of one owner see the same ones.";

/// Add, list and revoke the keys of `alloquy serve`
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct KeysCommand {
    #[command(subcommand)]
    action: Action,
}

/// What to do with keys.
#[derive(Debug, Subcommand)]
enum Action {
    Add(add::Add),
    List(list::List),
    Revoke(revoke::Revoke),
}

impl KeysCommand {
    pub(crate) fn run(self, context: &Context) -> Result<(), Failure> {
        match self.action {
            Action::Add(add) => add.run(context),
            Action::List(list) => list.run(context),
            Action::Revoke(revoke) => revoke.run(context),
        }
    }
}
