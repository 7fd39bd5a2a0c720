//! `alloquy import`: conversations from elsewhere.

use std::fs;
use std::path::PathBuf;

use alloquy_core::archive::{self, ArchiveFormat, ArchiveLimits, ReadArchive};
use alloquy_core::{ConversationStoreExt, Error, ErrorKind, Result};
use clap::Args;
use serde_json::{Value, json};

use super::Context;
use crate::arguments::StoreArguments;
use crate::failure::Failure;
use crate::media::MediaRootArguments;
use crate::notes::Notes;
use crate::open::{self, Kept};

const EXAMPLES: &str = "\
Examples:
  alloquy import conversation.json
  alloquy import chats.db                       a SQLite database of dataknobs
  alloquy import talks.jsonl --from openai
  alloquy import talks.jsonl --media-root .      pictures that it names by a path are read from here
  alloquy import talk.md --json | jq .imported

Formats: alloquy (what `alloquy export` writes), dataknobs (states of any release, its files and databases), openai \
(a conversation per line), chatml, markdown. A conversation comes in whole or not at all, and never over one that is \
there: its name is taken then, which is an error. What had to be mended is said.";

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

impl Import {
    pub(crate) fn run(self, context: &Context) -> Result<(), Failure> {
        let read = self.read()?;
        pollster::block_on(self.import(context, read))
    }

    fn read(&self) -> Result<Vec<Result<ReadArchive>>> {
        let limits = ArchiveLimits::default();
        let unreadable = |kind| Error::new(kind, format!("file {:?} cannot be read", self.file));
        let size =
            fs::metadata(&self.file).map_err(|source| unreadable(ErrorKind::NotFound).with_source(source))?;
        if size.len() > limits.bytes as u64 {
            let message =
                format!("{:?} has {} bytes, and the limit is {}", self.file, size.len(), limits.bytes);
            return Err(Error::new(ErrorKind::Invalid, message));
        }
        let bytes =
            fs::read(&self.file).map_err(|source| unreadable(ErrorKind::Invalid).with_source(source))?;
        if alloquy_storage::is_sqlite(&bytes) {
            return alloquy_storage::read_dataknobs_database(&self.file, &limits);
        }
        let text = String::from_utf8(bytes).map_err(|source| {
            Error::new(ErrorKind::Invalid, format!("{:?} is no text in UTF-8", self.file)).with_source(source)
        })?;
        let format = self.from.or_else(|| ArchiveFormat::of(&text));
        let unknown = || {
            Error::new(
                ErrorKind::Invalid,
                format!("{:?} looks like no known format: name one with --from", self.file),
            )
        };
        archive::read_with(format.ok_or_else(unknown)?, &text, &limits, &self.media.open()?.rules())
    }

    async fn import(&self, context: &Context, read: Vec<Result<ReadArchive>>) -> Result<(), Failure> {
        let kept = open::kept(&context.settings.settle(&self.store)?).await?;
        let (mut imported, mut refused) = (Vec::new(), Vec::new());
        for read in read {
            match import(&kept, read, context.notes).await {
                Ok(line) => imported.push(line),
                Err(error) => refused.push(error),
            }
        }
        // The first one is the error that this command ends with.
        for error in refused.iter().skip(1) {
            context.notes.say(format_args!("not imported: {error:#}"));
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

async fn import(kept: &Kept, read: Result<ReadArchive>, notes: Notes) -> Result<Value> {
    let ReadArchive { archive, mended } = read?;
    kept.store.import(&kept.owner, &archive).await?;
    let id = &archive.record.id;
    for mending in &mended {
        notes.say(format_args!("{id}: {mending}"));
    }
    let mended: Vec<_> = mended.iter().map(ToString::to_string).collect();
    Ok(json!({"id": id, "nodes": archive.nodes.len(), "mended": mended}))
}
