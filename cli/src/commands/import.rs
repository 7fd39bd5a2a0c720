//! `alloquy import`: stores conversations of a file or a database.

use std::fs;
use std::io::Read as _;
use std::path::PathBuf;

use alloquy::core::{Error, ErrorKind, Result};
use alloquy::formats::archive::{self, ArchiveFormat, ArchiveLimits, ArchiveSource, Archives, Imported};
use alloquy::storage::DataknobsDatabase;
use clap::Args;
use serde_json::{Value, json};

use crate::arguments::StoreArguments;
use crate::context::Context;
use crate::failure::Failure;
use crate::kept;
use crate::media::MediaRootArguments;
use crate::notes::Notes;
use crate::progress::Progress;

const EXAMPLES: &str = "\
Examples:
  alloquy import conversation.json
  alloquy import chats.db                       a SQLite database of dataknobs
  alloquy import talks.jsonl --from openai
  alloquy import talks.jsonl --media-root .      images that it names by a path are read from here
  alloquy import talk.md --json | jq .imported

Formats: alloquy (what `alloquy export` writes), dataknobs (states of any release, its files and databases), openai \
(a conversation per line), chatml, markdown. A conversation is imported whole or not at all, and never replaces an \
existing one: a name that is taken is an error. Repairs are reported. The same command continues an import that was \
stopped.";

/// Import conversations from a file or a database
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Import {
    /// The file
    file: PathBuf,
    /// The format of the file; recognized from its content when absent
    #[arg(long, env = "ALLOQUY_FROM", value_name = "FORMAT", value_parser = format)]
    from: Option<ArchiveFormat>,
    #[command(flatten)]
    media: MediaRootArguments,
    #[command(flatten)]
    store: StoreArguments,
}

/// Reads a format's name.
pub(crate) fn format(name: &str) -> Result<ArchiveFormat> {
    name.parse()
}

/// How many bytes of a file say whether it is a database.
const START: u64 = 64;

impl Import {
    pub(crate) fn run(self, context: &Context) -> Result<(), Failure> {
        let limits = ArchiveLimits::default();
        let rules = self.media.open()?;
        if self.is_database() {
            let archives = DataknobsDatabase::open(&self.file, &limits)?;
            return pollster::block_on(self.import(context, archives));
        }
        let bytes = self.bytes(&limits)?;
        let text = String::from_utf8(bytes).map_err(|source| {
            Error::new(ErrorKind::Invalid, format!("{:?} is no text in UTF-8", self.file)).with_source(source)
        })?;
        if text.trim().is_empty() {
            return Err(self.refused("it is empty, so there is no conversation in it").into());
        }
        let format = match self.from {
            Some(format) => format,
            None => self.recognized(&text)?,
        };
        let rules = rules.rules();
        let archives = Archives::of(format, &text, limits, &rules);
        let archives = archives.map_err(|error| error.context(format_args!("file {:?}", self.file)))?;
        pollster::block_on(self.import(context, archives))
    }

    fn recognized(&self, text: &str) -> Result<ArchiveFormat> {
        ArchiveFormat::recognized(text).map_err(|error| {
            error.context(format_args!("no --from names a format, and file {:?} does not show it", self.file))
        })
    }

    fn refused(&self, reason: &str) -> Error {
        Error::new(ErrorKind::Invalid, format!("file {:?}: {reason}", self.file))
    }

    /// Checks the first bytes of the file, unless it is a pipe, which can be read only once. A file that cannot be read is
    /// no database; the error follows when it is read.
    fn is_database(&self) -> bool {
        if !self.file.is_file() {
            return false;
        }
        let mut start = Vec::new();
        let read = fs::File::open(&self.file).and_then(|file| file.take(START).read_to_end(&mut start));
        read.is_ok() && alloquy::storage::is_sqlite(&start)
    }

    fn bytes(&self, limits: &ArchiveLimits) -> Result<Vec<u8>> {
        let size = fs::metadata(&self.file).map_err(|source| self.unreadable(ErrorKind::NotFound, source))?;
        if size.len() > limits.bytes as u64 {
            let message =
                format!("{:?} has {} bytes, and the limit is {}", self.file, size.len(), limits.bytes);
            return Err(Error::new(ErrorKind::Invalid, message));
        }
        fs::read(&self.file).map_err(|source| self.unreadable(ErrorKind::Invalid, source))
    }

    fn unreadable(&self, kind: ErrorKind, source: std::io::Error) -> Error {
        Error::new(kind, format!("file {:?} cannot be read", self.file)).with_source(source)
    }

    async fn import(&self, context: &Context, mut source: impl ArchiveSource) -> Result<(), Failure> {
        let kept = kept::kept(&context.settings.settle(&self.store)?).await?;
        let mut done = Done::default();
        let mut progress = Progress::of(context.notes, source.size());
        while let Some(outcomes) = archive::import_some(&*kept.store, &kept.owner, &mut source).await {
            progress.advance_to(source.read_so_far() as u64);
            done.add(outcomes, context.notes);
        }
        drop(progress);
        if done.imported.is_empty() && done.refused.is_empty() {
            return Err(self.refused("there is no conversation in it").into());
        }
        done.print(context)
    }
}

/// The outcomes of the conversations so far.
#[derive(Default)]
struct Done {
    imported: Vec<Value>,
    refused: Vec<Error>,
    /// How many of the refused ones exist already.
    taken: usize,
}

impl Done {
    fn add(&mut self, outcomes: Vec<Result<Imported>>, notes: Notes) {
        for outcome in outcomes {
            match outcome {
                Ok(Imported { id, nodes, repairs, .. }) => {
                    let repairs: Vec<_> = repairs.iter().map(ToString::to_string).collect();
                    for repair in &repairs {
                        notes.say(format_args!("{id}: {repair}"));
                    }
                    self.imported.push(json!({"id": id, "nodes": nodes, "repaired": repairs}));
                }
                Err(error) => {
                    self.taken += usize::from(error.is_conflict());
                    self.refused.push(error);
                }
            }
        }
    }

    /// Prints the imported conversations. The first refused one is the error of the command.
    fn print(self, context: &Context) -> Result<(), Failure> {
        let Self { imported, refused, taken } = self;
        for error in refused.iter().skip(1) {
            // An import that was stopped is continued: its conversations exist, and are counted instead.
            if taken <= MANY || !error.is_conflict() {
                context.notes.say(format_args!("not imported: {error:#}"));
            }
        }
        if taken > MANY {
            context.notes.say(format_args!("{taken} conversations exist already and stay as they are"));
        }
        let text: String =
            imported.iter().map(|line| format!("{}\n", line["id"].as_str().unwrap_or_default())).collect();
        let reasons: Vec<_> = refused.iter().map(|error| format!("{error:#}")).collect();
        context.print(&text, &json!({"imported": imported, "refused": reasons}))?;
        match refused.into_iter().next() {
            Some(error) => Err(error.into()),
            None => Ok(()),
        }
    }
}

/// Up to this many conversations that exist already are named one by one.
const MANY: usize = 20;
