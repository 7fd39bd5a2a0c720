//! Definitions of flows: read from files, and stored with the conversations in which they run.

use std::path::{Path, PathBuf, absolute};

use alloquy::core::{Conversation, Error, ErrorKind, Node, Result};
use alloquy::flows::{Flow, Position};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::failure::Failure;
use crate::file;
use crate::notes::Notes;

/// The key of the definitions in the metadata of a conversation, the one that ran last at the end.
pub(super) const DEFINITIONS: &str = "flow_definitions";

/// How many bytes of a definition are stored with a conversation. A longer one is read from its file only.
const LONGEST: usize = 64 << 10;

/// The definition of a flow, and the file that it comes from.
#[derive(Debug)]
pub(super) struct Definition {
    pub(super) flow: Flow,
    pub(super) file: PathBuf,
    text: String,
}

/// What a conversation stores of a definition.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
struct Kept {
    name: String,
    file: PathBuf,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    text: Option<String>,
}

impl Definition {
    /// Reads a definition from a file.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] for a file that cannot be read, or is no YAML.
    pub(super) fn read(path: &Path) -> Result<Self> {
        Self::of_text(path, text_of(path)?)
    }

    fn of_text(path: &Path, text: String) -> Result<Self> {
        let flow = Flow::from_yaml(&text).map_err(|error| error.context(format!("flow {path:?}")))?;
        let file = absolute(path).unwrap_or_else(|_| path.to_owned());
        Ok(Self { flow, file, text })
    }

    /// Finds the flow that runs on a path of a conversation, with its position: in a file that is named, or else by what the
    /// conversation stores.
    ///
    /// # Errors
    /// Wrong arguments for a named file that defines no flow, and those of [`Definition::of_conversation`].
    pub(super) fn on_path(
        path: &[Node],
        named: Option<&Path>,
        metadata: &Map<String, Value>,
        notes: Notes,
    ) -> Result<(Self, Option<Position>), Failure> {
        let position = Position::of(path)?;
        let definition = match named {
            Some(file) => Self::read(file).map_err(Failure::Arguments)?,
            None => {
                let name = position.as_ref().map(|position| position.name.as_str());
                Self::of_conversation(metadata, name, notes)?
            }
        };
        Ok((definition, position))
    }

    /// Finds the definition of a flow that runs in a conversation: in its file, or else as it was when it ran last. Without a name,
    /// it is the flow that ran last.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] if no definition is known, and if its file is gone and it was too long to be stored.
    fn of_conversation(metadata: &Map<String, Value>, name: Option<&str>, notes: Notes) -> Result<Self> {
        let mut known = all_kept(metadata);
        if let Some(name) = name {
            known.retain(|kept| kept.name == name);
        }
        let Some(kept) = known.pop() else {
            let message = match name {
                Some(name) => format!(
                    "the conversation does not say where flow {name:?} is defined: name its file with --flow FILE"
                ),
                None => {
                    "no flow runs in this conversation: start one with `alloquy flow run FILE`".to_owned()
                }
            };
            return Err(Error::new(ErrorKind::NotFound, message));
        };
        let file = kept.file.display();
        // A pipe that the flow was read from once has another text now, or none.
        match (file::text(&kept.file), kept.text) {
            (Ok(text), before) => {
                let read = Self::of_text(&kept.file, text)?;
                if before.is_some_and(|before| before != read.text) {
                    notes.say(format_args!("{file} has changed since the flow ran last"));
                }
                Ok(read)
            }
            (Err(_), Some(text)) => {
                notes.say(format_args!("{file} cannot be read; the flow continues as it was defined before"));
                Self::of_text(&kept.file, text)
            }
            (Err(source), None) => {
                let message = format!(
                    "flow {:?} is defined in {file}, which cannot be read: name another file with --flow FILE",
                    kept.name
                );
                Err(Error::new(ErrorKind::NotFound, message).with_source(source))
            }
        }
    }

    /// Stores the definition with a conversation, so that another process finds it.
    pub(super) async fn keep(&self, chat: &Conversation) -> Result<()> {
        let before = all_kept(&chat.metadata().await?);
        let mut after = before.clone();
        after.retain(|kept| kept.name != self.flow.name);
        let text = Some(self.text.clone()).filter(|text| text.len() <= LONGEST);
        after.push(Kept { name: self.flow.name.clone(), file: self.file.clone(), text });
        if after == before {
            return Ok(());
        }
        let value = serde_json::to_value(after).unwrap_or_default();
        chat.set_metadata(DEFINITIONS, value).await
    }
}

/// Returns the definitions of a conversation. What cannot be read is none.
fn all_kept(metadata: &Map<String, Value>) -> Vec<Kept> {
    metadata.get(DEFINITIONS).and_then(|value| Vec::deserialize(value).ok()).unwrap_or_default()
}

/// Reads the text of a definition.
///
/// # Errors
/// [`ErrorKind::Invalid`], with the name of the file.
pub(super) fn text_of(path: &Path) -> Result<String> {
    file::any_text(path).map_err(|source| {
        Error::new(ErrorKind::Invalid, format!("flow {path:?} cannot be read")).with_source(source)
    })
}
