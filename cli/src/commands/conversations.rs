//! `alloquy conversations`: what is kept.

use std::time::{SystemTime, UNIX_EPOCH};

use alloquy_core::{ConversationSummary, Query};
use clap::Args;
use serde_json::{Value, json};

use super::Context;
use crate::arguments::StoreArguments;
use crate::failure::Failure;
use crate::open;

const EXAMPLES: &str = "\
Examples:
  alloquy conversations
  alloquy conversations --limit 3 --json";

/// List the conversations that are kept, the last updated first
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Conversations {
    /// List at most N
    #[arg(long, value_name = "N", env = "ALLOQUY_LIMIT")]
    limit: Option<usize>,
    #[command(flatten)]
    store: StoreArguments,
}

impl Conversations {
    pub(crate) fn run(self, context: &Context) -> Result<(), Failure> {
        pollster::block_on(self.list(context))
    }

    async fn list(self, context: &Context) -> Result<(), Failure> {
        let store = open::store(context.settings.settle(&self.store)?.store.as_deref()).await?;
        let listed = store.list(&Query { limit: self.limit, offset: 0 }).await?;
        let now = SystemTime::now();
        let text: String = listed.iter().map(|summary| line(summary, now)).collect();
        let values: Vec<_> = listed.iter().map(value).collect();
        context.print(&text, &json!({"conversations": values}))
    }
}

fn line(summary: &ConversationSummary, now: SystemTime) -> String {
    let ConversationSummary { record, nodes, updated } = summary;
    let title = record.metadata.get("title").and_then(Value::as_str).unwrap_or_default();
    format!("{}  {:>8}  {nodes:>4} messages  {title}\n", record.id, age(*updated, now))
}

fn value(summary: &ConversationSummary) -> Value {
    let ConversationSummary { record, nodes, updated } = summary;
    let seconds = updated.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    json!({"id": record.id, "nodes": nodes, "updated": seconds, "metadata": record.metadata})
}

/// How long ago something was, in the largest unit that fits.
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
    use std::time::Duration;

    use super::*;

    #[test]
    fn an_age_has_one_unit() {
        let ages = [0, 59, 60, 7200, 200_000]
            .map(|seconds| age(UNIX_EPOCH, UNIX_EPOCH + Duration::from_secs(seconds)));
        assert_eq!(ages, ["now", "now", "1 min", "2 h", "2 d"]);
    }
}
