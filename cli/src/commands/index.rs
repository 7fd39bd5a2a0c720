//! `alloquy index`: an index of documents, from which a model is shown what fits a question.

mod add;
mod change;
mod eval;
mod list;
mod opened;
mod remove;
mod search;
mod watch;

use clap::{Args, Subcommand};

use crate::context::Context;
use crate::failure::Failure;

const EXAMPLES: &str = "\
Examples:
  alloquy index add docs                      read the texts of a folder; again, and only what changed is read
  alloquy index list
  alloquy index search Where is tea grown
  alloquy ask --documents \"Where is tea grown?\"   answer with it
  alloquy index remove docs/old.md

The index is the folder `index` beside the store, or that of --index.";

/// Index documents, and search them
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct IndexCommand {
    #[command(subcommand)]
    action: Action,
}

/// What to do with an index.
#[derive(Debug, Subcommand)]
enum Action {
    Add(add::Add),
    List(list::List),
    Search(search::Search),
    Eval(eval::Eval),
    Remove(remove::Remove),
}

impl IndexCommand {
    pub(crate) fn run(self, context: &Context) -> Result<(), Failure> {
        match self.action {
            Action::Add(add) => add.run(context),
            Action::List(list) => pollster::block_on(list.run(context)),
            Action::Search(search) => pollster::block_on(search.run(context)),
            Action::Eval(eval) => pollster::block_on(eval.run(context)),
            Action::Remove(remove) => pollster::block_on(remove.run(context)),
        }
    }
}
