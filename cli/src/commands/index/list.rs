//! `alloquy index list`: the documents of an index.

use std::fs;
use std::path::Path;
use std::time::SystemTime;

use alloquy::hub::human;
use alloquy::retrieval::{Index, IndexSettings, Retriever as _};
use clap::Args;
use serde_json::json;

use super::opened::{Opened, WhichIndex};
use crate::context::Context;
use crate::embedders::embedder_name;
use crate::failure::Failure;
use crate::folders::file_of;
use crate::screen;
use crate::table::{Table, with_tabs};
use crate::times;

const EXAMPLES: &str = "\
Examples:
  alloquy index list
  alloquy index list --index ~/notes.index
  alloquy index list --json | jq -r '.documents[].source'

Sizes and times are those of the files, where they exist. In a pipe each document is a line with tabs between: \
name, number of passages, bytes, time in UTC.";

/// List the documents of the index
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(super) struct List {
    #[command(flatten)]
    which: WhichIndex,
}

/// A document for the list.
struct Row {
    source: String,
    passages: usize,
    /// The size and the time of its file, where it is found.
    file: Option<(u64, Option<SystemTime>)>,
}

impl List {
    pub(super) async fn run(self, context: &Context) -> Result<(), Failure> {
        let Opened { folder, index, owner } = self.which.open(context)?;
        let settings = Index::settings(&folder)?;
        let version = index.words().version(&owner).await?;
        let mut rows = Vec::new();
        for document in index.documents(&owner)? {
            let metadata = file_of(&document).and_then(|file| fs::metadata(file).ok());
            let file = metadata.map(|metadata| (metadata.len(), metadata.modified().ok()));
            rows.push(Row { source: document.source, passages: document.passages, file });
        }
        let passages: usize = rows.iter().map(|row| row.passages).sum();
        context.notes.say(format_args!(
            "{} documents with {passages} passages in {}{}",
            rows.len(),
            folder.display(),
            settings.as_ref().map(|settings| described(&folder, settings)).unwrap_or_default()
        ));
        let text = if screen::is_out_a_terminal() { table(&rows) } else { lines(&rows) };
        let documents: Vec<_> = rows.iter().map(value).collect();
        let value = json!({
            "folder": folder.display().to_string(),
            "version": version,
            "settings": settings,
            "embedder": settings.as_ref().map(|settings| embedder_name(&folder, settings)),
            "documents": documents,
        });
        context.print(&text, &value)
    }
}

/// Describes what an index was made with.
fn described(folder: &Path, settings: &IndexSettings) -> String {
    let stems = match settings.words.stems {
        Some(language) => format!(", stems of {language:?}"),
        None => String::new(),
    };
    format!(
        "; passages of at most {} tokens, {} of them repeated{stems}; embedder: {}",
        settings.limit,
        settings.overlap,
        embedder_name(folder, settings)
    )
}

/// Returns the list for people.
fn table(rows: &[Row]) -> String {
    let mut table = Table::new(["PASSAGES", "SIZE", "MODIFIED", "DOCUMENT"]).with_numbers(0);
    for row in rows {
        let size = row.file.map_or("-".to_owned(), |(bytes, _)| human(bytes));
        let modified = row.file.and_then(|(_, modified)| modified).map_or("-".to_owned(), times::local);
        table.push([row.passages.to_string(), size, modified, row.source.clone()]);
    }
    table.aligned(screen::width())
}

/// Returns the list for programs: a line with whole values for each document.
fn lines(rows: &[Row]) -> String {
    let mut text = String::new();
    for row in rows {
        let size = row.file.map_or("-".to_owned(), |(bytes, _)| bytes.to_string());
        let modified = row.file.and_then(|(_, modified)| modified).map_or("-".to_owned(), times::utc);
        text += &with_tabs([&row.source, &row.passages.to_string(), &size, &modified]);
    }
    text
}

fn value(row: &Row) -> serde_json::Value {
    let modified = row.file.and_then(|(_, modified)| modified).map(times::utc);
    json!({
        "source": row.source,
        "passages": row.passages,
        "bytes": row.file.map(|(bytes, _)| bytes),
        "modified": modified,
    })
}
