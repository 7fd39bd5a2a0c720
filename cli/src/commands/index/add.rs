//! `alloquy index add`: reads files into an index.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use alloquy::core::{Error, ErrorKind, Result};
use alloquy::retrieval::{IndexReport, SkippedDocument, StemLanguage};
use clap::Args;
use clap::builder::BoolishValueParser as Switch;
use serde_json::{Value, json};

use super::watch::Watch;
use super::{Opened, WhichIndex, wrong};
use crate::context::Context;
use crate::failure::Failure;
use crate::folders::{FILE_BYTES, Folders, ListedFile, file_of};
use crate::indexes::{self, Wanted};
use crate::interrupts::Interrupts;
use crate::limits::count;
use crate::notes::Notes;
use crate::progress::Progress;

const EXAMPLES: &str = "\
Examples:
  alloquy index add docs README.md
  alloquy index add docs --prune              also remove documents of this folder whose files are gone
  alloquy index add docs --watch --prune      and again whenever a file changes, until Ctrl-C
  alloquy index add docs --stems english --chunk 300 --overlap 40
  alloquy index add docs --embedder all-MiniLM-L6-v2
                                              vectors by a model of sentence-transformers
  alloquy index add docs --embedder none      words alone
  alloquy index add docs --json | jq '.skipped[]'

A document has the path of its file as it is typed here as its name. A file whose name another file has already is left out. Texts, Markdown, HTML and \
source code are read; what is left out is listed with the reason. Adding a file again reads it again, and keeps what did not change.

An index keeps what it was made with: --stems, --chunk, --overlap and --embedder are for a new one.";

/// Read files and folders into the index
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(super) struct Add {
    /// Files, and folders with everything below them
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Remove documents whose files are gone from these folders
    #[arg(long, env = "ALLOQUY_PRUNE", value_parser = Switch::new())]
    prune: bool,
    /// Continue until Ctrl-C, and read what changes
    #[arg(long, env = "ALLOQUY_WATCH", value_parser = Switch::new())]
    watch: bool,
    /// Look for changes every N seconds; 2 unless set
    #[arg(long, value_name = "N", env = "ALLOQUY_EVERY", value_parser = count::<u64>("every"))]
    every: Option<u64>,
    /// Leave out files of more than N bytes; 10000000 unless set
    #[arg(long, value_name = "N", env = "ALLOQUY_FILE_BYTES", value_parser = count::<u64>("file-bytes"))]
    file_bytes: Option<u64>,
    /// Compare words of this language by their stems, so that "brewing" finds "brewed": english or en, german or de, and 20 more
    #[arg(long, value_name = "LANGUAGE", env = "ALLOQUY_STEMS", value_parser = language)]
    stems: Option<StemLanguage>,
    /// Cut documents into passages of at most N tokens; 200 unless set
    #[arg(long, value_name = "N", env = "ALLOQUY_CHUNK", value_parser = count::<usize>("chunk"))]
    chunk: Option<usize>,
    /// Repeat at most N tokens of a passage in the next one; 30 unless set
    #[arg(long, value_name = "N", env = "ALLOQUY_OVERLAP", value_parser = count::<usize>("overlap"))]
    overlap: Option<usize>,
    #[command(flatten)]
    which: WhichIndex,
}

/// The time between two looks, unless another is set.
const EVERY: Duration = Duration::from_secs(2);

/// How many bytes of files are read together.
const TOGETHER: u64 = 64 << 20;

/// How many files that are left out are listed one by one.
const SHOWN: usize = 20;

impl Add {
    pub(super) fn run(self, context: &Context) -> Result<(), Failure> {
        // Ctrl-C ends the program: what was written as a whole stays.
        let _interrupts = Interrupts::install()?;
        let folders = Folders { paths: self.paths.clone(), largest: self.largest(), except: None };
        // Before an index is made: a path may be wrong.
        folders.list()?;
        let opened = self.open(context)?;
        let folders = Folders { except: std::fs::canonicalize(&opened.folder).ok(), ..folders };
        let listed = folders.list()?;
        let mut change = read(&opened, &listed.files, context.notes)?;
        change.skipped.extend(listed.skipped.clone());
        if self.prune {
            change.removed += pruned(&opened, &folders)?;
        }
        print(context, &change)?;
        if !self.watch {
            return Ok(());
        }
        let every = self.every.map_or(EVERY, Duration::from_secs);
        Watch { opened, folders, every, prune: self.prune, known: listed }.run(context)
    }

    fn largest(&self) -> u64 {
        self.file_bytes.unwrap_or(FILE_BYTES)
    }

    fn open(&self, context: &Context) -> Result<Opened, Failure> {
        let arguments = context.settings.settle(&self.which.index)?;
        let store = context.settings.settle(&self.which.store)?;
        let folder = indexes::folder(&arguments, &store)?;
        let wanted = Wanted {
            embedder: arguments.embedder,
            chunk: self.chunk,
            overlap: self.overlap,
            stems: self.stems,
        };
        let index = indexes::for_adding(&folder, &wanted).map_err(wrong)?;
        Ok(Opened { folder, index, owner: store.owner() })
    }
}

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

/// The languages that have stems, with the codes of ISO 639.
const LANGUAGES: [(&str, &str); 22] = [
    ("ar", "arabic"),
    ("da", "danish"),
    ("nl", "dutch"),
    ("en", "english"),
    ("fi", "finnish"),
    ("fr", "french"),
    ("de", "german"),
    ("el", "greek"),
    ("hi", "hindi"),
    ("hu", "hungarian"),
    ("id", "indonesian"),
    ("it", "italian"),
    ("no", "norwegian"),
    ("pl", "polish"),
    ("pt", "portuguese"),
    ("ro", "romanian"),
    ("ru", "russian"),
    ("es", "spanish"),
    ("sv", "swedish"),
    ("ta", "tamil"),
    ("tr", "turkish"),
    ("uk", "ukrainian"),
];

/// Reads a language by its name or its code.
fn language(typed: &str) -> Result<StemLanguage> {
    let typed = typed.to_lowercase();
    let known = LANGUAGES.iter().find(|(code, name)| *code == typed || *name == typed);
    let language = known.and_then(|(_, name)| serde_json::from_value(Value::from(*name)).ok());
    language.ok_or_else(|| {
        let names: Vec<_> = LANGUAGES.iter().map(|(_, name)| *name).collect();
        Error::new(ErrorKind::Invalid, format!("expected one of {}", names.join(", ")))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_language_has_a_name_and_a_code() {
        for (code, name) in LANGUAGES {
            assert_eq!(language(code).unwrap(), language(&name.to_uppercase()).unwrap());
        }
        assert!(language("klingon").unwrap_err().to_string().contains("english, finnish"));
    }
}
