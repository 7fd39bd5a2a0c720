//! `alloquy export`: a conversation as a document.

use alloquy::core::ConversationId;
use alloquy::core::store::ConversationStoreExt;
use alloquy::formats::archive::{self, ArchiveFormat, ArchiveLimits};
use clap::Args;
use serde_json::json;

use super::import::format;
use crate::arguments::StoreArguments;
use crate::context::Context;
use crate::failure::Failure;
use crate::kept;

const EXAMPLES: &str = "\
Examples:
  alloquy export tea > tea.json
  alloquy export tea --to markdown
  alloquy export tea --to dataknobs > state.json
  alloquy export tea --store file:old | alloquy import /dev/stdin --store sqlite:new.db

Formats: alloquy (everything, and `alloquy import` reads it back), dataknobs (a state of schema 1.1.0, with notes of what \
that has no place for), openai, chatml, markdown. The last three hold the messages up to the head of the conversation. \
What a format leaves out is reported.";

/// Print a conversation as a document
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Export {
    /// The conversation
    id: ConversationId,
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
        let archive = kept.store.export(&kept.owner, &self.id).await?;
        let written = archive::write(self.to, &archive, &ArchiveLimits::default())?;
        for omission in &written.omitted {
            context.notes.say(omission);
        }
        let omitted: Vec<_> = written.omitted.iter().map(ToString::to_string).collect();
        context.print_document(
            &written.text,
            &json!({"format": self.to.as_str(), "document": written.text, "omitted": omitted}),
        )
    }
}
