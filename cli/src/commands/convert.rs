//! `alloquy convert`: the same messages in another dialect.

use std::fs;
use std::path::{Path, PathBuf};

use alloquy::core::{Error, ErrorKind, Result};
use alloquy::formats::messages::{self as dialects, Dialect};
use clap::Args;
use serde_json::Value;

use crate::context::Context;
use crate::failure::Failure;
use crate::media::MediaRootArguments;
use crate::messages;
use crate::piped::piped;

const EXAMPLES: &str = "\
Examples:
  alloquy convert chat.json --from aki --to openai
  alloquy convert --from openai --to chatml < request.json
  alloquy convert chat.txt --from chatml --to gemini --json | jq -c .contents[]

Dialects: litert (LiteRT-LM), gemini (the contents of the Gemini API), openai (chat completions), aki (AKI chat \
context), chatml. What the other dialect cannot express is an error that names the place; nothing is left out. \
Media are inside the document, as base64 or a data URI, or in files of the folder that --media-root names; addresses \
are not read.";

/// Convert messages from one dialect to another
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Convert {
    /// The document; read from standard input when absent
    file: Option<PathBuf>,
    /// The dialect of the document
    #[arg(long, env = "ALLOQUY_FROM", value_name = "DIALECT", value_parser = messages::dialect)]
    from: Dialect,
    /// The dialect to print
    #[arg(long, env = "ALLOQUY_TO", value_name = "DIALECT", value_parser = messages::dialect)]
    to: Dialect,
    #[command(flatten)]
    media: MediaRootArguments,
}

impl Convert {
    pub(crate) fn run(self, context: &Context) -> Result<(), Failure> {
        let document = match &self.file {
            Some(file) => read(file)?,
            None => piped()?.ok_or_else(nothing).map_err(Failure::Arguments)?,
        };
        let transcript = dialects::read_text(self.from, &document, &self.media.open()?.rules())?;
        let written = dialects::write(self.to, &transcript)?;
        context.print_document(&text(&written), &written)
    }
}

/// Formats a document: a text as it is, JSON over several lines.
fn text(written: &Value) -> String {
    match written {
        Value::String(text) => text.clone(),
        document => format!("{document:#}\n"),
    }
}

fn read(file: &Path) -> Result<String> {
    fs::read_to_string(file).map_err(|source| {
        Error::new(ErrorKind::Invalid, format!("{file:?} cannot be read as text")).with_source(source)
    })
}

fn nothing() -> Error {
    let message = "nothing was given to convert: name a file after `alloquy convert`, or pipe one in";
    Error::new(ErrorKind::Invalid, message)
}
