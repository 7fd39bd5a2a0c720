//! `alloquy search`: finds messages.

use std::collections::BTreeMap;

use alloquy::core::query::{Sort, SortKey};
use alloquy::core::search::{Ranking, SearchPage};
use alloquy::core::short_ids::ShortIds;
use alloquy::core::store::ConversationSummary;
use alloquy::core::{ConversationId, Owner, Query, Result};
use alloquy::memory::without_notes;
use clap::Args;
use clap::builder::BoolishValueParser as Switch;
use serde_json::{Value, json};

use crate::arguments::StoreArguments;
use crate::condition::QueryArguments;
use crate::context::Context;
use crate::failure::Failure;
use crate::kept::{self, Kept};
use crate::names;
use crate::outline::Outline;
use crate::screen;
use crate::table::{cut, with_tabs};
use crate::times;
use crate::visible::on_one_line;

const EXAMPLES: &str = "\
Examples:
  alloquy search green tea                    both words, anywhere in one message
  alloquy search '\"green tea\"' 'cup*'         a phrase, and a word with this prefix
  alloquy search --where user=ann --newest tea
  alloquy search --conversation work/plan tea
  alloquy search --json tea | jq '.hits[].snippet'

Case and accents do not count, and every branch is searched. A conversation is a line with its id, its date and its title; \
below it are its messages: the end of the id, which `goto` accepts, the role, and the text around the match. In a pipe each \
message is a line with tabs between whole values: conversation, message, its time in UTC, role, title, text.";

/// Find messages in every conversation and on every branch
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Search {
    /// Words, "phrases in quotes" and prefixes*; one message must contain all of them
    #[arg(required = true)]
    words: Vec<String>,
    /// Search this conversation only
    #[arg(long, value_name = "ID", env = "ALLOQUY_CONVERSATION")]
    conversation: Option<ConversationId>,
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
        let page = match &self.conversation {
            Some(name) => {
                let summary = names::existing(&kept, name).await?;
                search_one(&kept, query, self.query.limit(), &summary).await?
            }
            None => kept.store.search(&kept.owner, &query.filter(without_notes())).await?,
        };
        if let Ranking::Newest(count) = page.ranked {
            context.notes.say(format_args!(
                "there are more matches: these are of the newest {count}; --newest finds all"
            ));
        }
        context.notes.damaged(&page.damaged);
        context.notes.more(self.query.limit(), page.next.as_ref());
        if page.hits.is_empty() && page.next.is_none() {
            context.notes.say("no message has these words");
        }
        let text = if context.output.json { String::new() } else { text(&kept, &page).await? };
        context.print(&text, &value(&page, &kept.owner))
    }

    fn query(&self) -> Result<Query> {
        let query = self.query.query()?.text(&self.words.join(" "))?;
        if self.newest {
            return Ok(query.sort(Sort::descending(SortKey::Created)));
        }
        Ok(query)
    }
}

/// Searches one conversation.
///
/// A query has no condition on the name. It is narrowed to the millisecond in which the conversation was created, and the
/// hits of others that were created in the same one are left out.
async fn search_one(
    kept: &Kept,
    query: Query,
    limit: Option<usize>,
    summary: &ConversationSummary,
) -> Result<SearchPage> {
    let created = summary.record.created;
    let mut query = query.created(created..=created);
    let mut page = kept.store.search(&kept.owner, &query).await?;
    page.hits.retain(|hit| hit.conversation == summary.record.id);
    while let (Some(next), Some(limit)) = (page.next.clone(), limit) {
        let missing = limit.saturating_sub(page.hits.len());
        if missing == 0 {
            break;
        }
        query = query.after(next).limit(missing);
        let more = kept.store.search(&kept.owner, &query).await?;
        page.hits.extend(more.hits.into_iter().filter(|hit| hit.conversation == summary.record.id));
        page.next = more.next;
    }
    page.damaged.retain(|damaged| damaged.name == summary.record.id.as_str());
    Ok(page)
}

/// The date and the title of a conversation with hits.
struct Found {
    updated: String,
    title: String,
}

/// Returns the hits for standard output.
async fn text(kept: &Kept, page: &SearchPage) -> Result<String> {
    let mut found: BTreeMap<&ConversationId, Found> = BTreeMap::new();
    for hit in &page.hits {
        if !found.contains_key(&hit.conversation) {
            let summary = kept.store.summary(&kept.owner, &hit.conversation).await?;
            let title = Outline::of(kept, &summary.record).await.title;
            found.insert(&hit.conversation, Found { updated: times::local(summary.updated), title });
        }
    }
    Ok(if screen::is_out_a_terminal() { grouped(page, &found) } else { lines(page, &found) })
}

/// Returns the hits for people: a line for each conversation, and its messages below it.
fn grouped(page: &SearchPage, found: &BTreeMap<&ConversationId, Found>) -> String {
    let conversations = ShortIds::of(found.keys());
    let nodes = ShortIds::of(page.hits.iter().map(|hit| hit.node));
    let width = screen::width();
    let mut text = String::new();
    let mut above = None;
    for hit in &page.hits {
        if above != Some(&hit.conversation) {
            let id = conversations.short(hit.conversation.as_str());
            let (updated, title) =
                found.get(&hit.conversation).map_or(("", ""), |found| (&found.updated, &found.title));
            text += &format!("{}\n", cut(&format!("{id}  {updated}  {title}"), width));
            above = Some(&hit.conversation);
        }
        let id = hit.node.to_string();
        let line = format!("  {}  {}: {}", nodes.short(&id), hit.role, on_one_line(&hit.snippet.text));
        text += &format!("{}\n", cut(&line, width));
    }
    text
}

/// Returns the hits for programs: a line with whole values for each message.
fn lines(page: &SearchPage, found: &BTreeMap<&ConversationId, Found>) -> String {
    let mut text = String::new();
    for hit in &page.hits {
        let title = found.get(&hit.conversation).map_or("", |found| &found.title);
        let node = hit.node.to_string();
        let time = times::utc(hit.node.created());
        text += &with_tabs([
            hit.conversation.as_str(),
            &node,
            &time,
            hit.role.as_str(),
            title,
            &hit.snippet.text,
        ]);
    }
    text
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
        let search = Search { words: vec!["?".to_owned()], conversation: None, newest, query, store };
        assert_eq!(search.query().map_err(|error: Error| error.kind()), Err(ErrorKind::Invalid));
    }
}
