//! `alloquy flow draw`: a drawing of a flow.

use std::path::PathBuf;

use alloquy::core::{Error, ErrorKind, Result};
use alloquy::flows::Position;
use clap::{Args, ValueEnum};
use serde_json::json;

use super::definition::Definition;
use crate::arguments::{StoreArguments, WhichConversation};
use crate::context::Context;
use crate::failure::Failure;
use crate::stored::Stored;

const EXAMPLES: &str = "\
Examples:
  alloquy flow draw order.yaml                        as a diagram of Mermaid
  alloquy flow draw order.yaml --output order.svg
  alloquy flow draw --conversation tea --format svg > now.svg

With --conversation or -c, the state where the flow is now is marked, and the file can be left out.";

/// Draw a flow: its states and transitions
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Draw {
    /// The file of the flow; with a conversation, the flow that runs there unless set
    file: Option<PathBuf>,
    /// The format: mermaid or svg; svg for a file whose name ends with .svg, and else mermaid, unless set
    #[arg(long, value_enum, value_name = "FORMAT", env = "ALLOQUY_FORMAT", hide_possible_values = true)]
    format: Option<Format>,
    /// Write the drawing to this file
    #[arg(long, value_name = "FILE", env = "ALLOQUY_OUTPUT")]
    output: Option<PathBuf>,
    #[command(flatten)]
    which: WhichConversation,
    #[command(flatten)]
    store: StoreArguments,
}

/// How a flow is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// A state diagram of Mermaid.
    Mermaid,
    /// An image.
    Svg,
}

impl Draw {
    pub(crate) fn run(self, context: &Context) -> Result<(), Failure> {
        let (definition, position) = pollster::block_on(self.drawn(context))?;
        let flow = &definition.flow;
        let (name, drawing) = match self.format() {
            Format::Mermaid => ("mermaid", flow.mermaid(position.as_ref())),
            Format::Svg => ("svg", flow.svg(position.as_ref())),
        };
        let state = position.as_ref().map(Position::state);
        let value = json!({"flow": flow.name, "format": name, "state": state, "drawing": drawing, "output": self.output});
        let Some(file) = &self.output else { return context.print_document(&drawing, &value) };
        std::fs::write(file, &drawing).map_err(|source| {
            let message = format!("the drawing cannot be written to {file:?}");
            Failure::from(Error::new(ErrorKind::Invalid, message).with_source(source))
        })?;
        context.notes.say(format_args!("{} is drawn in {}", flow.name, file.display()));
        context.print("", &value)
    }

    /// Returns the flow, and its position if a conversation is named.
    async fn drawn(&self, context: &Context) -> Result<(Definition, Option<Position>), Failure> {
        let named = self.file.as_deref();
        if self.which.conversation.is_none() && !self.which.last {
            let Some(file) = named else {
                let message = "no flow is named: name its file, or with --conversation the conversation in which it runs";
                return Err(Failure::Arguments(Error::new(ErrorKind::Invalid, message)));
            };
            return Ok((Definition::read(file).map_err(Failure::Arguments)?, None));
        }
        let stored = Stored::new(self.which.clone(), self.store.clone());
        let chat = stored.open_for_reading(context).await?;
        let path = chat.history().await?;
        let (definition, position) =
            Definition::on_path(&path, named, &chat.metadata().await?, context.notes)?;
        let position = position.filter(|position| position.name == definition.flow.name);
        Ok((definition, position))
    }

    fn format(&self) -> Format {
        let is_svg = self.output.as_ref().and_then(|file| file.extension()).is_some_and(|end| end == "svg");
        self.format.unwrap_or(if is_svg { Format::Svg } else { Format::Mermaid })
    }
}
