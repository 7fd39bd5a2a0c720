//! `alloquy index search`: finds passages of documents.

use alloquy::core::Result;
use alloquy::retrieval::{Lookup, Passage};
use clap::Args;
use clap::builder::BoolishValueParser as Switch;
use serde_json::json;

use super::opened::{Opened, WhichIndex};
use crate::condition::filter;
use crate::context::Context;
use crate::failure::Failure;
use crate::limits::count;
use crate::screen;
use crate::table::{cut, with_tabs};
use crate::visible::on_one_line;

const EXAMPLES: &str = "\
Examples:
  alloquy index search Where is tea grown
  alloquy index search --words --limit 3 oxidation
  alloquy index search --where folder=docs --where ending=md tea
  alloquy index search --json tea | jq -r '.passages[].source'

Words and vectors are searched, and their ranks joined; scores of two kinds of search cannot be compared. Conditions are those of \
`alloquy search`, on the metadata: folder, ending, heading, and title of HTML. In a pipe each passage is a line with tabs between \
whole values: score, document, heading, text.";

/// Find passages of documents
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(super) struct Search {
    /// The question, or some words
    #[arg(required = true, value_name = "WORDS")]
    text: Vec<String>,
    /// Search by words alone
    #[arg(long, conflicts_with = "vectors", env = "ALLOQUY_WORDS", value_parser = Switch::new())]
    words: bool,
    /// Search by vectors alone
    #[arg(long, env = "ALLOQUY_VECTORS", value_parser = Switch::new())]
    vectors: bool,
    /// Only passages whose metadata match: KEY=VALUE, KEY>=VALUE, KEY<VALUE, KEY or !KEY; may be repeated
    #[arg(long = "where", value_name = "CONDITION", env = "ALLOQUY_WHERE")]
    conditions: Vec<String>,
    /// List at most N; 5 unless set
    #[arg(long, value_name = "N", env = "ALLOQUY_LIMIT", value_parser = count::<usize>("limit"))]
    limit: Option<usize>,
    #[command(flatten)]
    which: WhichIndex,
}

/// How many lines of a passage people see.
const LINES: usize = 2;

impl Search {
    pub(super) async fn run(self, context: &Context) -> Result<(), Failure> {
        let lookup = self.lookup().map_err(Failure::Arguments)?;
        let Opened { index, owner, .. } = self.which.open(context)?;
        let retriever = if self.words {
            index.words()
        } else if self.vectors {
            index.vectors()?
        } else {
            index.hybrid()
        };
        let mut found = retriever.find(&owner, &lookup).await?;
        // A lookup finds at least one.
        found.passages.truncate(self.limit.unwrap_or(usize::MAX));
        for failed in &found.failed {
            context.notes.say(format_args!("the search by {} failed: {}", failed.name, failed.error));
        }
        if found.passages.is_empty() {
            context.notes.say("no passage fits, or none meets the conditions");
        }
        let text = if screen::is_out_a_terminal() { blocks(&found.passages) } else { lines(&found.passages) };
        let value = json!({"retriever": retriever.name(), "passages": found.passages, "version": found.version, "failed": found.failed});
        context.print(&text, &value)
    }

    fn lookup(&self) -> Result<Lookup> {
        let mut lookup = Lookup::new(self.text.join(" "));
        if let Some(limit) = self.limit {
            lookup = lookup.limit(limit);
        }
        for condition in &self.conditions {
            lookup = lookup.filter(filter(condition)?);
        }
        Ok(lookup)
    }
}

/// Returns the passages for people: a line with score, document and heading, and the first lines of the text below it.
fn blocks(passages: &[Passage]) -> String {
    let width = screen::width();
    let mut text = String::new();
    for passage in passages {
        let place =
            place(passage.source.as_deref().unwrap_or(&passage.id), passage.heading().unwrap_or_default());
        text += &format!("{}\n", cut(&on_one_line(&format!("{:.3}  {place}", passage.score)), width));
        for line in passage.text.lines().filter(|line| !line.trim().is_empty()).take(LINES) {
            text += &format!("  {}\n", cut(&on_one_line(line), width.saturating_sub(2)));
        }
    }
    text
}

/// Returns the passages for programs.
fn lines(passages: &[Passage]) -> String {
    let mut text = String::new();
    for passage in passages {
        let source = passage.source.as_deref().unwrap_or(&passage.id);
        text += &with_tabs([
            &format!("{:.6}", passage.score),
            source,
            passage.heading().unwrap_or_default(),
            &passage.text,
        ]);
    }
    text
}

fn place(source: &str, heading: &str) -> String {
    if heading.is_empty() { source.to_owned() } else { format!("{source}: {heading}") }
}
