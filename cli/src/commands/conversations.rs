//! `alloquy conversations`: lists the stored conversations.

use std::time::SystemTime;

use alloquy::core::query::{Sort, SortKey};
use alloquy::core::store::{ConversationPage, ConversationSummary};
use alloquy::core::{Query, Result};
use clap::{Args, ValueEnum};
use serde_json::{Value, json};

use crate::arguments::StoreArguments;
use crate::condition::QueryArguments;
use crate::context::Context;
use crate::failure::Failure;
use crate::kept;
use crate::visible::on_one_line;

const EXAMPLES: &str = "\
Examples:
  alloquy conversations
  alloquy conversations --limit 3 --json
  alloquy conversations --where title=Tea --where 'score>=7'
  alloquy conversations --containing '\"green tea\"' --sort created

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
        context.notes.more(page.next.as_ref());
        context.print(&text(&page), &json!(page))
    }

    fn query(&self) -> Result<Query> {
        let mut query = self.query.query()?;
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

fn text(page: &ConversationPage) -> String {
    let now = SystemTime::now();
    page.conversations.iter().map(|summary| line(summary, now)).collect()
}

fn line(summary: &ConversationSummary, now: SystemTime) -> String {
    let ConversationSummary { record, nodes, updated, .. } = summary;
    let title = record.metadata.get("title").and_then(Value::as_str).unwrap_or_default();
    format!("{}  {:>8}  {nodes:>4} messages  {}\n", record.id, age(*updated, now), on_one_line(title))
}

/// Formats how long ago something was, in the largest unit that fits.
fn age(then: SystemTime, now: SystemTime) -> String {
    let seconds = now.duration_since(then).map_or(0, |since| since.as_secs());
    match seconds {
        0..60 => "now".to_owned(),
        60..3600 => format!("{} min", seconds / 60),
        3600..86_400 => format!("{} h", seconds / 3600),
        _ => format!("{} d", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use super::*;

    #[test]
    fn an_age_has_one_unit() {
        let ages = [0, 59, 60, 7200, 200_000]
            .map(|seconds| age(UNIX_EPOCH, UNIX_EPOCH + Duration::from_secs(seconds)));
        assert_eq!(ages, ["now", "now", "1 min", "2 h", "2 d"]);
    }
}
