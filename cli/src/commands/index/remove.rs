//! `alloquy index remove`: removes documents from an index. Their files stay.

use std::collections::BTreeSet;
use std::path::Path;

use alloquy::core::{Error, ErrorKind};
use clap::Args;
use serde_json::json;

use super::opened::{Opened, WhichIndex};
use crate::context::Context;
use crate::failure::Failure;
use crate::folders::{is_below, name_of};

const EXAMPLES: &str = "\
Examples:
  alloquy index remove docs/old.md
  alloquy index remove docs/drafts/           everything below it

Names are those of `alloquy index list`. Files are not touched. Nothing is removed if one of the names does not exist.";

/// Remove documents from the index; their files stay
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(super) struct Remove {
    /// Names of documents; one that ends with / means all documents that begin with it
    #[arg(required = true, value_name = "NAME")]
    names: Vec<String>,
    #[command(flatten)]
    which: WhichIndex,
}

impl Remove {
    pub(super) async fn run(self, context: &Context) -> Result<(), Failure> {
        let Opened { index, owner, .. } = self.which.open(context)?;
        let documents = index.documents(&owner)?;
        let mut removed = BTreeSet::new();
        for name in &self.names {
            let mut is_known = false;
            for document in &documents {
                let source = document.source.as_str();
                if is_meant(source, name) {
                    is_known = true;
                    removed.insert(source);
                }
            }
            if !is_known {
                let message =
                    format!("the index has no document {name:?}; `alloquy index list` lists its names");
                return Err(Error::new(ErrorKind::NotFound, message).into());
            }
        }
        let names: Vec<&str> = removed.into_iter().collect();
        let report = index.remove(&owner, &names).await?;
        let text: String = names.iter().map(|name| format!("{name}\n")).collect();
        context.notes.say(format_args!("removed {} documents with {} passages", names.len(), report.removed));
        context.print(&text, &json!({"removed": names, "passages": report.removed}))
    }
}

/// Returns whether a person who typed a name means a document: its name, or a folder above it with `/` at its end.
fn is_meant(source: &str, typed: &str) -> bool {
    let Some(name) = name_of(Path::new(typed)) else { return false };
    source == name || (typed.ends_with('/') && is_below(source, &name))
}
