//! `alloquy branches`: the branches of a conversation.

use alloquy::core::conversation::Branch;
use alloquy::core::tree::Tree;
use alloquy::core::{Conversation, Result};
use clap::Args;
use serde_json::{Value, json};

use super::bookmark::PREVIEW;
use super::conversations::MODEL_WIDTH;
use super::goto::{address, described};
use crate::context::Context;
use crate::failure::Failure;
use crate::outline::model_of;
use crate::screen;
use crate::stored::Stored;
use crate::table::{Table, cut, with_tabs};
use crate::times;

const EXAMPLES: &str = "\
Examples:
  alloquy branches
  alloquy goto \"$(alloquy branches --json | jq -r '.branches[0].leaf')\"

A line is a branch: the address of its last message, the time and the model of it, the number of messages, its label, and \
how the last message begins. A * marks the branch that you are in. In a pipe there are tabs between whole values: mark, id of \
the last message, time in UTC, model, number of messages, label, last message.";

/// List the branches of a conversation
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Branches {
    #[command(flatten)]
    stored: Stored,
}

impl Branches {
    pub(crate) fn run(self, context: &Context) -> Result<(), Failure> {
        pollster::block_on(async {
            let chat = self.stored.open_for_reading(context).await?;
            let branches = chat.branches().await?;
            if !is_one(&branches)
                && let Some(head) = chat.head().await?
            {
                let place = described(&chat.tree().await?, head)?;
                context.notes.say(format_args!("you are at {place}, above several branches"));
            }
            let (text, value) = listed(&chat).await?;
            context.print(&text, &value)
        })
    }
}

/// Returns the list of a conversation's branches, for people and for programs.
pub(crate) async fn listed(chat: &Conversation) -> Result<(String, Value)> {
    let branches = chat.branches().await?;
    let tree = chat.tree().await?;
    let is_here = is_one(&branches);
    let text = if screen::is_out_a_terminal() {
        table(&branches, &tree, is_here)?
    } else {
        lines(&branches, &tree, is_here)?
    };
    Ok((text, json!({"conversation": chat.id(), "branches": branches})))
}

/// Returns whether the head is in exactly one branch, which a list marks then.
fn is_one(branches: &[Branch]) -> bool {
    branches.iter().filter(|branch| branch.has_head).count() == 1
}

fn mark(branch: &Branch, is_here: bool) -> &'static str {
    if branch.has_head && is_here { "*" } else { "" }
}

/// Returns the list for people, with the address of each branch's last message.
fn table(branches: &[Branch], tree: &Tree, is_here: bool) -> Result<String> {
    let mut table =
        Table::new(["", "ADDRESS", "UPDATED", "MODEL", "MESSAGES", "LAST MESSAGE"]).with_numbers(4);
    for branch in branches {
        let Row { model, said } = row(branch, tree)?;
        let label = branch.label.as_ref().map(|label| format!("“{label}” ")).unwrap_or_default();
        table.push([
            mark(branch, is_here).to_owned(),
            address(tree, branch.leaf)?,
            times::local(branch.leaf.created()),
            cut(&model, MODEL_WIDTH),
            branch.nodes.to_string(),
            format!("{label}{said}"),
        ]);
    }
    Ok(table.aligned(screen::width()))
}

/// Returns the list for programs: a line with whole values for each branch.
fn lines(branches: &[Branch], tree: &Tree, is_here: bool) -> Result<String> {
    let mut text = String::new();
    for branch in branches {
        let Row { model, said } = row(branch, tree)?;
        text += &with_tabs([
            mark(branch, is_here),
            &branch.leaf.to_string(),
            &times::utc(branch.leaf.created()),
            &model,
            &branch.nodes.to_string(),
            branch.label.as_deref().unwrap_or_default(),
            &said,
        ]);
    }
    Ok(text)
}

/// What a list shows of a branch's messages.
struct Row {
    model: String,
    said: String,
}

fn row(branch: &Branch, tree: &Tree) -> Result<Row> {
    let path = tree.path(Some(branch.leaf))?;
    let message = &tree.node(branch.leaf)?.message;
    let said = format!("{}: {}", message.role, message.preview(PREVIEW));
    Ok(Row { model: model_of(path).unwrap_or_default(), said })
}
