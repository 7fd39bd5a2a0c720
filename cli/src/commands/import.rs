//! `alloquy import`: conversations from elsewhere.

use std::fs;
use std::io::Read as _;
use std::path::PathBuf;

use alloquy::core::{Error, ErrorKind, Result};
use alloquy::formats::archive::{ArchiveFormat, ArchiveLimits, Archives, ReadArchive};
use alloquy::storage::DataknobsDatabase;
use clap::Args;
use serde_json::{Value, json};

use crate::arguments::StoreArguments;
use crate::context::Context;
use crate::failure::Failure;
use crate::kept::{self, Kept};
use crate::media::MediaRootArguments;
use crate::notes::Notes;
use crate::progress::Progress;

const EXAMPLES: &str = "\
Examples:
  alloquy import conversation.json
  alloquy import chats.db                       a SQLite database of dataknobs
  alloquy import talks.jsonl --from openai
  alloquy import talks.jsonl --media-root .      pictures that it names by a path are read from here
  alloquy import talk.md --json | jq .imported

Formats: alloquy (what `alloquy export` writes), dataknobs (states of any release, its files and databases), openai \
(a conversation per line), chatml, markdown. A conversation comes in whole or not at all, and never over one that is \
there: its name is taken then, which is an error. What had to be mended is said. The same command \
continues an import that was stopped.";

/// Bring conversations in from a file or a database
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Import {
    /// The file
    file: PathBuf,
    /// The format of the file; seen from how it looks when absent
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

/// How many conversations, of how many bytes of the file, are written together: the disk is waited for once.
const TOGETHER: usize = 500;
const BYTES: usize = 4 << 20;

/// How many bytes of a file say whether it is a database.
const START: u64 = 64;

impl Import {
    pub(crate) fn run(self, context: &Context) -> Result<(), Failure> {
        let (limits, rules) = (ArchiveLimits::default(), self.media.open()?);
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
        pollster::block_on(self.import(context, Document { size: text.len(), archives }))
    }

    fn recognized(&self, text: &str) -> Result<ArchiveFormat> {
        ArchiveFormat::recognized(text).map_err(|error| {
            error.context(format_args!("no --from names a format, and file {:?} does not show it", self.file))
        })
    }

    fn refused(&self, reason: &str) -> Error {
        Error::new(ErrorKind::Invalid, format!("file {:?}: {reason}", self.file))
    }

    /// Looks at how the file begins, unless it is a pipe, which is read once. One that cannot be read is reported where it is read.
    fn is_database(&self) -> bool {
        if !self.file.is_file() {
            return false;
        }
        let mut start = Vec::new();
        let read = fs::File::open(&self.file).and_then(|file| file.take(START).read_to_end(&mut start));
        read.is_ok() && alloquy::storage::is_sqlite(&start)
    }

    fn bytes(&self, limits: &ArchiveLimits) -> Result<Vec<u8>> {
        let unreadable = |kind| Error::new(kind, format!("file {:?} cannot be read", self.file));
        let size =
            fs::metadata(&self.file).map_err(|source| unreadable(ErrorKind::NotFound).with_source(source))?;
        if size.len() > limits.bytes as u64 {
            let message =
                format!("{:?} has {} bytes, and the limit is {}", self.file, size.len(), limits.bytes);
            return Err(Error::new(ErrorKind::Invalid, message));
        }
        fs::read(&self.file).map_err(|source| unreadable(ErrorKind::Invalid).with_source(source))
    }

    async fn import(&self, context: &Context, mut source: impl Source) -> Result<(), Failure> {
        let kept = kept::kept(&context.settings.settle(&self.store)?).await?;
        let mut done = Done::default();
        let mut progress = Progress::of(context.notes, source.size());
        loop {
            let (mut batch, begin) = (Vec::new(), source.read_so_far());
            while batch.len() < TOGETHER && source.read_so_far() - begin < BYTES {
                match source.next() {
                    Some(Ok(read)) => batch.push(read),
                    Some(Err(error)) => done.refused.push(error),
                    None => break,
                }
            }
            progress.advance_to(source.read_so_far());
            if batch.is_empty() && source.read_so_far() == begin {
                break;
            }
            done.write(&kept, batch, context.notes).await;
        }
        drop(progress);
        if done.imported.is_empty() && done.refused.is_empty() {
            return Err(self.refused("there is no conversation in it").into());
        }
        done.print(context)
    }
}

/// Where conversations come from, and how far that was read.
trait Source: Iterator<Item = Result<ReadArchive>> {
    /// How much there is to read, in a unit of its own.
    fn size(&self) -> usize;

    /// How much of it was read.
    fn read_so_far(&self) -> usize;
}

/// A text, which is read bit by bit; measured in bytes.
struct Document<'a> {
    size: usize,
    archives: Archives<'a>,
}

impl Iterator for Document<'_> {
    type Item = Result<ReadArchive>;

    fn next(&mut self) -> Option<Self::Item> {
        self.archives.next()
    }
}

impl Source for Document<'_> {
    fn size(&self) -> usize {
        self.size
    }

    fn read_so_far(&self) -> usize {
        self.archives.bytes_read()
    }
}

/// A database, which is read row by row; measured in conversations.
impl Source for DataknobsDatabase {
    fn size(&self) -> usize {
        self.count_all()
    }

    fn read_so_far(&self) -> usize {
        self.count_read()
    }
}

/// What became of the conversations so far.
#[derive(Default)]
struct Done {
    imported: Vec<Value>,
    refused: Vec<Error>,
    /// How many of those that were refused are there already.
    taken: usize,
}

impl Done {
    /// Brings conversations in together.
    async fn write(&mut self, kept: &Kept, batch: Vec<ReadArchive>, notes: Notes) {
        let (mut archives, mut lines) = (Vec::with_capacity(batch.len()), Vec::with_capacity(batch.len()));
        for ReadArchive { archive, repairs } in batch {
            let repairs: Vec<_> = repairs.iter().map(ToString::to_string).collect();
            lines.push((archive.record.id.clone(), archive.nodes.len(), repairs));
            archives.push(archive);
        }
        let outcomes = kept.store.import_all(&kept.owner, archives).await;
        for ((id, nodes, repairs), outcome) in lines.into_iter().zip(outcomes) {
            match outcome {
                Ok(()) => {
                    for repair in &repairs {
                        notes.say(format_args!("{id}: {repair}"));
                    }
                    self.imported.push(json!({"id": id, "nodes": nodes, "mended": repairs}));
                }
                Err(error) => {
                    self.taken += usize::from(error.is_conflict());
                    self.refused.push(error);
                }
            }
        }
    }

    /// Says what came in; the first that was refused is the error that the command ends with.
    fn print(self, context: &Context) -> Result<(), Failure> {
        let Self { imported, refused, taken } = self;
        // Who goes on with an import that was stopped wants to know how many, and not each.
        let is_told = |error: &&Error| taken <= MANY || !error.is_conflict();
        for error in refused.iter().skip(1).filter(is_told) {
            context.notes.say(format_args!("not imported: {error:#}"));
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

/// So many conversations that exist already are named one by one.
const MANY: usize = 20;
