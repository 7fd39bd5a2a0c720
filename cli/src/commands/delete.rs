//! `alloquy delete`: deletes conversations, by their ids or by conditions.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::time::SystemTime;

use alloquy::core::store::{ConversationSummary, PartialDeletion};
use alloquy::core::{ConversationId, Error, ErrorKind, Query, Result};
use alloquy::memory::without_notes;
use clap::Args;
use clap::builder::BoolishValueParser as Switch;
use serde_json::json;

use crate::arguments::StoreArguments;
use crate::asking;
use crate::condition::ConditionArguments;
use crate::context::Context;
use crate::failure::Failure;
use crate::kept::{self, Kept};
use crate::names;
use crate::outline::Outline;
use crate::resume;
use crate::screen;
use crate::table::Table;
use crate::times;

const EXAMPLES: &str = "\
Examples:
  alloquy delete 4fc9d2ab                     the end of an id is enough
  alloquy delete tea work/plan-b
  alloquy delete --older-than 30d --where '!keep'
  alloquy delete --containing '\"green tea\"' --before 2026-01-31
  alloquy delete --older-than 8w --yes --json | jq -r '.deleted[]'

There is no way back. What will be deleted is shown first, and a person is asked; without a terminal, --yes is needed. \
`alloquy conversations` accepts the same conditions and lists what they mean. A conversation that is continued meanwhile \
is no longer meant by a condition, and stays. The saved caches of --resume go with their conversations.";

/// Delete conversations, by their ids or by conditions
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Delete {
    /// The conversations: names, or parts of ids that are unique
    #[arg(value_name = "ID")]
    ids: Vec<ConversationId>,
    #[command(flatten)]
    conditions: ConditionArguments,
    /// Only conversations with a message that holds these words, as for `search`
    #[arg(long, value_name = "WORDS", env = "ALLOQUY_CONTAINING")]
    containing: Option<String>,
    /// Delete without asking
    #[arg(short, long, env = "ALLOQUY_YES", value_parser = Switch::new())]
    yes: bool,
    #[command(flatten)]
    store: StoreArguments,
}

/// What is to be deleted, as it is shown first.
struct Chosen {
    /// The conversations. One that is damaged is named, and has no summary.
    conversations: Vec<(ConversationId, Option<ConversationSummary>)>,
    /// The conditions; `None` where the conversations were named.
    query: Option<Query>,
}

impl Delete {
    pub(crate) fn run(self, context: &Context) -> Result<(), Failure> {
        self.check()?;
        pollster::block_on(self.delete(context))
    }

    /// Checks that there are either ids or conditions.
    fn check(&self) -> Result<(), Failure> {
        let has_conditions = !self.conditions.is_empty() || self.containing.is_some();
        let has_ids = !self.ids.is_empty();
        if has_ids != has_conditions {
            return Ok(());
        }
        let message = if has_ids {
            "name conversations or conditions, not both"
        } else {
            "name the conversations to delete, or a condition such as --older-than 30d"
        };
        Err(Failure::Arguments(Error::new(ErrorKind::Invalid, message)))
    }

    async fn delete(self, context: &Context) -> Result<(), Failure> {
        let arguments = context.settings.settle(&self.store)?;
        // Nothing is created or locked before there is something to delete.
        let kept = kept::kept_for_reading(&arguments).await?;
        let chosen = self.chosen(&kept, context).await?;
        if chosen.conversations.is_empty() {
            context.notes.say("no conversation meets these conditions");
            return context.print("", &json!({"deleted": []}));
        }
        if !self.yes {
            show(&kept, &chosen).await;
            if !asking::can_ask() {
                let message = "nothing was deleted, because there is no terminal to ask at: --yes deletes without asking";
                return Err(Failure::Arguments(Error::new(ErrorKind::Invalid, message)));
            }
            if !agrees(chosen.conversations.len()) {
                context.notes.say("nothing was deleted");
                return context.print("", &json!({"deleted": []}));
            }
        }
        kept.store.close().await?;
        let kept = kept::kept(&arguments).await?;
        let (deleted, outcome) = deleted(&kept, chosen).await;
        forget_computed(&arguments, &deleted, context);
        let text: String = deleted.iter().map(|id| format!("{id}\n")).collect();
        context.print(&text, &json!({"deleted": deleted}))?;
        outcome?;
        context.notes.say(format_args!("deleted {}", counted(deleted.len())));
        Ok(())
    }

