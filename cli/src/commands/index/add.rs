//! `alloquy index add`: reads files into an index.

use std::path::PathBuf;
use std::time::Duration;

use alloquy::core::{Error, ErrorKind, Result};
use alloquy::retrieval::StemLanguage;
use clap::Args;
use clap::builder::BoolishValueParser as Switch;
use serde_json::Value;

use super::change::{print, pruned, read};
use super::opened::{Opened, WhichIndex, wrong};
use super::watch::Watch;
use crate::context::Context;
use crate::failure::Failure;
use crate::folders::{FILE_BYTES, Folders};
use crate::indexes::{self, Wanted};
use crate::interrupts::Interrupts;
use crate::limits::count;

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
