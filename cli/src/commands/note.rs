//! `alloquy note`: what a model is reminded of in every conversation.

use alloquy::core::short_ids::ShortIds;
use alloquy::core::{NodeId, Result};
use alloquy::memory::{Note, Notes, Remember as _, StoredNote};
use clap::{Args, Subcommand};
use serde_json::{Value, json};

use crate::arguments::StoreArguments;
use crate::context::Context;
use crate::failure::Failure;
use crate::kept::{self, Kept};
use crate::limits::count;
use crate::screen;
use crate::table::{Table, with_tabs};
use crate::times;

const EXAMPLES: &str = "\
Examples:
  alloquy note add I live in Oslo             remember it
  alloquy note list
  alloquy note search where do I live
  alloquy note forget 4fc9d2ab                the end of an id is enough
  alloquy chat --memory                       a chat whose model is reminded of what fits

Notes are the conversation alloquy.notes of the store, which lists leave out: `alloquy export alloquy.notes` prints it.";

const ADD_EXAMPLES: &str = "\
Examples:
  alloquy note add I live in Oslo
  alloquy note add --replace 4fc9d2ab \"I live in Rome\"

The id of the note is printed.";

const LIST_EXAMPLES: &str = "\
Examples:
  alloquy note list
  alloquy note list --json | jq -r '.notes[].text'

In a pipe each note is a line with tabs between whole values: id, time in UTC, text.";

const SEARCH_EXAMPLES: &str = "\
Examples:
  alloquy note search where do I live
  alloquy note search --limit 3 --json tea";

const FORGET_EXAMPLES: &str = "\
Examples:
  alloquy note forget 4fc9d2ab
  alloquy note forget 4fc9d2ab 77aa01c3

A note is forgotten together with those that it replaced. Nothing is forgotten if one of the ids does not exist.";

/// Add, list, search and forget notes for `--memory`
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct NoteCommand {
    #[command(subcommand)]
    action: Action,
}

/// What to do with notes.
#[derive(Debug, Subcommand)]
enum Action {
    Add(Add),
    List(List),
    Search(Search),
    Forget(Forget),
}

impl NoteCommand {
    pub(crate) fn run(self, context: &Context) -> Result<(), Failure> {
        match self.action {
            Action::Add(add) => pollster::block_on(add.run(context)),
            Action::List(list) => pollster::block_on(list.run(context)),
            Action::Search(search) => pollster::block_on(search.run(context)),
            Action::Forget(forget) => pollster::block_on(forget.run(context)),
        }
    }
}

/// Remember a sentence
#[derive(Args, Debug)]
#[command(after_help = ADD_EXAMPLES)]
struct Add {
    /// The note; several words make one
    #[arg(required = true)]
    text: Vec<String>,
    /// Replace this note, which stays in the history
    #[arg(long, value_name = "ID", env = "ALLOQUY_REPLACE")]
    replace: Option<String>,
    #[command(flatten)]
    store: StoreArguments,
}

impl Add {
    async fn run(self, context: &Context) -> Result<(), Failure> {
        let mut note = Note::new(self.text.join(" "));
        // Before a store is made.
        note.must_be_valid().map_err(Failure::Arguments)?;
        let Kept { store, owner } = kept::kept(&context.settings.settle(&self.store)?).await?;
        let notes = Notes::new(store);
        if let Some(former) = &self.replace {
            note = note.replacing(notes.find(&owner, former).await?.id);
        }
        let id = notes.remember(&owner, note.clone()).await?;
        let value = json!({"id": id, "text": note.text, "replaces": note.replaces});
        context.print(&format!("{id}\n"), &value)
    }
}

/// List the notes, the newest first
#[derive(Args, Debug)]
#[command(after_help = LIST_EXAMPLES)]
struct List {
    #[command(flatten)]
    store: StoreArguments,
}

impl List {
    async fn run(self, context: &Context) -> Result<(), Failure> {
        let Kept { store, owner } = kept::kept_for_reading(&context.settings.settle(&self.store)?).await?;
        let found = Notes::new(store).list(&owner).await?;
        if found.is_empty() {
            context.notes.say("there is no note: `alloquy note add TEXT` adds one");
        }
        context.print(&listed(&found), &value(&found))
    }
}

/// Find notes that share words with a text, the best first
#[derive(Args, Debug)]
#[command(after_help = SEARCH_EXAMPLES)]
struct Search {
    /// The question, or some words
    #[arg(required = true)]
    words: Vec<String>,
    /// List at most N
    #[arg(long, value_name = "N", env = "ALLOQUY_LIMIT", value_parser = count::<usize>("limit"))]
    limit: Option<usize>,
    #[command(flatten)]
    store: StoreArguments,
}

impl Search {
    async fn run(self, context: &Context) -> Result<(), Failure> {
        let Kept { store, owner } = kept::kept_for_reading(&context.settings.settle(&self.store)?).await?;
        let limit = self.limit.unwrap_or(usize::MAX);
        let found = Notes::new(store).search(&owner, &self.words.join(" "), limit).await?;
        if found.is_empty() {
            context.notes.say("no note has one of these words");
        }
        context.print(&listed(&found), &value(&found))
    }
}

/// Forget notes
#[derive(Args, Debug)]
#[command(after_help = FORGET_EXAMPLES)]
struct Forget {
    /// The notes: their ids, or at least 4 characters of the end
    #[arg(required = true, value_name = "ID")]
    ids: Vec<String>,
    #[command(flatten)]
    store: StoreArguments,
}

impl Forget {
    async fn run(self, context: &Context) -> Result<(), Failure> {
        let Kept { store, owner } = kept::kept(&context.settings.settle(&self.store)?).await?;
        let notes = Notes::new(store);
        let mut forgotten: Vec<NodeId> = Vec::new();
        for id in &self.ids {
            let found =
                notes.find(&owner, id).await.map_err(|error| error.context("nothing was forgotten"))?;
            if !forgotten.contains(&found.id) {
                forgotten.push(found.id);
            }
        }
        for id in &forgotten {
            match notes.forget(&owner, *id).await {
                // It was replaced by a note before it in this list, and is forgotten with that.
                Err(error) if error.is_not_found() => {}
                outcome => outcome?,
            }
        }
        let text: String = forgotten.iter().map(|id| format!("{id}\n")).collect();
        context.print(&text, &json!({"forgotten": forgotten}))
    }
}

/// Lists notes for standard output: columns for people, else a line with whole values for each.
pub(crate) fn listed(notes: &[StoredNote]) -> String {
    if !screen::is_out_a_terminal() {
        let mut text = String::new();
        for StoredNote { id, note } in notes {
            text += &with_tabs([&id.to_string(), &times::utc(id.created()), &note.text]);
        }
        return text;
    }
    let short = ShortIds::of(notes.iter().map(|note| note.id));
    let mut table = Table::new(["ID", "CREATED", "NOTE"]);
    for StoredNote { id, note } in notes {
        let created = times::local(id.created());
        table.push([short.short(&id.to_string()).to_owned(), created, note.text.clone()]);
    }
    table.aligned(screen::width())
}

/// Returns notes for programs.
pub(crate) fn value(notes: &[StoredNote]) -> Value {
    let mut values = Vec::new();
    for StoredNote { id, note } in notes {
        let mut value = json!(note);
        if let Value::Object(fields) = &mut value {
            fields.insert("id".to_owned(), json!(id));
            fields.insert("created".to_owned(), times::utc(id.created()).into());
        }
        values.push(value);
    }
    json!({"notes": values})
}
