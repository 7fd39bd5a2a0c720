//! `alloquy conversations`: lists the stored conversations.

use alloquy::core::query::{Sort, SortKey};
use alloquy::core::short_ids::ShortIds;
use alloquy::core::store::ConversationSummary;
use alloquy::core::{Query, Result};
use alloquy::memory::without_notes;
use clap::{Args, ValueEnum};
use serde_json::json;

use crate::arguments::StoreArguments;
use crate::condition::QueryArguments;
use crate::context::Context;
use crate::failure::Failure;
use crate::kept::{self, Kept};
use crate::outline::Outline;
use crate::screen;
use crate::table::{Table, cut, with_tabs};
use crate::times;

const EXAMPLES: &str = "\
Examples:
  alloquy conversations
  alloquy conversations --limit 3 --json
  alloquy conversations --where title=Tea --where 'score>=7'
  alloquy conversations --containing '\"green tea\"' --sort created
  alloquy conversations --older-than 30d

The end of an id, as the list shows it, is enough for every command. In a pipe the list has a line for each \
conversation with tabs between whole values: id, time of the last message in UTC, model, number of messages, title. \
`alloquy search` finds the messages themselves.";

/// List the conversations that are kept, the last updated first
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Conversations {
    /// Only conversations with a message that holds these words, as for `search`
    #[arg(long, value_name = "WORDS", env = "ALLOQUY_CONTAINING")]
    containing: Option<String>,
    /// Sort the list by updated or created, the last one first, or by name
    #[arg(long, value_enum, value_name = "ORDER", env = "ALLOQUY_SORT", hide_possible_values = true)]
    sort: Option<Order>,
    #[command(flatten)]
    query: QueryArguments,
    #[command(flatten)]
    store: StoreArguments,
}

impl Conversations {
    pub(crate) fn run(self, context: &Context) -> Result<(), Failure> {
        pollster::block_on(self.list(context))
    }

    async fn list(self, context: &Context) -> Result<(), Failure> {
        let query = self.query()?;
        let kept = kept::kept_for_reading(&context.settings.settle(&self.store)?).await?;
        let page = kept.store.list(&kept.owner, &query).await?;
        context.notes.damaged(&page.damaged);
        context.notes.more(self.query.limit(), page.next.as_ref());
        if page.conversations.is_empty() && page.next.is_none() {
            context.notes.say("no conversation is stored here, or none meets the conditions");
        }
        let text = if context.output.json { String::new() } else { listed(&kept, &page.conversations).await };
        context.print(&text, &json!(page))
    }

    fn query(&self) -> Result<Query> {
        let mut query = self.query.query()?.filter(without_notes());
        if let Some(text) = &self.containing {
            query = query.text(text)?;
        }
        if let Some(order) = self.sort {
            query = query.sort(order.sort());
        }
        Ok(query)
    }
}

/// The order of a list.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Order {
    Updated,
    Created,
    Name,
}

impl Order {
    fn sort(self) -> Sort {
        match self {
            Self::Updated => Sort::descending(SortKey::Updated),
            Self::Created => Sort::descending(SortKey::Created),
            Self::Name => Sort::ascending(SortKey::Id),
        }
    }
}

/// Returns the list for people, with short ids and local times.
fn table(rows: &[(ConversationSummary, Outline)]) -> String {
    let short = ShortIds::of(rows.iter().map(|(summary, _)| &summary.record.id));
    let mut table = Table::new(["ID", "UPDATED", "MODEL", "MESSAGES", "TITLE"]).with_numbers(3);
    for (ConversationSummary { record, nodes, updated, .. }, Outline { title, model }) in rows {
        let id = short.short(record.id.as_str()).to_owned();
        table.push([id, times::local(*updated), cut(model, MODEL_WIDTH), nodes.to_string(), title.clone()]);
    }
    table.aligned(screen::width())
}

/// How many columns the name of a model takes at most.
pub(super) const MODEL_WIDTH: usize = 16;

/// Returns the list for programs: a line with whole values for each conversation.
fn lines(rows: &[(ConversationSummary, Outline)]) -> String {
    let mut text = String::new();
    for (ConversationSummary { record, nodes, updated, .. }, Outline { title, model }) in rows {
        text += &with_tabs([record.id.as_str(), &times::utc(*updated), model, &nodes.to_string(), title]);
    }
    text
}

/// Lists conversations for standard output.
pub(crate) async fn listed(kept: &Kept, page: &[ConversationSummary]) -> String {
    let mut rows = Vec::with_capacity(page.len());
    for summary in page {
        rows.push((summary.clone(), Outline::of(kept, &summary.record).await));
    }
    if screen::is_out_a_terminal() { table(&rows) } else { lines(&rows) }
}