    async fn chosen(&self, kept: &Kept, context: &Context) -> Result<Chosen> {
        if !self.ids.is_empty() {
            return Ok(Chosen { conversations: named(kept, &self.ids).await?, query: None });
        }
        let now = SystemTime::now();
        // What is updated from now on was not shown, so that it is not deleted.
        let query =
            self.conditions.query(now)?.updated(..self.conditions.end(now).map_or(now, |end| end.min(now)));
        // Notes are deleted by name, or by `alloquy note forget`.
        let query = query.filter(without_notes());
        let query = match &self.containing {
            Some(words) => query.text(words)?,
            None => query,
        };
        let page = kept.store.list(&kept.owner, &query).await?;
        context.notes.damaged(&page.damaged);
        let conversations = page.conversations.into_iter();
        let conversations = conversations.map(|summary| (summary.record.id.clone(), Some(summary))).collect();
        Ok(Chosen { conversations, query: Some(query) })
    }
}

/// Finds the conversations that are named, each once.
///
/// # Errors
/// [`ErrorKind::NotFound`] when one does not exist, and as [`names::existing`].
async fn named(
    kept: &Kept,
    ids: &[ConversationId],
) -> Result<Vec<(ConversationId, Option<ConversationSummary>)>> {
    let mut known = BTreeSet::new();
    let mut found = Vec::new();
    for id in ids {
        let (id, summary) = match names::existing(kept, id).await {
            Ok(summary) => (summary.record.id.clone(), Some(summary)),
            // A damaged conversation can be deleted by its whole name.
            Err(error) if error.kind() == ErrorKind::Corrupt => (id.clone(), None),
            Err(error) => return Err(error.context("nothing was deleted")),
        };
        if known.insert(id.clone()) {
            found.push((id, summary));
        }
    }
    Ok(found)
}

/// How many conversations are shown one by one.
const SHOWN: usize = 20;

/// Shows what will be deleted, on standard error.
async fn show(kept: &Kept, chosen: &Chosen) {
    let mut table = Table::new(["ID", "UPDATED", "MESSAGES", "TITLE"]).with_numbers(2);
    for (id, summary) in chosen.conversations.iter().take(SHOWN) {
        let row = match summary {
            Some(ConversationSummary { record, nodes, updated, .. }) => {
                let title = Outline::of(kept, record).await.title;
                [id.to_string(), times::local(*updated), nodes.to_string(), title]
            }
            None => [id.to_string(), "-".to_owned(), "-".to_owned(), "(damaged)".to_owned()],
        };
        table.push(row);
    }
    let count = chosen.conversations.len();
    let mut text = format!("{} will be deleted:\n{}", counted(count), table.aligned(screen::width()));
    if count > SHOWN {
        text += &format!("… and {} more\n", count - SHOWN);
    }
    put(&text);
}

fn counted(count: usize) -> String {
    if count == 1 { "1 conversation".to_owned() } else { format!("{count} conversations") }
}

/// Asks a person; only a clear yes is one.
fn agrees(count: usize) -> bool {
    let question = format!("delete {}? [y]es, [N]o: ", if count == 1 { "it" } else { "them" });
    let answer = asking::ask(&question).map(|line| line.trim().to_lowercase());
    matches!(answer.as_deref(), Some("y" | "yes"))
}

fn put(text: &str) {
    let mut err = screen::err();
    // Standard error may be closed: then no question is shown, and nothing is deleted.
    let _ = err.write_all(text.as_bytes()).and_then(|()| err.flush());
}

/// Deletes what was chosen, and returns what was deleted, also when something failed midway.
async fn deleted(kept: &Kept, chosen: Chosen) -> (Vec<ConversationId>, Result<()>) {
    if let Some(query) = chosen.query {
        return match kept.store.delete_matching(&kept.owner, &query).await {
            Ok(deleted) => (deleted, Ok(())),
            Err(error) => {
                let partial = PartialDeletion::of(&error).map(PartialDeletion::deleted);
                (partial.unwrap_or_default().to_vec(), Err(error))
            }
        };
    }
    let mut deleted = Vec::new();
    for (id, _) in chosen.conversations {
        if let Err(error) = kept.store.delete(&kept.owner, &id).await {
            let error = match deleted.len() {
                0 => error.context("nothing was deleted"),
                count => error.context(format_args!("only {} deleted, those that are printed", were(count))),
            };
            return (deleted, Err(error));
        }
        deleted.push(id);
    }
    (deleted, Ok(()))
}

fn were(count: usize) -> String {
    format!("{} {}", counted(count), if count == 1 { "was" } else { "were" })
}

/// Removes the saved caches of deleted conversations.
fn forget_computed(store: &StoreArguments, deleted: &[ConversationId], context: &Context) {
    let served = context.settings.served_snapshots();
    for id in deleted {
        if let Err(error) = resume::forget(store, served.as_deref(), id) {
            context.notes.say(format_args!("the saved cache of {id} was not removed: {error:#}"));
        }
    }
}
