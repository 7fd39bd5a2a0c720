//! `alloquy export`: a conversation as a document.

use alloquy::core::query::{Sort, SortKey};
use alloquy::core::store::ConversationStoreExt;
use alloquy::core::{ConversationId, Error, ErrorKind, Query, Result};
use alloquy::formats::archive::{self, ArchiveFormat, ArchiveLimits, WrittenArchive};
use clap::Args;
use clap::builder::BoolishValueParser as Switch;
use serde_json::json;

use super::import::format;
use crate::arguments::StoreArguments;
use crate::context::Context;
use crate::current::last;
use crate::failure::Failure;
use crate::kept::{self, Kept};
use crate::names;

const EXAMPLES: &str = "\
Examples:
  alloquy export --to markdown               the last conversation
  alloquy export tea > tea.json
  alloquy export tea --to dataknobs > state.json
  alloquy export --all > backup.jsonl
  alloquy export --all --store file:old | alloquy import /dev/stdin --store sqlite:new.db

Formats: alloquy (everything, and `alloquy import` reads it back), dataknobs (a state of schema 1.1.0, with notes of what \
that has no place for), openai, chatml, markdown. The last three hold the messages up to the head of the conversation. \
What a format leaves out is reported.";

/// Print a conversation as a document
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Export {
    /// The conversation: its name, or a part of its id; the last one unless set
    id: Option<ConversationId>,
    /// Print every conversation, one after the other; for alloquy, dataknobs and openai
    #[arg(long, env = "ALLOQUY_ALL", conflicts_with = "id", value_parser = Switch::new())]
    all: bool,
    /// The format to print
    #[arg(
        long,
        env = "ALLOQUY_TO",
        value_name = "FORMAT",
        value_parser = format,
        default_value_t = ArchiveFormat::Alloquy
    )]
    to: ArchiveFormat,
    #[command(flatten)]
    store: StoreArguments,
}

impl Export {
    pub(crate) fn run(self, context: &Context) -> Result<(), Failure> {
        pollster::block_on(self.export(context))
    }

    async fn export(self, context: &Context) -> Result<(), Failure> {
        let kept = kept::kept_for_reading(&context.settings.settle(&self.store)?).await?;
        if self.all {
            return self.export_all(&kept, context).await;
        }
        let id = match &self.id {
            Some(name) => names::existing(&kept, name).await?.record.id,
            None => last(&kept).await?,
        };
        let written = self.written(&kept, &id).await?;
        for omission in &written.omitted {
            context.notes.say(omission);
        }
        let omitted: Vec<_> = written.omitted.iter().map(ToString::to_string).collect();
        context.print_document(
            &written.text,
            &json!({"format": self.to.as_str(), "document": written.text, "omitted": omitted}),
        )
    }

    async fn written(&self, kept: &Kept, id: &ConversationId) -> Result<WrittenArchive> {
        let archive = kept.store.export(&kept.owner, id).await?;
        archive::write(self.to, &archive, &ArchiveLimits::default())
    }

    /// Prints every conversation, the first created first, so that an import creates them in this order. With `--json` each is a
    /// line.
    async fn export_all(&self, kept: &Kept, context: &Context) -> Result<(), Failure> {
        if matches!(self.to, ArchiveFormat::ChatMl | ArchiveFormat::Markdown) {
            let message = format!(
                "a document of {} holds one conversation: --all needs alloquy, dataknobs or openai",
                self.to
            );
            return Err(Failure::Arguments(Error::new(ErrorKind::Invalid, message)));
        }
        let query = Query::default().sort(Sort::ascending(SortKey::Created));
        let page = kept.store.list(&kept.owner, &query).await?;
        context.notes.damaged(&page.damaged);
        for summary in page.conversations {
            let id = &summary.record.id;
            let written = self.written(kept, id).await?;
            for omission in &written.omitted {
                context.notes.say(format_args!("{id}: {omission}"));
            }
            let omitted: Vec<_> = written.omitted.iter().map(ToString::to_string).collect();
            let value = json!({
                "conversation": id, "format": self.to.as_str(), "document": written.text, "omitted": omitted,
            });
            context.print_document(&written.text, &value)?;
        }
        Ok(())
    }
}
