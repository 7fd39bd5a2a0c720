//! `alloquy search`: finds messages.

use alloquy::core::query::{Sort, SortKey};
use alloquy::core::search::{Ranking, SearchHit, SearchPage};
use alloquy::core::{Owner, Query, Result};
use clap::Args;
use clap::builder::BoolishValueParser as Switch;
use serde_json::{Value, json};

use crate::arguments::StoreArguments;
use crate::condition::QueryArguments;
use crate::context::Context;
use crate::failure::Failure;
use crate::kept;

const EXAMPLES: &str = "\
Examples:
  alloquy search green tea                    both words, anywhere in one message
  alloquy search '\"green tea\"' 'cup*'         a phrase, and a word with this prefix
  alloquy search --where user=ann --newest tea
  alloquy search --json tea | jq '.hits[].snippet'

Case and accents do not count, and every branch is searched. A line is a message: its conversation, its node, its role, \
and the text around the match.";

/// Find messages in every conversation and on every branch
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Search {
    /// Words, "phrases in quotes" and prefixes*; one message must contain all of them
    #[arg(required = true)]
    words: Vec<String>,
    /// List the newest messages first, not those that match best
    #[arg(long, env = "ALLOQUY_NEWEST", value_parser = Switch::new())]
    newest: bool,
    #[command(flatten)]
    query: QueryArguments,
    #[command(flatten)]
    store: StoreArguments,
}

impl Search {
    pub(crate) fn run(self, context: &Context) -> Result<(), Failure> {
        pollster::block_on(self.search(context))
    }

    async fn search(self, context: &Context) -> Result<(), Failure> {
        let query = self.query()?;
        let kept = kept::kept_for_reading(&context.settings.settle(&self.store)?).await?;
        let page = kept.store.search(&kept.owner, &query).await?;
        if let Ranking::Newest(count) = page.ranked {
            context.notes.say(format_args!(
                "there are more matches: these are of the newest {count}; --newest finds all"
            ));
        }
        context.notes.damaged(&page.damaged);
        context.notes.more(page.next.as_ref());
        context.print(&text(&page), &value(&page, &kept.owner))
    }

    fn query(&self) -> Result<Query> {
        let query = self.query.query()?.text(&self.words.join(" "))?;
        if self.newest {
            return Ok(query.sort(Sort::descending(SortKey::Created)));
        }
        Ok(query)
    }
}

fn text(page: &SearchPage) -> String {
    page.hits.iter().map(line).collect()
}

fn line(hit: &SearchHit) -> String {
    let piece = hit.snippet.text.split_whitespace().collect::<Vec<_>>().join(" ");
    format!("{}  {}  {}: {piece}\n", hit.conversation, hit.node, hit.role)
}

fn value(page: &SearchPage, owner: &Owner) -> Value {
    let mut value = json!(page);
    if let Value::Object(fields) = &mut value {
        fields.insert("owner".to_owned(), json!(owner));
    }
    value
}

#[cfg(test)]
mod tests {
    use alloquy::core::{Error, ErrorKind};

    use super::*;

    #[test]
    fn a_search_needs_a_word() {
        let newest = false;
        let query = QueryArguments::default();
        let store = StoreArguments::default();
        let search = Search { words: vec!["?".to_owned()], newest, query, store };
        assert_eq!(search.query().map_err(|error: Error| error.kind()), Err(ErrorKind::Invalid));
    }
}
