//! Changes of an index by files: what is read, what is removed, and what is printed of it.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use alloquy::core::Result;
use alloquy::retrieval::{IndexReport, SkippedDocument};
use serde_json::{Value, json};

use super::opened::Opened;
use crate::context::Context;
use crate::failure::Failure;
use crate::folders::{Folders, ListedFile, file_of};
use crate::notes::Notes;
use crate::progress::Progress;

/// How many bytes of files are read together.
const TOGETHER: u64 = 64 << 20;

/// How many files that are left out are listed one by one.
const SHOWN: usize = 20;

/// What a change of an index did.
#[derive(Debug, Default)]
pub(super) struct Change {
    /// How many documents were read.
    pub(super) documents: usize,
    pub(super) added: usize,
    pub(super) kept: usize,
    pub(super) removed: usize,
    pub(super) cut: usize,
    pub(super) skipped: Vec<SkippedDocument>,
}

impl Change {
    fn include(&mut self, report: IndexReport) {
        self.added += report.added;
        self.kept += report.kept;
        self.removed += report.removed;
        self.cut += report.cut;
        self.documents = self.documents.saturating_sub(report.skipped.len());
        self.skipped.extend(report.skipped);
    }

    /// Describes it on one line.
    pub(super) fn line(&self) -> String {
        let Self { documents, added, kept, removed, .. } = self;
        let documents =
            if *documents == 1 { "1 document".to_owned() } else { format!("{documents} documents") };
        format!("{documents} read: {added} passages added, {kept} kept, {removed} removed")
    }

    pub(super) fn value(&self) -> Value {
        json!({
            "documents": self.documents,
            "added": self.added,
            "kept": self.kept,
            "removed": self.removed,
            "cut": self.cut,
            "skipped": self.skipped,
        })
    }
}

/// Reads files into the index, and shows how far it is.
pub(super) fn read(opened: &Opened, files: &[ListedFile], notes: Notes) -> Result<Change> {
    let mut change = Change::default();
    let taken = Taken::of(opened)?;
    let bar = Mutex::new(Progress::of(notes, files.len()));
    let mut rest = files;
    while !rest.is_empty() {
        let (batch, later) = rest.split_at(batch(rest));
        let done = files.len() - rest.len();
        rest = later;
        let mut documents = Vec::new();
        for file in batch {
            match taken.allows(file).and_then(|()| file.read()) {
                Ok(document) => documents.push(document),
                Err(skipped) => change.skipped.push(skipped),
            }
        }
        change.documents += documents.len();
        let report = pollster::block_on(opened.index.add(&opened.owner, documents, &|progress| {
            let mut bar = bar.lock().unwrap_or_else(PoisonError::into_inner);
            bar.advance_to((done + progress.documents) as u64);
        }));
        change.include(report?);
    }
    Ok(change)
}

/// Returns how many of the first files are read together: at least one, and at most so many that they fit into the memory.
fn batch(files: &[ListedFile]) -> usize {
    let mut bytes = 0;
    let fitting = files.iter().take_while(|file| {
        bytes += file.bytes;
        bytes <= TOGETHER
    });
    fitting.count().max(1)
}

/// The names of the documents of an index, with the files that they are of.
struct Taken {
    files: HashMap<String, PathBuf>,
}

impl Taken {
    fn of(opened: &Opened) -> Result<Self> {
        let mut files = HashMap::new();
        for document in opened.index.documents(&opened.owner)? {
            if let Some(file) = file_of(&document) {
                files.insert(document.source.clone(), file.to_owned());
            }
        }
        Ok(Self { files })
    }

    /// Refuses a file whose name is that of another file, which exists: two folders may have files of the same names.
    fn allows(&self, file: &ListedFile) -> Result<(), SkippedDocument> {
        let Some(other) = self.files.get(&file.name) else { return Ok(()) };
        if *other == Path::new(&file.whole_path()?) || !other.exists() {
            return Ok(());
        }
        Err(file.skipped(format!(
            "the index has {}, which was added by this name: use its whole path, or another --index",
            other.display()
        )))
    }
}

/// Removes the documents of the folders whose files are gone, and returns how many passages they had.
pub(super) fn pruned(opened: &Opened, folders: &Folders) -> Result<usize> {
    let roots = folders.roots();
    let documents = opened.index.documents(&opened.owner)?;
    let mut gone = Vec::new();
    for document in &documents {
        // What another program added has no file.
        let Some(file) = file_of(document) else { continue };
        if roots.iter().any(|root| file.starts_with(root)) && !file.exists() {
            gone.push(document.source.as_str());
        }
    }
    if gone.is_empty() {
        return Ok(0);
    }
    Ok(pollster::block_on(opened.index.remove(&opened.owner, &gone))?.removed)
}

/// Prints what a change did.
pub(super) fn print(context: &Context, change: &Change) -> Result<(), Failure> {
    for SkippedDocument { source, reason } in change.skipped.iter().take(SHOWN) {
        context.notes.say(format_args!("{source} is left out: {reason}"));
    }
    if change.skipped.len() > SHOWN {
        context.notes.say(format_args!("… and {} more; --json lists all", change.skipped.len() - SHOWN));
    }
    if change.cut > 0 {
        context.notes.say(format_args!(
            "{} passages are longer than the embedder reads, so their vectors lack the ends: a smaller --chunk avoids that",
            change.cut
        ));
    }
    context.print(&format!("{}\n", change.line()), &change.value())
}
